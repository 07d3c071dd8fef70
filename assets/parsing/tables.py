"""Rows of a table by the names of its columns, in any format that lists are published in.

CSV, Excel and OpenDocument workbooks, JSON, XML and HTML are told apart by their content, and a
zip is opened. Nothing is guessed about a table: it is where the wanted columns are, in whatever
line, sheet or element, and a body without them has no table.
"""

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import islice
from typing import Any

import msgspec

from assets.parsing.csv_lines import located_cells
from assets.parsing.limits import count_unpacked
from assets.parsing.unpacking import UNREADABLE, open_zip, read_member, zip_members
from assets.parsing.xml_tree import read_tree

# A row by the folded names of its columns; a text instead is the reason why there is none.
Row = dict[str, str]
LocatedRows = Iterator[tuple[str, Row | str]]
# Tables as lines of cells, with locations in which ``{}`` is the number of a row.
LocatedTables = Iterator[tuple[str, list[list[str]]]]
# Alternative names of one column, folded.
Names = tuple[str, ...]

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DELIMITERS = (",", ";", "\t", "|")
# A header is within the first so many lines; titles and notes may come before it.
_HEADER_WITHIN = 40
# Workbooks and zips that unpack to more are refused: no list is as long.
_MOST_BYTES = 1 << 29
_DEEPEST = 3


