"""Rows as CSV or JSON Lines, a piece at a time: every digit as in the JSON, no envelope.

A text that a spreadsheet would run as a formula gets an apostrophe in front. Objects and lists in a
cell are JSON.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

import falcon
import msgspec

from warehouse.contract.body_schemas import ROW_SCHEMAS
from warehouse.contract.listing import Listing
from warehouse.contract.problems import Problem
from warehouse.json_encoding import decode_object
from warehouse.read.rows import RowPage

Format = Literal["json", "csv", "ndjson"]
MEDIA_TYPES: dict[Format, str] = {
    "json": falcon.MEDIA_JSON,
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
}
# What a cell of a formula can begin with (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_TEXT = msgspec.json.Decoder(str)


def requested_format(req: falcon.Request, sent: str | None) -> Format:
    """Return the form that ``format`` names, or else the one that Accept prefers."""
    if sent is not None:
        return next(name for name in MEDIA_TYPES if name == sent)
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


def columns_of(listing: Listing) -> list[str]:
    """Return the columns of a list as CSV: every member that its rows can have."""
    return list(
        dict.fromkeys(name for row in listing.row for name in ROW_SCHEMAS[row]["properties"])
    )


def encoded(form: Format, listing: Listing, pages: Iterable[RowPage]) -> Iterator[bytes]:
    """Yield pages of rows as CSV with a header line, or as JSON Lines."""
    if form == "ndjson":
        yield from (b"".join(row + b"\n" for row in page.rows) for page in pages)
        return
    columns = columns_of(listing)
    yield _csv([columns])
    for page in pages:
        yield _csv(_cells(row, columns) for row in page.rows)


def _csv(lines: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue().encode()


def _cells(row: bytes, columns: Sequence[str]) -> list[str]:
    members = decode_object(row)
    return [_cell(members[name]) if name in members else "" for name in columns]


def _cell(value: bytes) -> str:
    """Return a JSON value as a cell; a number keeps its digits."""
    if value == b"null":
        return ""
    if not value.startswith(b'"'):
        return value.decode()
    text = _TEXT.decode(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
