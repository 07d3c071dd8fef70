"""Rows of a table by the names of its columns, in any format that lists are published in.

CSV, Excel and OpenDocument workbooks, JSON, XML and HTML are told apart by their content, and a
zip is opened. Nothing is guessed about a table: it is where the wanted columns are, in whatever
line, sheet or element, and a body without them has no table.
"""

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from assets.parsing import table_formats
from assets.parsing.csv_lines import located_cells
from assets.parsing.limits import count_unpacked
from assets.parsing.unpacking import UNREADABLE, open_zip, read_member, zip_members

# A row by the folded names of its columns; a text instead is the reason why there is none.
Row = dict[str, str]
LocatedRows = Iterator[tuple[str, Row | str]]
# Alternative names of one column, folded.
Names = tuple[str, ...]

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DELIMITERS = (",", ";", "\t", "|")
# A header stands within so many lines; titles and notes may come before it.
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
        """Return the columns that a table would need beside those of ``names``."""
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
    rows = _rows(body, wanted, 0)
    first = next(rows, None)
    if first is None:
        needed = ", ".join("/".join(each) for each in wanted.required)
        yield "", f"no table with the columns {needed}"
        return
    yield first
    yield from rows


def _rows(body: bytes, wanted: Wanted, depth: int) -> LocatedRows:
    if body.startswith(_OLE) or (body.startswith(_ZIP) and _is_workbook(body)):
        return _workbook_rows(body, wanted)
    if body.startswith(_ZIP):
        return _zip_rows(body, wanted, depth)
    text = _text(body, wanted.encoding)
    match text.lstrip()[:1]:
        case "{" | "[":
            return _json_rows(text, wanted)
        case "<":
            return _markup_rows(body, text, wanted)
        case _:
            return _csv_rows(text, wanted)


def _text(body: bytes, encoding: str) -> str:
    if body.startswith(_UTF16):
        return body.decode("utf-16", "replace")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        # Latin-1 accepts every byte.
        return body.decode("latin-1")


def _csv_rows(text: str, wanted: Wanted) -> LocatedRows:
    for delimiter in (wanted.delimiter,) if wanted.delimiter else _DELIMITERS:
        head = islice(_csv_lines(text, delimiter), _HEADER_WITHIN)
        if any(isinstance(line, list) and not wanted.missing(map(fold, line)) for _, line in head):
            yield from _table(_csv_lines(text, delimiter), wanted)
            return


def _csv_lines(text: str, delimiter: str) -> Iterator[tuple[str, list[str] | str]]:
    return located_cells(io.StringIO(text, newline=""), delimiter)


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
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if positions is None:
            header = wanted.positions(cells) if number < _HEADER_WITHIN else None
            if isinstance(header, str):
                yield location, header
                return
            positions, width = header, len(cells)
            continue
        too_many = any(cell.strip() for cell in cells[width:])
        if too_many or (len(cells) < width and not ragged):
            yield location, "not as many values as columns"
            continue
        padded = [*cells, *[""] * (width - len(cells))]
        yield location, {name: clean(padded[place]) for name, place in positions.items()}


def text_above(body: bytes, encoding: str = "cp1252") -> str:
    """Return the lines of a workbook or a text among which titles, notes and headers stand."""
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
    return "xl/workbook.xml" in names or "xl/workbook.bin" in names or "content.xml" in names


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


def _json_rows(text: str, wanted: Wanted) -> LocatedRows:
    try:
        root = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        yield "", f"not JSON: {error}"
        return
    for location, table in table_formats.json_tables(root):
        yield from _located_table(location, table, wanted)


def _markup_rows(body: bytes, text: str, wanted: Wanted) -> LocatedRows:
    read: Callable[[], Iterable[tuple[str, list[list[str]]]]]
    if table_formats.is_html(text):
        read = lambda: table_formats.html_tables(text)  # noqa: E731
    else:
        read = lambda: table_formats.xml_tables(body)  # noqa: E731
    try:
        for location, table in read():
            yield from _located_table(location, table, wanted)
    except ValueError as error:
        yield "", str(error)


def _located_table(location: str, table: list[list[str]], wanted: Wanted) -> LocatedRows:
    """Yield the rows of a table of which every row is at a number below a location."""
    lines = ((location.format(number), list(cells)) for number, cells in enumerate(table))
    yield from _table(lines, wanted, ragged=True)
