"""The tables in an XML document: elements of one name whose children are their columns."""

from collections.abc import Iterator
from xml.parsers import expat

_DEEPEST = 50
_LONGEST_TEXT = 1 << 20
# Elements that have hardly a child in common are no rows of a table.
_MOST_CELLS = 10_000_000


def tables(body: bytes) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each table with its location, in which ``{}`` stands for the number of a row.

    Its header has the names of all children and attributes that its elements have. ValueError if
    it is no XML, or declares a document type: expanding entities would need one.
    """
    reader = _Reader()
    reader.read(body)
    for path, records in reader.records.items():
        header = list(dict.fromkeys(name for record in records for name in record))
        if len(header) * len(records) > _MOST_CELLS:
            continue
        rows = [[record.get(name, "") for name in header] for record in records]
        yield f"{path.replace('{', '(').replace('}', ')')}, row {{}}", [header, *rows]


class _Reader:
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
        if len(self._open) > _DEEPEST:
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
