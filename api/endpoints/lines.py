"""Rows as CSV or JSON Lines, a page at a time: every digit as in the JSON, no envelope.

In CSV a text that a spreadsheet would run as a formula gets an apostrophe in front, and objects
and lists are JSON. The lines are those that Python's ``csv`` would write. It looks at each
character of each cell; here all cells of a column are searched at once, because most columns have
nothing to quote.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from warehouse.contract.schemas import ROW_SCHEMAS
from warehouse.serve.rows import RowPage
from warehouse.shared.json_encoding import decode_object, encode_object

# What a cell of a formula can begin with (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# The types of a member that is always a text.
_TEXT_TYPES = ("string", "null", ["string", "null"])
_ROWS = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)


def json_lines(pages: Iterable[RowPage]) -> Iterator[bytes]:
    """Yield pages of rows as JSON Lines."""
    for page in pages:
        # To cut apart rows that lie in packs is faster than to ask for one after the other.
        rows = page.rows if isinstance(page.rows, list) else _ROWS.decode(_array(page))
        yield b"\n".join([*rows, b""])


def with_fields(page: RowPage, fields: Collection[str]) -> RowPage:
    """Return the rows of a page with only these of their members."""
    rows = map(decode_object, page.rows[:])
    return page.with_rows(
        [encode_object({name: row[name] for name in row if name in fields}) for row in rows]
    )


def csv_lines(
    kinds: tuple[str, ...], pages: Iterable[RowPage], fields: tuple[str, ...] = ()
) -> Iterator[bytes]:
    """Yield a header line and pages of rows of these schemas as CSV, or only some columns."""
    yield _joined([columns_of(kinds, fields)])
    for page in pages:
        rows = map(astuple, _decode(kinds, fields, _array(page)))
        columns = list[Sequence[str]]()
        # Columns that have one value in all rows are written once, together with their neighbours.
        for is_same, together in groupby(zip(*rows, strict=True), _is_same):
            if is_same:
                cells = ",".join([_cells(column[:1])[0] for column in together])
                columns.append([cells] * len(page.rows))
            else:
                columns += map(_cells, together)
        yield _joined(zip(*columns, strict=True))


def csv_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a header line and rows of plain values as CSV."""
    texts = (["" if cell is None else str(cell) for cell in row] for row in rows)
    columns = map(_text_cells, zip(*texts, strict=True))
    return _joined([names, *zip(*columns, strict=True)])


def _joined(lines: Iterable[Iterable[str]]) -> bytes:
    return "\r\n".join([*map(",".join, lines), ""]).encode()


@lru_cache
def columns_of(row: tuple[str, ...], fields: tuple[str, ...] = ()) -> Mapping[str, bool]:
    """Return every member that rows of these schemas can have, and whether it is always a text.

    With ``fields``, only those.
    """
    columns: dict[str, bool] = {}
    for schema in row:
        for name, member in ROW_SCHEMAS[schema]["properties"].items():
            is_text = "const" in member or member.get("type") in _TEXT_TYPES
            columns[name] = columns.get(name, True) and is_text
    return {name: columns[name] for name in columns if not fields or name in fields}


def _array(page: RowPage) -> bytes:
    return b"".join((b"[", *page.json_chunks(), b"]"))


def _decode(row: tuple[str, ...], fields: tuple[str, ...], rows: bytes) -> list[msgspec.Struct]:
    try:
        return _decoder(row, fields).decode(rows)
    except msgspec.ValidationError:
        # A member is not of its declared type.
        return _decoder(row, fields, with_texts=False).decode(rows)


@lru_cache
def _decoder(
    row: tuple[str, ...], fields: tuple[str, ...], with_texts: bool = True
) -> msgspec.json.Decoder[list[msgspec.Struct]]:
    """Return a decoder that decodes texts; of anything else the bytes stay, and so every digit."""
    members = [
        (name, str | None, None) if is_text and with_texts else (name, Raw, Raw(b"null"))
        for name, is_text in columns_of(row, fields).items()
    ]
    # Without references to each other, rows are no work for the garbage collector.
    decoded_row = msgspec.defstruct("Row", members, gc=False)
    return msgspec.json.Decoder(list[decoded_row])  # type: ignore[valid-type]


def _is_same(column: Sequence[Any]) -> bool:
    return column[-1] == column[0] and column.count(column[0]) == len(column)


def _cells(column: Sequence[Any]) -> Sequence[str]:
    return _json_cells(column) if isinstance(column[0], Raw) else _text_cells(column)


def _text_cells(texts: Sequence[Any]) -> Sequence[str]:
    """Return texts, of which some may be null, as cells."""
    if not any(texts):
        return [""] * len(texts)
    try:
        together = "\0" + "\0".join(texts)
    except TypeError:
        return _text_cells([text or "" for text in texts])
    cells = texts
    # A text may have a NUL as well: what is found here is looked at again, cell by cell. Single
    # signs are searched first because that is faster.
    if any(sign in together and f"\0{sign}" in together for sign in _FORMULA):
        cells = [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells]
    if '"' in together:
        cells = [cell.replace('"', '""') for cell in cells]
    return _quoted(cells, together)


def _json_cells(values: Sequence[Raw]) -> Sequence[str]:
    """Return JSON values as cells: a number keeps its digits."""
    # JSON has no NUL. Only a text ends with a quotation mark, and only null with "null".
    together = b"\0".join((*values, b""))
    if together == b"null\0" * len(values):
        return [""] * len(values)
    if b'"\0' in together:
        if len(values) == 1:
            return _text_cells([_TEXT.decode(values[0])])
        return [cell for value in values for cell in _json_cells([value])]
    shown = together.replace(b"null\0", b"\0").replace(b'"', b'""').decode()
    return _quoted(shown.split("\0")[:-1], shown)


def _quoted(cells: Sequence[str], together: str) -> Sequence[str]:
    """Put quotation marks around cells that need them; those inside are doubled already."""
    if "," in together or '"' in together or "\n" in together or "\r" in together:
        return [
            f'"{cell}"' if "," in cell or '"' in cell or "\n" in cell or "\r" in cell else cell
            for cell in cells
        ]
    return cells
