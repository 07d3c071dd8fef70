"""Put together rows whose objects are stored once: a metric and the facts it was computed from."""

from collections.abc import Sequence

from warehouse.mart.tables import FILES_SINCE, MART_TABLES
from warehouse.read.engines import FileReader
from warehouse.read.mart import Build

_OBJECTS = {
    table.name: (f'"{table.stored_once}":['.encode(), table.objects)
    for table in MART_TABLES
    if table.stored_once
}


def has_objects(build: Build, table: str) -> bool:
    """Return whether rows of a table have numbers of objects."""
    return table in _OBJECTS and build.schema_version >= FILES_SINCE


def with_objects(build: Build, file: FileReader, table: str, rows: Sequence[bytes]) -> list[bytes]:
    """Return rows of a file with the objects whose numbers they have; other rows as they are."""
    if not rows or not has_objects(build, table):
        return list(rows)
    member, objects_table = _OBJECTS[table]
    parts = [_cut(row, member) for row in rows]
    numbers = [number for _, cited, _ in parts for number in cited]
    # Objects are numbered by organisation and year: those of one question lie together.
    statement = f"SELECT row_number, row FROM {file.prefix}{objects_table} "
    statement += "WHERE row_number >= ? AND row_number <= ?"
    objects: dict[int, bytes] = (
        dict(file.query(statement, min(numbers), max(numbers))) if numbers else {}
    )
    return [
        before + b",".join([objects[number] for number in cited]) + after
        for before, cited, after in parts
    ]


def _cut(row: bytes, member: bytes) -> tuple[bytes, list[int], bytes]:
    """Return what is before the numbers of a row, the numbers, and what is after them."""
    # No quote stands unescaped inside a string, so that the first place is the member.
    begin = row.index(member) + len(member)
    end = row.index(b"]", begin)
    return row[:begin], [int(number) for number in row[begin:end].split(b",") if number], row[end:]
