"""Read the records of a GLEIF file one after the other: JSON, CSV or XML, bare or zipped.

Every reader yields (location, record), in the form of the golden copy's JSON whatever the format.
A string instead of a record is the reason why there is none.
"""

import io
import re
from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

import ijson

from assets.parsing.csv_lines import BoundedRecords, RecordTooLong, has_undecoded_bytes, read_lines
from assets.parsing.unpacking import LocatedRecords, located_records
from warehouse.shared.data_files import csv_rows

# What is read of a record as one text: where the API and the golden copy have it.
_MEMBERS = csv_rows(__name__, "lei_members")
API_PATHS = {row["name"]: tuple(row["api"].split(".")) for row in _MEMBERS}
CDF_PATHS = {row["name"]: tuple(row["golden_copy"].split(".")) for row in _MEMBERS}
_CDF_NAMES = frozenset(row["golden_copy"] for row in _MEMBERS)

_BOM = b"\xef\xbb\xbf"
# Bytes of a record: the longest of the golden copy are some kilobytes.
_LONGEST_RECORD = 4 << 20
_SINGLE_RECORD = re.compile(rb'"data"\s*:\s*\{')


def lei_file_records(body: IO[bytes]) -> LocatedRecords:
    """Iterate over the records of a file, with only one in memory at a time."""
    return located_records(body, _bare_records)


def _bare_records(body: "io.BufferedReader[Any]") -> LocatedRecords:
    if body.peek(3)[:3] == _BOM:
        body.read(3)
    # peek returns the whole buffer, in which the name of the first member is found.
    head = body.peek(1).lstrip()
    if head[:1] in (b"{", b"["):
        yield from _json_records(body, head)
    elif head[:1] == b"<":
        yield from xml_records(body)
    else:
        yield from csv_records(body)


def _json_records(body: IO[bytes], head: bytes) -> LocatedRecords:
    # The JSON pointer and the ijson prefix of the records, from how the file begins.
    location, prefix = "/data", "data" if _SINGLE_RECORD.search(head) else "data.item"
    if head[:1] == b"[":
        location, prefix = "", "item"
    elif b'"records"' in head:
        location, prefix = "/records", "records.item"
    count, bounded = 0, BoundedRecords(body.read, _LONGEST_RECORD)
    try:
        for record in ijson.items(bounded, prefix):
            bounded.next_record()
            yield (f"{location}/{count}" if prefix.endswith("item") else location), record
            count += 1
    except RecordTooLong as error:
        yield f"{location}/{count}", str(error)
    except (ijson.JSONError, ValueError, RecursionError) as error:
        yield f"{location}/{count}", f"not JSON from here on: {str(error).splitlines()[0]:.120}"


_OTHER_NAME_COLUMN = re.compile(
    r"Entity\.((?:Transliterated)?OtherEntityNames)\.(?:Transliterated)?OtherEntityName"
    r"\.([0-9]+)(\.type)?"
)
_SUCCESSOR_COLUMN = re.compile(r"Entity\.SuccessorEntity(?:\.1)?\.SuccessorLEI")
_REQUIRED_COLUMNS = ("LEI", "Entity.LegalName")


def csv_records(body: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Iterate over the lines of the golden copy as CSV."""
    located_lines = read_lines(body, strict=True)
    header = next(located_lines, ("", []))[1]
    names = [name.strip() for name in header] if isinstance(header, list) else []
    if not set(_REQUIRED_COLUMNS) <= set(names):
        yield "", "neither JSON nor XML, nor CSV with the columns of the golden copy"
        return
    columns = [(index, path) for index, name in enumerate(names) if (path := _json_path(name))]
    for location, line in located_lines:
        yield location, _record(line, columns, len(names)) if isinstance(line, list) else line


def _json_path(name: str) -> tuple[str, ...] | None:
    """Return where the JSON has the value of a column; None for columns that are not read."""
    if name == "LEI" or name in _CDF_NAMES:
        return tuple(name.split("."))
    if _SUCCESSOR_COLUMN.fullmatch(name):
        return "Entity", "SuccessorEntity", "SuccessorLEI"
    listed = _OTHER_NAME_COLUMN.fullmatch(name)
    return ("Entity", listed[1], listed[2], "@type" if listed[3] else "$") if listed else None


def _record(line: list[str], columns: list[tuple[int, tuple[str, ...]]], width: int) -> Any:
    if len(line) != width:
        return "not as many values as columns"
    record: dict[str, Any] = {"Entity": {}}
    for position, (*parents, last) in columns:
        if value := line[position]:
            inner = record
            for member in parents:
                inner = inner.setdefault(member, {})
            inner[last] = value
    return "bytes that are no UTF-8" if any(map(has_undecoded_bytes, line)) else record


_CHUNK = 1 << 16
_RECORD = "LEIRecord"
_MAX_RECORD_LENGTH = 1 << 20


def xml_records(body: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Iterate over the records of LEI-CDF XML, as a stream.

    A document type is refused before it is read: expanding entities would need one.
    """
    reader, bounded = _XmlReader(), BoundedRecords(body.read, _LONGEST_RECORD)
    count, reason = 0, None
    while reason is None:
        try:
            chunk = bounded.read(_CHUNK)
        except RecordTooLong as error:
            yield f"/LEIRecords/{count}", str(error)
            return
        if not chunk:
            break
        reason = reader.feed(chunk)
        for record in reader.records:
            bounded.next_record()
            yield f"/LEIRecords/{count}", record
            count += 1
        reader.records.clear()
    reason = reason or reader.feed(b"", last=True)
    if reason:
        yield f"/LEIRecords/{count}", reason


class _XmlReader:
    """Collects complete records, and the open elements within the next."""

    def __init__(self) -> None:
        # A name becomes "namespace local": files differ in their prefixes.
        self._parser = expat.ParserCreate(namespace_separator=" ")
        # Otherwise one text arrives in several calls.
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._open: list[tuple[str, dict[str, Any], list[str]]] = []
        # The type of the name that is open, if it states one.
        self._type: str | None = None
        self.records: list[dict[str, Any]] = []
        self._length = 0

    def feed(self, chunk: bytes, last: bool = False) -> str | None:
        """Parse a chunk; return the reason if it cannot be parsed."""
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            return f"not XML from here on: {error}"
        except ValueError as refusal:
            return str(refusal)
        return None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        self._type = attributes.get("type") if local.endswith("OtherEntityName") else None
        if self._open or local == _RECORD:
            self._open.append((local, {}, []))

    def _text(self, text: str) -> None:
        if self._open:
            self._length += len(text)
            self._open[-1][2].append(text)
        if self._length > _MAX_RECORD_LENGTH or len(self._open) > 100:
            raise ValueError("a record that is too long to be one")

    def _end(self, _: str) -> None:
        if not self._open:
            return
        name, members, text = self._open.pop()
        if not self._open:
            self.records.append(members)
            self._length = 0
            return
        parent = self._open[-1][1]
        value: Any = members or "".join(text)
        if self._type is not None:
            value, self._type = {"$": value, "@type": self._type}, None
        # An element that occurs again becomes a list.
        earlier = parent.setdefault(name, value)
        if isinstance(earlier, list):
            earlier.append(value)
        elif earlier is not value:
            parent[name] = [earlier, value]

    def _refuse(self, *_: object) -> None:
        raise ValueError("a document type is declared: refused")