@dataclass(frozen=True)
class Wanted:
    """The columns of a table: those it must have, and those that are read if it has them.

    ``encoding`` is that of text that is no UTF-8, ``delimiter`` of CSV if it is none of the usual.
    """

    required: tuple[Names, ...]
    optional: tuple[Names, ...] = ()
    encoding: str = "cp1252"
    delimiter: str | None = None

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the columns that a table would need as well as those of ``names``."""
        there = set(names)
        return ["/".join(each) for each in self.required if there.isdisjoint(each)]

    def positions(self, header: Sequence[str]) -> dict[str, int] | str | None:
        """Return the place of each column in a header; a reason if two are the same.

        None if it is no header of such a table.
        """
        folded = [fold(name) for name in header]
        if self.missing(folded):
            return None
        wanted = {name for each in (*self.required, *self.optional) for name in each}
        twice = sorted(name for name in wanted & set(folded) if folded.count(name) > 1)
        if twice:
            return f"the column {twice[0]!r:.60} is there twice"
        return {name: folded.index(name) for name in wanted & set(folded)}


def fold(name: str) -> str:
    """Return the name of a column in comparable form: blanks and case do not matter."""
    return " ".join(name.replace("\ufeff", "").split()).casefold()


def table_rows(body: bytes, wanted: Wanted) -> LocatedRows:
    """Yield the rows of every table in a body that has the wanted columns."""
    has_rows = False
    for located in _rows(body, wanted, 0):
        has_rows = True
        yield located
    if not has_rows:
        needed = ", ".join("/".join(each) for each in wanted.required)
        yield "", f"no table with the columns {needed}"


def _rows(body: bytes, wanted: Wanted, depth: int) -> LocatedRows:
    if body.startswith(_OLE) or (body.startswith(_ZIP) and _is_workbook(body)):
        return _workbook_rows(body, wanted)
    if body.startswith(_ZIP):
        return _zip_rows(body, wanted, depth)
    text = _text(body, wanted.encoding)
    if text.lstrip().startswith(("{", "[", "<")):
        return _formatted_rows(body, text, wanted)
    return _csv_rows(text, wanted)


def _text(body: bytes, encoding: str) -> str:
    if body.startswith(_UTF16):
        return body.decode("utf-16", "replace")
    for name in ("utf-8-sig", encoding):
        with suppress(UnicodeDecodeError):
            return body.decode(name)
    # It accepts every byte.
    return body.decode("latin-1")


def _csv_rows(text: str, wanted: Wanted) -> LocatedRows:
    for delimiter in (wanted.delimiter,) if wanted.delimiter else _DELIMITERS:
        head, lines = (located_cells(io.StringIO(text, newline=""), delimiter) for _ in range(2))
        for _, line in islice(head, _HEADER_WITHIN):
            if isinstance(line, list) and not wanted.missing(map(fold, line)):
                yield from _table(lines, wanted)
                return


def _table(
    located: Iterable[tuple[str, list[str] | str]], wanted: Wanted, ragged: bool = False
) -> LocatedRows:
    """Yield the rows below the header of a table; nothing if it has none.

    ``ragged``: a row may end before its last cells, as in a workbook.
    """
    positions: dict[str, int] | None = None
    width = 0
    for number, (location, cells) in enumerate(located):
        if isinstance(cells, str):
            if positions is not None:
                yield location, cells
        elif not any(cell.strip() for cell in cells):
            continue
        elif positions is None:
            header = wanted.positions(cells) if number < _HEADER_WITHIN else None
            if isinstance(header, str):
                yield location, header
                return
            positions, width = header, len(cells)
        elif any(cell.strip() for cell in cells[width:]) or (len(cells) < width and not ragged):
            yield location, "not as many values as columns"
        else:
            padded = [*cells, *[""] * (width - len(cells))]
            yield location, {name: clean(padded[place]) for name, place in positions.items()}


def text_above(body: bytes, encoding: str = "cp1252") -> str:
    """Return the first lines of a workbook or a text, with its titles, notes and headers."""
    if not body.startswith((_OLE, _ZIP)):
        return "\n".join(_text(body, encoding).splitlines()[:_HEADER_WITHIN])
    heads = [joined(lines[:_HEADER_WITHIN]) for _, lines in sheets(body) if isinstance(lines, list)]
    return "\n".join(heads)


def joined(lines: Iterable[Sequence[str]]) -> str:
    """Return the text of some lines: cells with blanks between them."""
    return "\n".join(clean(" ".join(cells)) for cells in lines)


def clean(value: str) -> str:
    """Return the text of a cell: blanks of any kind are one blank."""
    return " ".join(value.replace("\u200b", "").split())


def _is_workbook(body: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = set(archive.namelist())
    except zipfile.BadZipFile:
        return False
    return not names.isdisjoint({"xl/workbook.xml", "xl/workbook.bin", "content.xml"})


def _workbook_rows(body: bytes, wanted: Wanted) -> LocatedRows:
    for name, lines in sheets(body):
        if isinstance(lines, str):
            yield "", lines
            return
        located = ((f"{name}, row {number}", cells) for number, cells in enumerate(lines, 1))
        yield from _table(located, wanted, ragged=True)


def sheets(body: bytes) -> Iterator[tuple[str, list[list[str]] | str]]:
    """Yield name and lines of the sheets of a workbook, all lines of a sheet equally long.

    A text instead of the lines is the reason why there are none.
    """
    # Imported here: few lists are workbooks, and every command imports the parsers.
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        if body.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(body)) as archive:
                size = sum(info.file_size for info in archive.infolist())
            if size > _MOST_BYTES:
                yield "", "the workbook unpacks to more than any list"
                return
            count_unpacked(size)
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(body))
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
            yield name, [[_cell(value) for value in cells] for cells in sheet]
    except (CalamineError, *UNREADABLE, ValueError) as error:
        yield "", f"not a workbook that can be read: {str(error).splitlines()[0]:.120}"


def _cell(value: object) -> str:
    # Numbers of a workbook have no form of their own: 12 is stored as 12.0.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _zip_rows(body: bytes, wanted: Wanted, depth: int) -> LocatedRows:
    if depth == _DEEPEST:
        yield "", "zips within zips are not opened any further"
        return
    try:
        with open_zip(io.BytesIO(body)) as archive:
            members = zip_members(archive)
            if sum(info.file_size for info in members) > _MOST_BYTES:
                yield "", "the zip unpacks to more than any list"
                return
            for info in members:
                with archive.open(info) as member:
                    content = read_member(member)
                for location, row in _rows(content, wanted, depth + 1):
                    yield f"{info.filename}#{location}" if location else info.filename, row
    except UNREADABLE as error:
        yield "", f"not a zip that can be read: {type(error).__name__}"


def _formatted_rows(body: bytes, text: str, wanted: Wanted) -> LocatedRows:
    """Yield the rows of the tables in a JSON value, a web page or an XML document."""
    try:
        if not text.lstrip().startswith("<"):
            tables = json_tables("", msgspec.json.decode(text))
        else:
            # A web page, or a part of one.
            tables = html_tables(text) if _HTML.search(text[:4000]) else xml_tables(body)
        for location, table in tables:
            lines = ((location.format(number), cells) for number, cells in enumerate(table))
            yield from _table(lines, wanted, ragged=True)
    except (msgspec.DecodeError, RecursionError) as error:
        yield "", f"not JSON: {error}"
    except ValueError as error:
        yield "", str(error)


_HTML = re.compile(r"<(?:!doctype html|html|table)\b", re.IGNORECASE)
_UNSEEN = frozenset({"script", "style", "noscript", "template"})
# Each tag takes microseconds; a list of 5,000 securities with ten cells each has half as many.
_MOST_TAGS = 200_000


def html_tables(text: str) -> LocatedTables:
    """Yield each table with its location.

    Raises ValueError for a page that would take too long to read.
    """
    if (tags := text.count("<")) > _MOST_TAGS:
        raise ValueError(f"a page of {tags:,} tags; at most {_MOST_TAGS:,} are read")
    reader = _HtmlReader()
    reader.feed(text)
    reader.close()
    for number, rows in enumerate(reader.tables, 1):
        yield f"table {number}, row {{}}", [["".join(cell) for cell in row] for row in rows]


class _HtmlReader(HTMLParser):
    """Collects the text of every cell; a table within a cell is a table of its own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        # Of every table its rows, of a row its cells, of a cell the parts of its text.
        self.tables: list[list[list[list[str]]]] = []
        self._open: list[list[list[list[str]]]] = []
        self._in_cell: list[bool] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "table":
            self._open.append([])
            self._in_cell.append(False)
            self.tables.append(self._open[-1])
        elif self._open and tag == "tr":
            self._open[-1].append([])
            self._in_cell[-1] = False
        elif self._open and tag in ("td", "th"):
            if not self._open[-1]:
                self._open[-1].append([])
            self._open[-1][-1].append([])
            self._in_cell[-1] = True
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif self._open and tag == "table":
            self._open.pop()
            self._in_cell.pop()
        elif self._open and tag in ("td", "th", "tr"):
            self._in_cell[-1] = False

    def handle_data(self, data: str) -> None:
        if self._open and self._in_cell[-1] and not self._unseen:
            self._open[-1][-1][-1].append(data)


