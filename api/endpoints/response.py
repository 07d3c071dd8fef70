"""Answers: how many rows a tier gets, from which build, in which envelope."""

from datetime import date

import falcon

from api.endpoints.request import Asked
from warehouse.contract import limits
from warehouse.contract.refusals import nobody as nobody
from warehouse.contract.walk import pinned_at
from warehouse.json_encoding import encode
from warehouse.read.mart import Mart
from warehouse.read.rows import Rows
from warehouse.tiers import Tier


def tier_of(req: falcon.Request) -> Tier:
    """Give the tier of the key that the request came with."""
    tier: Tier = req.context.key.tier
    return tier


def rows_allowed(req: falcon.Request, asked: Asked) -> int:
    """Give how many rows to answer with; more than the tier serves is refused."""
    return limits.rows_allowed(tier_of(req), asked["limit"])


def pinned(req: falcon.Request, mart: Mart) -> Mart:
    """Give the mart at the data_version that the request pins, or as it is now."""
    return pinned_at(mart, req.get_header("X-Data-Version"))


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
    first = encode(before)[:-1] + b"," if before else b"{"
    parts = [first, encode(under), b":[", *rows.pieces(), b"],", encode(held)[1:]]
    send(resp, b"".join(parts), rows.data_version)


def send(resp: falcon.Response, body: bytes, data_version: str) -> None:
    """Answer with a body of one data_version."""
    resp.data = body
    resp.content_type = falcon.MEDIA_JSON
    resp.set_header("X-Data-Version", data_version)
