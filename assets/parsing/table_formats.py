"""The tables of a web page, of a JSON value and of an XML document, as rows of cells."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.parsers import expat

# The tables of a web page, as rows of cells.


_HTML = re.compile(r"<(?:!doctype html|html|table)\b", re.IGNORECASE)
_UNSEEN = frozenset({"script", "style", "noscript", "template"})
# Each tag takes microseconds; a list of 5,000 securities with ten cells each has half as many.
_MOST_TAGS = 200_000


def is_html(text: str) -> bool:
    """Return whether a text is a web page, or a part of one."""
    return _HTML.search(text[:4000]) is not None


def html_tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each table with its location, in which ``{}`` stands for the number of a row.

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


# The tables in a JSON value: lists of objects, lists of lists, columns beside rows.


_DEEPEST_JSON = 20
# Objects, or elements, that have hardly a member in common are no rows of a table.
_MOST_CELLS = 10_000_000
# An object with more members has no columns beside its rows.
_MOST_MEMBERS = 1_000
_LONGEST_NAME = 200


def json_tables(root: Any) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each table with its location, in which ``{}`` stands for the number of a row.

    The first row of a table is its header: of objects, all of their members.
    """
    yield from _tables("", root, 0)


def _tables(location: str, value: Any, depth: int) -> Iterator[tuple[str, list[list[str]]]]:
    if depth > _DEEPEST_JSON:
        return
    if isinstance(value, list):
        yield from _list(location, value)
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
            yield from _tables(
                f"{location}/{part}".replace("{", "(").replace("}", ")"), member, depth + 1
            )


def _list(location: str, items: list[Any]) -> Iterator[tuple[str, list[list[str]]]]:
    objects = [item for item in items if isinstance(item, dict)]
    if objects:
        header = list(dict.fromkeys(name for item in objects for name in item))
        if len(header) * len(objects) > _MOST_CELLS:
            return
        rows = [[_cell(item.get(name)) for name in header] for item in objects]
        # The header is row 0: the row of object 0 is at 1, as a line below its header is.
        yield f"{location}, row {{}}", [header, *rows]
    elif any(isinstance(item, list) for item in items):
        rows = [[_cell(cell) for cell in item] for item in items if isinstance(item, list)]
        yield f"{location}, row {{}}", rows


def _columns_beside_rows(
    location: str, members: dict[str, Any]
) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield ``{"fields": [...], "data": [[...], ...]}`` as a table."""
    if len(members) > _MOST_MEMBERS:
        return
    for header in members.values():
        if not isinstance(header, list) or not header or not _all_text(header):
            continue
        for name, rows in members.items():
            if rows is header or not isinstance(rows, list) or not rows:
                continue
            if all(isinstance(row, list) and len(row) == len(header) for row in rows):
                cells = [[_cell(cell) for cell in row] for row in rows]
                yield f"{location}/{name}, row {{}}", [header, *cells]


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _cell(value: Any) -> str:
    return "" if value is None or isinstance(value, list | dict) else str(value)


# The tables in an XML document: elements of one name whose children are their columns.


_DEEPEST_XML = 50
_LONGEST_TEXT = 1 << 20


def xml_tables(body: bytes) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each table with its location, in which ``{}`` stands for the number of a row.

    Its header has the names of all children and attributes that its elements have. ValueError if
    it is no XML, or declares a document type: expanding entities would need one.
    """
    reader = _XmlReader()
    reader.read(body)
    for path, records in reader.records.items():
        header = list(dict.fromkeys(name for record in records for name in record))
        if len(header) * len(records) > _MOST_CELLS:
            continue
        rows = [[record.get(name, "") for name in header] for record in records]
        yield f"{path.replace('{', '(').replace('}', ')')}, row {{}}", [header, *rows]


class _XmlReader:
    """Collects, by path, the elements that have children or attributes."""

    def __init__(self) -> None:
        self.records: dict[str, list[dict[str, str]]] = {}
        # Of every open element: its path, its columns, its text, whether it has children.
        self._open: list[tuple[str, dict[str, str], list[str], list[bool]]] = []
        self._length = 0

    def read(self, body: bytes) -> None:
        # A name becomes "namespace local": files differ in their prefixes.
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(body, True)
        except expat.ExpatError as error:
            raise ValueError(f"not XML: {error}") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > _DEEPEST_XML:
            raise ValueError("elements within elements: no list is as deep")
        local = name.rpartition(" ")[2]
        parent = self._open[-1] if self._open else None
        if parent is not None:
            parent[3].append(True)
        columns = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        path = f"{parent[0]}/{local}" if parent is not None else f"/{local}"
        self._open.append((path, columns, [], []))
        self._length = 0

    def _text(self, text: str) -> None:
        self._length += len(text)
        if self._length > _LONGEST_TEXT:
            raise ValueError("a text that is too long for a list")
        if self._open:
            self._open[-1][2].append(text)

    def _end(self, name: str) -> None:
        path, columns, text, children = self._open.pop()
        if columns or children:
            self.records.setdefault(path, []).append(columns)
        if self._open and not children:
            local = name.rpartition(" ")[2]
            value = "".join(text)
            # What occurs again in an element keeps its first value.
            self._open[-1][1].setdefault(local, value)

    def _refuse(self, *_: object) -> None:
        raise ValueError("a document type is declared: refused")
