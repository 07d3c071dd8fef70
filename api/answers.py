"""Answers: how many rows a tier gets, from which build, in which envelope."""

from datetime import date

import falcon

from api.params import Asked
from warehouse.contract.problems import Problem
from warehouse.read.mart import Mart
from warehouse.read.rows import Rows
from warehouse.tiers import Tier
from warehouse.wire import encode, joined


def tier_of(req: falcon.Request) -> Tier:
    """Give the tier of the key that the request came with."""
    tier: Tier = req.context.key.tier
    return tier


def rows_allowed(req: falcon.Request, asked: Asked) -> int:
    """Give how many rows to answer with; more than the tier serves is refused."""
    tier, limit = tier_of(req), asked["limit"]
    if limit is None:
        return tier.rows
    if limit <= tier.ceiling:
        return int(limit)
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
    resp: falcon.Response,
    rows: Rows,
    limit: int | None,
    as_of: date | None,
    under: str = "data",
    **more: object,
) -> None:
    """Answer with rows in their envelope; their bytes are only joined."""
    about = {"limit": limit, "as_of": as_of, "data_version": rows.data_version, **more}
    write(resp, rows, {}, under, about)


def write(
    resp: falcon.Response,
    rows: Rows,
    before: dict[str, object],
    under: str,
    after: dict[str, object],
) -> None:
    """Answer with rows and what is said around them."""
    held = {"count": len(rows.rows), "_license": rows.notice, "truncated": rows.truncated, **after}
    members = {name: encode(value) for name, value in before.items()}
    members[under] = b"[" + b",".join(rows.rows) + b"]"
    members |= {name: encode(value) for name, value in held.items()}
    send(resp, joined(members), rows.data_version)


def send(resp: falcon.Response, body: bytes, data_version: str) -> None:
    """Answer with a body of one data_version."""
    resp.data = body
    resp.content_type = falcon.MEDIA_JSON
    resp.set_header("X-Data-Version", data_version)


def nobody(named: str) -> Problem:
    """Make the problem of an id that nobody has."""
    return Problem("not_found", f"No record has the id {named[:64]!r}.")
