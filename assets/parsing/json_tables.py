"""The tables in a JSON value: lists of objects, lists of lists, columns beside rows."""

from collections.abc import Iterator
from typing import Any

_DEEPEST = 20
# Objects that have hardly a member in common are no rows of a table.
_MOST_CELLS = 10_000_000
# An object with more members has no columns beside its rows.
_MOST_MEMBERS = 1_000
_LONGEST_NAME = 200


def tables(root: Any) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each table with its location, in which ``{}`` stands for the number of a row.

    The first row of a table is its header: of objects, all of their members.
    """
    yield from _tables("", root, 0)


def _tables(location: str, value: Any, depth: int) -> Iterator[tuple[str, list[list[str]]]]:
    if depth > _DEEPEST:
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
