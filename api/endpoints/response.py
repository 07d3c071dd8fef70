"""Response bodies: rows in their envelope, and JSON that holds no rows."""

from datetime import date

import falcon

from warehouse.json_encoding import encode
from warehouse.read.rows import RowPage


def send_rows(
    resp: falcon.Response,
    rows: RowPage,
    limit: int | None,
    as_of: date | None,
    member: str = "data",
    **extra: object,
) -> None:
    """Send rows in the common envelope, under ``member``; ``extra`` members come last."""
    after = {"limit": limit, "as_of": as_of, "data_version": rows.data_version, **extra}
    send_rows_between(resp, rows, {}, member, after)


def send_rows_between(
    resp: falcon.Response,
    rows: RowPage,
    before: dict[str, object],
    member: str,
    after: dict[str, object],
) -> None:
    """Send rows with members before and after them.

    Rows are JSON already, encoded at publication: their bytes are joined, never parsed.
    """
    envelope = {
        "count": len(rows.rows),
        "_license": rows.notice,
        "truncated": rows.truncated,
        **after,
    }
    start = encode(before)[:-1] + b"," if before else b"{"
    chunks = [start, encode(member), b":[", *rows.pieces(), b"],", encode(envelope)[1:]]
    send_json(resp, b"".join(chunks), rows.data_version)


def send_json(resp: falcon.Response, body: bytes, data_version: str) -> None:
    """Send a JSON body of one data_version."""
    resp.data = body
    resp.content_type = falcon.MEDIA_JSON
    resp.set_header("X-Data-Version", data_version)
