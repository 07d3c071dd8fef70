"""The tables of a web page, as rows of cells."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

_HTML = re.compile(r"<(?:!doctype html|html|table)\b", re.IGNORECASE)
_UNSEEN = frozenset({"script", "style", "noscript", "template"})
# Each tag takes microseconds; a list of 5,000 securities with ten cells each has half as many.
_MOST_TAGS = 200_000


def is_html(text: str) -> bool:
    """Return whether a text is a web page, or a part of one."""
    return _HTML.search(text[:4000]) is not None


def tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each table with its location, in which ``{}`` stands for the number of a row.

    Raises ValueError for a page that would take too long to read.
    """
    if (tags := text.count("<")) > _MOST_TAGS:
        raise ValueError(f"a page of {tags:,} tags; at most {_MOST_TAGS:,} are read")
    reader = _Reader()
    reader.feed(text)
    reader.close()
    for number, rows in enumerate(reader.tables, 1):
        yield f"table {number}, row {{}}", [["".join(cell) for cell in row] for row in rows]


class _Reader(HTMLParser):
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
