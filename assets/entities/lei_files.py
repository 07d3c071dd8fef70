"""The records of a file of GLEIF, in whichever format it comes, one after the other.

JSON, CSV or XML, bare or zipped. A text in place of a record says why there is none.
"""

import io
import re
from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

import ijson

from assets.parsing.csv_lines import has_undecoded_bytes, read_lines
from assets.parsing.zips import LocatedRecords, located_records

_BOM = b"\xef\xbb\xbf"
_ONE = re.compile(rb'"data"\s*:\s*\{')


def records(body: IO[bytes]) -> LocatedRecords:
    """Give each record of a file with its place, without holding more than one."""
    return located_records(body, _plain)


def _plain(body: "io.BufferedReader[Any]") -> LocatedRecords:
    if body.peek(3)[:3] == _BOM:
        body.read(3)
    head = body.peek(1).lstrip()
    if head[:1] in (b"{", b"["):
        yield from _json(body, head)
    elif head[:1] == b"<":
        yield from xml_records(body)
    else:
        yield from csv_records(body)


def _json(body: IO[bytes], head: bytes) -> LocatedRecords:
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


_LIST = re.compile(
    r"Entity\.((?:Transliterated)?OtherEntityNames)\.(?:Transliterated)?OtherEntityName\.[0-9]+"
)
_SUCCESSOR = re.compile(r"Entity\.SuccessorEntity(?:\.1)?\.SuccessorLEI")
_PLAIN = frozenset(
    {
        "LEI",
        "Entity.LegalName",
        "Entity.LegalJurisdiction",
        "Entity.LegalAddress.Country",
        "Entity.EntityCategory",
        "Entity.EntityStatus",
        "Entity.RegistrationAuthority.RegistrationAuthorityID",
        "Entity.RegistrationAuthority.RegistrationAuthorityEntityID",
        "Registration.RegistrationStatus",
        "Registration.LastUpdateDate",
    }
)
_NEEDED = ("LEI", "Entity.LegalName")


def csv_records(body: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Give each line with its place; a text in place of a record says why there is none."""
    found = read_lines(body, strict=True)
    header = next(found, ("", []))[1]
    names = [name.strip() for name in header] if isinstance(header, list) else []
    if not set(_NEEDED) <= set(names):
        yield "", "neither JSON nor XML, nor CSV with the columns of the golden copy"
        return
    columns = [(each, path) for each, name in enumerate(names) if (path := _path(name))]
    for place, line in found:
        yield place, _record(line, columns, len(names)) if isinstance(line, list) else line


def _path(name: str) -> tuple[str, ...] | None:
    """Say where the JSON has what a column holds; None for what is not read."""
    if name in _PLAIN:
        return tuple(name.split("."))
    if _SUCCESSOR.fullmatch(name):
        return "Entity", "SuccessorEntity", "SuccessorLEI"
    listed = _LIST.fullmatch(name)
    return ("Entity", listed[1], "") if listed else None


def _record(line: list[str], columns: list[tuple[int, tuple[str, ...]]], width: int) -> Any:
    if len(line) != width:
        return "not as many values as columns"
    record: dict[str, Any] = {"Entity": {}}
    for position, path in columns:
        if value := line[position]:
            _put(record, path, value)
    return "bytes that are no UTF-8" if any(map(has_undecoded_bytes, line)) else record


def _put(record: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    *above, last = path
    for member in above[:-1] if not last else above:
        record = record.setdefault(member, {})
    if last:
        record[last] = value
    else:
        record.setdefault(above[-1], []).append(value)


_CHUNK = 1 << 16
_RECORD = "LEIRecord"
_LONGEST = 1 << 20


class _Refused(ValueError):
    """What is not read, and why, in words."""


def xml_records(body: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Give each record with its place; a text in place of a record says why there is none."""
    reader = _Reader()
    count, reason = 0, None
    while reason is None and (chunk := body.read(_CHUNK)):
        reason = reader.feed(chunk)
        for record in reader.taken():
            yield f"/LEIRecords/{count}", record
            count += 1
    reason = reason or reader.feed(b"", last=True)
    if reason:
        yield f"/LEIRecords/{count}", reason


class _Reader:
    """The records read so far, and the elements that are open within the next."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._open: list[tuple[str, dict[str, Any], list[str]]] = []
        self._records: list[dict[str, Any]] = []
        self._length = 0

    def feed(self, chunk: bytes, last: bool = False) -> str | None:
        """Read on; give the reason where it cannot go on."""
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            return f"not XML from here on: {error}"
        except _Refused as refusal:
            return str(refusal)
        return None

    def taken(self) -> list[dict[str, Any]]:
        """Give the records that are complete, once."""
        taken, self._records = self._records, []
        return taken

    def _start(self, name: str, _: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if self._open or local == _RECORD:
            self._open.append((local, {}, []))

    def _text(self, text: str) -> None:
        if self._open:
            self._length += len(text)
            self._open[-1][2].append(text)
        if self._length > _LONGEST or len(self._open) > 100:
            raise _Refused("a record that is too long to be one")

    def _end(self, _: str) -> None:
        if not self._open:
            return
        name, members, text = self._open.pop()
        if not self._open:
            self._records.append(members)
            self._length = 0
            return
        above = self._open[-1][1]
        value = members or "".join(text)
        held = above.setdefault(name, value)
        if held is not value:
            above[name] = [*held, value] if isinstance(held, list) else [held, value]

    def _refuse(self, *_: object) -> None:
        raise _Refused("a document type is declared: refused")
