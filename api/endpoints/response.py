"""Response bodies: rows in their envelope, rows as lines, and JSON that holds no rows.

The tier cap is applied here, in ``send_list`` and ``send_row``: see
``warehouse/contract/tier_cap.py``.
"""

from dataclasses import replace
from urllib.parse import urlencode

import falcon

from api.endpoints.request import tier_of
from api.endpoints.row_formats import MEDIA_TYPES, Format, encoded
from warehouse.contract.listing import Answer, pieces
from warehouse.contract.tier_cap import cap_rows
from warehouse.json_encoding import encode
from warehouse.read.rows import RowPage


def send_list(
    req: falcon.Request, resp: falcon.Response, page: Answer, form: Format = "json"
) -> None:
    """Send a page of a list, as many rows as the tier of the key may get."""
    rows, limit = cap_rows(page.rows, tier_of(req), page.limit, page.listing.row_rule)
    page = replace(page, listed=replace(page.listed, rows=rows), limit=limit)
    resp.append_header("Vary", "Accept")
    if form != "json":
        _send_lines(req, resp, page, form)
        return
    after = page.envelope(len(rows.rows), rows.truncated, page.next_cursor)
    _send_rows(resp, rows, dict(page.listed.before), page.listing.member, after)


def send_row(req: falcon.Request, resp: falcon.Response, rows: RowPage) -> None:
    """Send the one row of a record in the common envelope."""
    rows, limit = cap_rows(rows, tier_of(req), 1)
    after = {
        "count": len(rows.rows),
        "_license": rows.notice,
        "truncated": rows.truncated,
        "limit": limit,
        "as_of": None,
        "data_version": rows.data_version,
        "next_cursor": None,
        "empty": None,
    }
    _send_rows(resp, rows, {}, "data", after)


def _send_rows(
    resp: falcon.Response,
    rows: RowPage,
    before: dict[str, object],
    member: str,
    after: dict[str, object],
) -> None:
    """Send rows with members before and after them.

    Rows are JSON already, encoded at publication: their bytes are joined, never parsed.
    """
    # Both objects are cut open and joined around the rows.
    start = encode(before)[:-1] + b"," if before else b"{"
    chunks = [start, encode(member), b":[", *rows.json_chunks(), b"],", encode(after)[1:]]
    send_without_rows(resp, b"".join(chunks), rows.data_version)


def _send_lines(req: falcon.Request, resp: falcon.Response, page: Answer, form: Format) -> None:
    """Send rows as CSV or JSON Lines; what the envelope would say is in headers."""
    lines = encoded(form, page.listing, pieces(page))
    is_whole = len(page.rows.rows) == page.limit or not page.rows.truncated
    if is_whole:
        resp.data = b"".join(lines)
    else:
        # More than a piece: read and sent one piece at a time, from one build.
        resp.stream = lines
        resp.append_header("Vary", "X-Data-Version")
    resp.context.passed_tier_cap = True
    resp.content_type = f"{MEDIA_TYPES[form]}; charset=utf-8"
    resp.set_header("X-Data-Version", page.rows.data_version)
    if is_whole and (cursor := page.next_cursor) is not None:
        query = urlencode({**req.params, "cursor": cursor}, doseq=True)
        resp.set_header("X-Next-Cursor", cursor)
        resp.append_header("Link", f'<{req.path}?{query}>; rel="next"')
    if page.empty is not None:
        resp.set_header("X-Empty-Reason", page.empty.code)


def send_without_rows(resp: falcon.Response, body: bytes, data_version: str) -> None:
    """Send a JSON body that holds no rows, such as the manifest, to a key of any tier."""
    resp.context.passed_tier_cap = True
    resp.data = body
    resp.content_type = falcon.MEDIA_JSON
    resp.set_header("X-Data-Version", data_version)
