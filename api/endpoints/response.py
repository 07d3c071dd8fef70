"""Response bodies: rows in their envelope, and JSON that holds no rows.

The tier cap is applied here, in ``send_rows_between``: see ``warehouse/contract/tier_cap.py``.
"""

from datetime import date

import falcon

from api.endpoints.request import tier_of
from warehouse.contract.tier_cap import RowRule, cap_rows
from warehouse.json_encoding import encode
from warehouse.read.rows import RowPage


def send_rows(
    req: falcon.Request,
    resp: falcon.Response,
    rows: RowPage,
    limit: int | None,
    as_of: date | None,
    member: str = "data",
    **extra: object,
) -> None:
    """Send rows in the common envelope, under ``member``; ``extra`` members come last.

    ``limit`` is the limit that the rows were read with; None if there was none.
    """
    after = {"limit": limit, "as_of": as_of, "data_version": rows.data_version, **extra}
    send_rows_between(req, resp, rows, {}, member, after)


def send_rows_between(
    req: falcon.Request,
    resp: falcon.Response,
    rows: RowPage,
    before: dict[str, object],
    member: str,
    after: dict[str, object],
) -> None:
    """Send rows with members before and after them, as many as the tier of the key may get.

    Rows are JSON already, encoded at publication: their bytes are joined, never parsed.
    """
    endpoint = req.context.endpoint
    rule: RowRule = "tier" if endpoint is None else endpoint.row_rule
    limit = after.get("limit")
    rows, limit = cap_rows(rows, tier_of(req), limit if isinstance(limit, int) else None, rule)
    if "limit" in after:
        after["limit"] = limit
    envelope = {
        "count": len(rows.rows),
        "_license": rows.notice,
        "truncated": rows.truncated,
        **after,
    }
    # Both objects are cut open and joined around the rows.
    start = encode(before)[:-1] + b"," if before else b"{"
    chunks = [start, encode(member), b":[", *rows.json_chunks(), b"],", encode(envelope)[1:]]
    send_without_rows(resp, b"".join(chunks), rows.data_version)


def send_without_rows(resp: falcon.Response, body: bytes, data_version: str) -> None:
    """Send a JSON body that holds no rows, such as the manifest, to a key of any tier."""
    resp.context.passed_tier_cap = True
    resp.data = body
    resp.content_type = falcon.MEDIA_JSON
    resp.set_header("X-Data-Version", data_version)
