"""The records of a file of GLEIF, in whichever format it comes, one after the other.

JSON, CSV or XML, bare or zipped. A text in place of a record says why there is none.
"""

import io
import re
from typing import IO, Any

import ijson

from assets.entities.lei_csv import csv_records
from assets.entities.lei_xml import xml_records
from assets.parsing.zips import Places, places

_BOM = b"\xef\xbb\xbf"
_ONE = re.compile(rb'"data"\s*:\s*\{')


def records(body: IO[bytes]) -> Places:
    """Give each record of a file with its place, without holding more than one."""
    return places(body, _plain)


def _plain(body: "io.BufferedReader[Any]") -> Places:
    if body.peek(3)[:3] == _BOM:
        body.read(3)
    head = body.peek(1).lstrip()
    if head[:1] in (b"{", b"["):
        yield from _json(body, head)
    elif head[:1] == b"<":
        yield from xml_records(body)
    else:
        yield from csv_records(body)


def _json(body: IO[bytes], head: bytes) -> Places:
    place, prefix = _member(head)
    count = 0
    try:
        for record in ijson.items(body, prefix):
            yield (f"{place}/{count}" if prefix.endswith("item") else place), record
            count += 1
    except (ijson.JSONError, ValueError, RecursionError) as error:
        yield f"{place}/{count}", f"not JSON from here on: {str(error).splitlines()[0]:.120}"


def _member(head: bytes) -> tuple[str, str]:
    """Say where the records are, from how the file begins."""
    if head[:1] == b"[":
        return "", "item"
    if b'"records"' in head:
        return "/records", "records.item"
    return "/data", "data" if _ONE.search(head) else "data.item"
