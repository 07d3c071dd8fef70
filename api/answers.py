"""Answers: how many rows a tier gets, from which build, in which envelope."""

from datetime import date

import falcon

from api.problems import Problem
from warehouse.read.mart import Mart
from warehouse.read.rows import Rows
from warehouse.tiers import Tier
from warehouse.wire import encode, joined


def tier_of(req: falcon.Request) -> Tier:
    """Give the tier of the key that the request came with."""
    tier: Tier = req.context.key.tier
    return tier


def rows_allowed(tier: Tier, limit: int | None) -> int:
    """Give how many rows to answer with; more than the tier serves is refused."""
    if limit is None:
        return tier.rows
    if limit <= tier.ceiling:
        return limit
    code = "limit_above_ceiling" if tier.paid else "row_cap_exceeded"
    raise Problem(
        code,
        f"limit is {limit}; a key of the {tier.name} tier gets at most {tier.ceiling} rows.",
        parameter="limit",
        received=str(limit),
        maximum=tier.ceiling,
        tier=tier.name,
    )


def pinned(req: falcon.Request, mart: Mart) -> Mart:
    """Give the mart at the data_version that the request pins, or as it is now."""
    version = req.get_header("X-Data-Version")
    return mart if version is None else mart.at(version)


def answer(
    resp: falcon.Response, rows: Rows, limit: int | None, as_of: date | None, **more: object
) -> None:
    """Answer with rows in their envelope; their bytes are only joined."""
    about = {
        "count": len(rows.rows),
        "_license": rows.notice,
        "truncated": rows.truncated,
        "limit": limit,
        "as_of": as_of,
        "data_version": rows.data_version,
        **more,
    }
    members = {name: encode(value) for name, value in about.items()}
    resp.data = joined({"data": b"[" + b",".join(rows.rows) + b"]", **members})
    resp.content_type = falcon.MEDIA_JSON
    resp.set_header("X-Data-Version", rows.data_version)


def nobody(service_id: str) -> Problem:
    """Make the problem of an id that nobody has."""
    return Problem("not_found", f"No record has the id {service_id[:64]!r}.")
