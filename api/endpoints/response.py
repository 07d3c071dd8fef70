"""Response bodies: rows in their envelope, rows as lines, and JSON that holds no rows.

The tier cap is applied here, in ``capped``: see ``warehouse/contract/limits.py``.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import urlencode

import falcon
from msgspec.structs import replace

from api.endpoints.endpoint import tier_of
from api.endpoints.lines import columns_of, csv_lines, json_lines, with_fields
from warehouse.contract.limits import cap_rows
from warehouse.contract.listing import MOST_WHOLE, Answer, pieces
from warehouse.contract.parameter_types import choice
from warehouse.contract.problems import Problem, invalid_value
from warehouse.serve.rows import RowPage
from warehouse.shared.json_encoding import encode
from warehouse.shared.tiers import Tier

Format = Literal["json", "csv", "ndjson"]
MEDIA_TYPES: dict[Format, str] = {
    "json": falcon.MEDIA_JSON,
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
}


def requested_format(req: falcon.Request, sent: str | None) -> Format:
    """Return the form that ``format`` names, or else the one that Accept prefers."""
    if sent is not None:
        return "ndjson" if sent == "jsonl" else next(name for name in MEDIA_TYPES if name == sent)
    preferred = _preferred(req.accept)
    if preferred is None:
        raise Problem(
            "not_acceptable",
            f"Rows are {', '.join(MEDIA_TYPES.values())}; let Accept allow one of them.",
        )
    return preferred


@lru_cache(256)
def _preferred(accept: str) -> Format | None:
    try:
        found = falcon.mediatypes.best_match(MEDIA_TYPES.values(), accept)
    except ValueError:
        return None
    return next((name for name, media_type in MEDIA_TYPES.items() if media_type == found), None)


def send_list(
    req: falcon.Request, resp: falcon.Response, page: Answer, form: Format = "json"
) -> None:
    """Send a page of a list, as many rows as the tier of the key may get."""
    page, fields = capped(page, tier_of(req)), page.question.parameters.get("fields") or ()
    resp.context.as_of = page.as_of
    for name in fields:
        if name not in (members := columns_of(page.kinds)):
            raise invalid_value("fields", name, choice(tuple(members)))
    if form != "json":
        _send_lines(req, resp, page, form, tuple(fields))
        return
    if fields:
        rows = with_fields(page.rows, fields)
        page = replace(page, listed=replace(page.listed, rows=rows))
    body, is_whole = _list_pieces(page), _is_sent_whole(req, resp)
    whole = b"".join(body) if is_whole else Pieces(body)
    if page.rows.truncated:
        _link_next(req, resp, page.next_cursor)
    send_without_rows(resp, whole, page.rows.data_version)


def _link_next(req: falcon.Request, resp: falcon.Response, cursor: str | None) -> None:
    if cursor is not None:
        query = urlencode({**req.params, "cursor": cursor}, doseq=True)
        resp.append_header("Link", f'<{req.path}?{query}>; rel="next"')


def _is_sent_whole(req: falcon.Request, resp: falcon.Response) -> bool:
    """Return whether a body is needed in one piece: to compress, to hash, to compare or to keep."""
    needs_no_hash = resp.context.etag is not None and "HTTP_IF_NONE_MATCH" not in req.env
    return resp.context.is_repeated or bool(req.context.coding) or not needs_no_hash


def capped(page: Answer, tier: Tier) -> Answer:
    """Return a page of a list with as many rows as a tier may get."""
    rows, limit = cap_rows(page.rows, tier, page.limit, page.listing.row_rule)
    return replace(page, listed=replace(page.listed, rows=rows), limit=limit)


def list_body(page: Answer) -> bytes:
    """Return a page of a list in its envelope, as JSON."""
    return b"".join(_list_pieces(page))


def _list_pieces(page: Answer) -> list[bytes | memoryview]:
    after = encode(page.envelope(len(page.rows.rows), page.rows.truncated, page.next_cursor))
    before = page.listed.before
    # Both objects are cut open and joined around the rows.
    start = encode(dict(before))[:-1] + b"," if before else b"{"
    return _around_rows(page.rows, start, page.listing.member, after)


def _around_rows(
    rows: RowPage, start: bytes, member: str, after: bytes
) -> list[bytes | memoryview]:
    """Return rows between the beginning of an object and the members of another.

    Rows are JSON already, encoded at publication: their bytes are sent as they are, never parsed.
    """
    return [b'%b"%b":[' % (start, member.encode()), *rows.json_chunks(), b"]," + after[1:]]


def _send_lines(
    req: falcon.Request, resp: falcon.Response, page: Answer, form: Format, fields: tuple[str, ...]
) -> None:
    """Send rows as CSV or JSON Lines; what the envelope would say is in headers."""
    pages = pieces(page)
    if fields and form != "csv":
        pages = (with_fields(piece, fields) for piece in pages)
    lines = csv_lines(page.kinds, pages, fields) if form == "csv" else json_lines(pages)
    is_whole = len(page.rows.rows) == page.limit or not page.rows.truncated
    if is_whole and len(page.rows.rows) <= MOST_WHOLE:
        resp.data = b"".join(lines)
    else:
        # More than a piece: encoded and sent one piece at a time, from one build.
        resp.stream = lines
    resp.context.passed_tier_cap = True
    resp.content_type = f"{MEDIA_TYPES[form]}; charset=utf-8"
    resp.set_header("X-Data-Version", page.rows.data_version)
    if is_whole and (cursor := page.next_cursor) is not None:
        resp.set_header("X-Next-Cursor", cursor)
        _link_next(req, resp, cursor)
    if page.empty is not None:
        resp.set_header("X-Empty-Reason", page.empty.code)


class Pieces(list[Any]):
    """A complete body, which our server sends from where it is in memory.

    To any other WSGI server, and to Falcon's test client, it yields copies.
    """

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the pieces as bytes, which WSGI requires."""
        return map(bytes, self[:])


def send_without_rows(resp: falcon.Response, body: bytes | Pieces, data_version: str) -> None:
    """Send a JSON body that holds no rows, such as the manifest, to a key of any tier."""
    resp.context.passed_tier_cap = True
    if isinstance(body, Pieces):
        resp.set_stream(body, sum(map(len, body[:])))
    else:
        resp.data = body
    resp.content_type = falcon.MEDIA_JSON
    resp.set_header("X-Data-Version", data_version)
