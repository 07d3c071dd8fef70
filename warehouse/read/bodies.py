"""The JSON of rows as a file has it: decompressed, and with the objects that it stores once."""

from collections.abc import Callable, Iterable, Sequence

from zstandard import ZstdError

from warehouse.mart.row_dictionary import decompressor
from warehouse.mart.tables import MART_TABLES
from warehouse.read.engines import FileReader, translate_errors
from warehouse.read.mart import Build

_DICTIONARIES = {table.name: table.dictionary for table in MART_TABLES if table.with_dictionary}
_OBJECTS = {
    table.name: (f'"{table.stored_once}":['.encode(), table.objects)
    for table in MART_TABLES
    if table.stored_once
}


def has_own_form(table: str) -> bool:
    """Return whether rows of a table can lie in files otherwise than they are served."""
    return table in _DICTIONARIES or table in _OBJECTS


def served_bodies(build: Build, file: FileReader, table: str, rows: Sequence[bytes]) -> list[bytes]:
    """Return the JSON of rows of a file as it is served."""
    bodies = decompressed(build, file, table, rows)
    if not bodies or table not in _OBJECTS:
        return bodies
    member, objects_table = _OBJECTS[table]
    parts = [_cut(row, member) for row in bodies]
    numbers = sorted({number for _, cited, _ in parts for number in cited})
    # Objects are numbered by organisation and year: those of one question lie together.
    statement = f"SELECT row_number, row FROM {objects_table} "
    statement += "WHERE row_number >= ? AND row_number <= ?"
    found: dict[int, bytes] = (
        dict(file.query(statement, numbers[0], numbers[-1])) if numbers else {}
    )
    texts = decompressed(build, file, table, [found[number] for number in numbers])
    objects = dict(zip(numbers, texts, strict=True))
    return [
        before + b",".join([objects[number] for number in cited]) + after
        for before, cited, after in parts
    ]


def decompressed(build: Build, file: FileReader, table: str, rows: Iterable[bytes]) -> list[bytes]:
    """Return rows of a file as they were before they were compressed with its dictionary."""
    dictionary = _DICTIONARIES.get(table)
    if dictionary is None:
        return list(rows)
    name = f"{dictionary} {file.label}"
    with translate_errors(ZstdError):
        return list(map(build.made_once(name, lambda: _decompressor(file, dictionary)), rows))


def _decompressor(file: FileReader, table: str) -> Callable[[bytes], bytes]:
    found = file.query(f"SELECT row FROM {table} WHERE row_number = 1")
    return decompressor(b"".join(row for (row,) in found))


def _cut(row: bytes, member: bytes) -> tuple[bytes, list[int], bytes]:
    """Return what is before the numbers of a row, the numbers, and what is after them."""
    # No quote stands unescaped inside a string, so that the first place is the member.
    begin = row.index(member) + len(member)
    end = row.index(b"]", begin)
    return row[:begin], [int(number) for number in row[begin:end].split(b",") if number], row[end:]