# The tables in a JSON value: lists of objects, lists of lists, columns next to rows.


_DEEPEST_JSON = 20
# Objects, or elements, that have hardly a member in common are no rows of a table.
_MOST_CELLS = 10_000_000
# An object with more members has no columns next to its rows.
_MOST_MEMBERS = 1_000
_LONGEST_NAME = 200


def json_tables(location: str, value: Any, depth: int = 0) -> LocatedTables:
    """Yield each table below a location, in which ``{}`` is the number of a row.

    The first row of a table is its header: of objects, all of their members.
    """
    if depth > _DEEPEST_JSON:
        return
    if isinstance(value, list):
        yield from _json_list(location, value)
        # Lists within objects of a list are tables as well, but lists of plain values are not.
        inner: Any = enumerate(value)
    elif isinstance(value, dict):
        yield from _columns_beside_rows(location, value)
        inner = value.items()
    else:
        return
    for name, member in inner:
        if isinstance(member, list | dict):
            part = str(name)[:_LONGEST_NAME].replace("~", "~0").replace("/", "~1")
            yield from json_tables(
                f"{location}/{part}".replace("{", "(").replace("}", ")"), member, depth + 1
            )


def _json_list(location: str, items: list[Any]) -> LocatedTables:
    objects = [item for item in items if isinstance(item, dict)]
    if objects:
        header = list(dict.fromkeys(name for item in objects for name in item))
        if len(header) * len(objects) > _MOST_CELLS:
            return
        rows = [[_json_cell(item.get(name)) for name in header] for item in objects]
        # The header is row 0: the row of object 0 is at 1, as a line below its header is.
        yield f"{location}, row {{}}", [header, *rows]
    elif any(isinstance(item, list) for item in items):
        rows = [[_json_cell(cell) for cell in item] for item in items if isinstance(item, list)]
        yield f"{location}, row {{}}", rows


def _columns_beside_rows(location: str, members: dict[str, Any]) -> LocatedTables:
    """Yield ``{"fields": [...], "data": [[...], ...]}`` as a table."""
    if len(members) > _MOST_MEMBERS:
        return
    lists = {name: each for name, each in members.items() if isinstance(each, list) and each}
    for header in lists.values():
        if not all(isinstance(name, str) for name in header):
            continue
        for name, rows in lists.items():
            if rows is not header and all(
                isinstance(row, list) and len(row) == len(header) for row in rows
            ):
                cells = [[_json_cell(cell) for cell in row] for row in rows]
                yield f"{location}/{name}, row {{}}", [header, *cells]


def _json_cell(value: Any) -> str:
    return "" if value is None or isinstance(value, list | dict) else str(value)


# The tables in an XML document: elements of one name whose children are their columns.


def xml_tables(body: bytes) -> LocatedTables:
    """Yield each table with its location.

    Its header has the names of all children and attributes that its elements have. ValueError if
    it is no XML, or declares entities.
    """
    records: dict[str, list[dict[str, str]]] = defaultdict(list)
    stack = [("", read_tree(body))]
    while stack:
        above, element = stack.pop()
        path, children = f"{above}/{element.local}", element.children
        # A name becomes "namespace local": files differ in their prefixes.
        columns = {name.rpartition(" ")[2]: value for name, value in element.attributes.items()}
        for child in children:
            # What occurs again in an element keeps its first value.
            if not child.children:
                columns.setdefault(child.local, child.text())
        if columns or children:
            records[path].append(columns)
        stack.extend((path, child) for child in reversed(children))
    # The innermost first: a list of lists is no table.
    for path in reversed(records):
        header = list(dict.fromkeys(name for record in records[path] for name in record))
        if len(header) * len(records[path]) <= _MOST_CELLS:
            rows = [[record.get(name, "") for name in header] for record in records[path]]
            yield f"{path.replace('{', '(').replace('}', ')')}, row {{}}", [header, *rows]
