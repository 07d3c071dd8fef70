"""Pages of rows, and the conditions that queries share."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from re import compile as pattern
from typing import Any

import msgspec
from zstandard import ZstdError

from warehouse.mart.row_dictionary import decompressor
from warehouse.mart.tables import MART_TABLES
from warehouse.read.conditions import IN_ORDER, Condition, Key, Order
from warehouse.read.engines import FileReader, SqlRows, translate_errors
from warehouse.read.mart import Build
from warehouse.read.packs import (
    PackedRows,
    is_packed,
    latest_rows,
    rows_by_number,
)
from warehouse.read.several_files import (
    Found,
    begin_after,
    columns_to_merge,
    files_for,
    select,
    select_all,
)
from warehouse.record.as_of import Vintages

_ROW_COLUMN = pattern(r"row\b")
_MERGED_BY = {table.name: table.merged_by for table in MART_TABLES}
_DICTIONARIES = {table.name: table.dictionary for table in MART_TABLES if table.with_dictionary}
_OBJECTS = {
    table.name: (f'"{table.stored_once}":['.encode(), table.objects)
    for table in MART_TABLES
    if table.stored_once
}
KeyedRows = list[tuple[Key, tuple[Any, ...]]]
# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500


class RowPage(msgspec.Struct, frozen=True):
    """Rows as JSON bytes, from one build; ``truncated`` if there are more.

    ``keys`` has where each row lies: a read with the key of a row continues after it.
    """

    rows: Sequence[bytes]
    truncated: bool
    data_version: str
    notice: str
    keys: Sequence[Key] = ()

    def key_of(self, number: int) -> Key | None:
        """Return the key of a row, counted from 1; None if the list has no pages."""
        return self.keys[number - 1] if len(self.keys) else None

    def json_chunks(self) -> Sequence[bytes | memoryview]:
        """Return byte chunks that concatenate to comma-separated JSON rows."""
        rows = self.rows
        return rows.runs() if isinstance(rows, PackedRows) else [b",".join(rows)]

    def with_rows(self, rows: list[bytes]) -> "RowPage":
        """Return the same page with other rows."""
        return msgspec.structs.replace(self, rows=rows)


def cap_at_today(as_of: date) -> str:
    """Return a day as it is compared in SQL; a future day counts as today, in UTC."""
    # Nobody knows yet what will be known: the answer for a future day would change until then.
    return min(as_of, datetime.now(UTC).date()).isoformat()


def published_by(as_of: date | None, column: str = "available_at") -> list[Condition]:
    """Match rows that were public by a day, whether or not they were superseded since."""
    return [] if as_of is None else [Condition(f"{column} <= ?", (cap_at_today(as_of),))]


def known_on(as_of: date | None, vintages: Vintages = "latest") -> list[Condition]:
    """Match rows that were known on ``as_of``; a row without a date never was."""
    published = published_by(as_of)
    if vintages == "all":
        return published
    if vintages == "as_reported":
        return [*published, Condition("vintage = 1 AND withdrawn = 0")]
    if as_of is None:
        return [Condition("latest = 1")]
    # Half-open: on the day a vintage is superseded, the next one counts. The end itself is never
    # served: it would reveal the future of as_of.
    return [*published, Condition("superseded_at > ? AND withdrawn = 0", (cap_at_today(as_of),))]


def equal(**values: str | None) -> list[Condition]:
    """Match rows by column values; a column whose value is None is not filtered."""
    return [
        Condition(f"{name} = ?", (storable(value),), name)
        for name, value in values.items()
        if value is not None
    ]


def one_of(name: str, values: Sequence[object]) -> Condition:
    """Match rows in which a column has one of the values."""
    return Condition(f"{name} IN ({', '.join('?' * len(values))})", tuple(values))


def storable(text: str) -> str:
    """Return a text as it is stored: no NUL, and only what UTF-8 can encode."""
    return text.replace("\0", "\u2400").encode(errors="replace").decode()


def alpha_2(build: Build, country: str | None) -> str | None:
    """Return a country, given as alpha-2 or alpha-3, as alpha-2; an unknown one as it is."""
    if country is None or len(country) == 2:
        return None if country is None else country.upper()
    statement = "SELECT country FROM {table} WHERE country_iso3 = ?"
    rows = build.rows("countries", statement, country.upper())
    return str(rows[0][0]) if rows else country.upper()


def alpha_3(build: Build, country: str) -> str:
    """Return a country, given as alpha-2 or alpha-3, as alpha-3; an unknown one as it is."""
    if len(country) == 3:
        return country.upper()
    statement = "SELECT country_iso3 FROM {table} WHERE country = ?"
    rows = build.rows("countries", statement, country.upper())
    return str(rows[0][0]) if rows else country.upper()


def in_country(country: str | None) -> list[Condition]:
    """Match rows of a country, given as alpha-2 or alpha-3 in any case."""
    if country is None:
        return []
    return equal(**{"country" if len(country) == 2 else "country_iso3": country.upper()})


def between(name: str, from_: date | None, to: date | None) -> list[Condition]:
    """Match rows with a date between two days, both included."""
    bounds: list[Condition] = []
    if from_ is not None:
        bounds.append(Condition(f"{name} >= ?", (from_.isoformat(),), name, ">="))
    if to is not None:
        bounds.append(Condition(f"{name} <= ?", (to.isoformat(),), name, "<="))
    return bounds


def fetch_rows(
    build: Build,
    columns: str,
    table: str,
    where: Iterable[Condition],
    order: Order | None = None,
    limit: int | None = None,
    files: Sequence[FileReader] | None = None,
) -> SqlRows:
    """Read columns of the rows that match every condition, by default in the table's order.

    ``columns`` may begin with ``row``, the JSON; if the table is packed, that comes from the packs.
    """
    keyed = fetch_keyed(build, columns, table, where, order, limit, files=files)
    return [row for _, row in keyed]


def fetch_keyed(
    build: Build,
    columns: str,
    table: str,
    where: Iterable[Condition],
    order: Order | None = None,
    limit: int | None = None,
    after: Key | None = None,
    files: Sequence[FileReader] | None = None,
) -> KeyedRows:
    """Read rows as ``fetch_rows`` does, each with its key; only those after a key, if one is given.

    A key is valid for the build, the conditions and the order that it came with.
    """
    where = list(where)
    order = Order(IN_ORDER, _MERGED_BY[table]) if order is None else order
    files = files_for(build, table, where) if files is None else files
    with_row = _ROW_COLUMN.match(columns) is not None
    merged_by = columns_to_merge(build, table, where, order) if len(files) > 1 else ()
    begins = None if after is None else begin_after(table, files, order, merged_by, after)
    columns = f"{columns}, row_number"
    if len(files) == 1 and not (with_row and is_packed(table)):
        rows = select(files[0], columns, table, where, order, limit, begins)
        # The other tables have their rows as they are served.
        if with_row and (table in _DICTIONARIES or table in _OBJECTS):
            bodies = served_bodies(build, files[0], table, [row[0] for row in rows])
            rows = [(body, *row[1:]) for body, row in zip(bodies, rows, strict=True)]
        return [((files[0].label, str(row[-1])), row[:-1]) for row in rows]
    if with_row:
        # The body of a row is read only once it is known to be among the first.
        columns = _ROW_COLUMN.sub("row_number", columns)
    found = select_all(build, columns, table, files, where, order, merged_by, limit, begins)
    keys = [(file.label, str(row[-1])) for file, row in found]
    rows = with_bodies(build, table, found) if with_row else [row for _, row in found]
    return [(key, row[:-1]) for key, row in zip(keys, rows, strict=True)]


def with_bodies(build: Build, table: str, found: Found) -> SqlRows:
    """Return rows with their JSON in place of their numbers, read file by file."""
    readers = {file.label: file for file, _ in found}
    if len(readers) == 1:
        (file,) = readers.values()
        rows = _bodies(build, file, table, [row[0] for _, row in found])
        return [(body, *row[1:]) for body, (_, row) in zip(rows, found, strict=True)]
    numbers: dict[str, list[int]] = {label: [] for label in readers}
    for file, row in found:
        numbers[file.label].append(row[0])
    bodies = {
        label: iter(_bodies(build, readers[label], table, wanted))
        for label, wanted in numbers.items()
    }
    return [(next(bodies[file.label]), *row[1:]) for file, row in found]


def _bodies(build: Build, file: FileReader, table: str, numbers: Sequence[int]) -> list[bytes]:
    if is_packed(table):
        return rows_by_number(file, numbers)
    rows: dict[int, bytes] = {}
    for begin in range(0, len(numbers), _CHUNK):
        chunk = one_of("row_number", numbers[begin : begin + _CHUNK])
        statement = f"SELECT row_number, row FROM {table} WHERE {chunk.sql}"
        rows |= dict(file.run(statement, chunk.values))
    return served_bodies(build, file, table, [rows[number] for number in numbers])


def served_bodies(build: Build, file: FileReader, table: str, rows: Sequence[bytes]) -> list[bytes]:
    """Return the JSON of rows of a file as it is served."""
    bodies = _decompressed(build, file, table, rows)
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
    texts = _decompressed(build, file, table, [found[number] for number in numbers])
    objects = dict(zip(numbers, texts, strict=True))
    return [
        before + b",".join([objects[number] for number in cited]) + after
        for before, cited, after in parts
    ]


def _decompressed(build: Build, file: FileReader, table: str, rows: Iterable[bytes]) -> list[bytes]:
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


def distinct_values(
    build: Build, column: str, table: str, where: Sequence[Condition], limit: int
) -> list[str]:
    """Return the values of a text column in rows that match, in byte order."""
    order, values = Order(column), set[str]()
    for file in files_for(build, table, where):
        rows = select(file, f"DISTINCT {column}", table, where, order, limit)
        values.update(str(value) for (value,) in rows)
    return sorted(values)[:limit]


def latest_on(
    build: Build,
    table: str,
    column: str,
    key: str,
    as_of: date | None,
    limit: int | None,
    after: Key | None = None,
) -> RowPage:
    """Return the rows of a key that were the latest known on a day, from their packs."""
    key = storable(key)
    day = None if as_of is None else cap_at_today(as_of)
    place = None if after is None else (after[0], int(after[1]))
    found = latest_rows(build, table, key, day, limit, place)
    if found is None:
        where = [*equal(**{column: key}), *known_on(as_of)]
        return fetch_page(build, table, where, limit, after=after)
    rows, truncated = found
    return RowPage(rows, truncated, build.data_version, build.notice, _PackedKeys(rows))


@dataclass(frozen=True)
class _PackedKeys(Sequence[Key]):
    """Keys of packed rows, each made when it is needed: mostly only that of the last row is."""

    rows: PackedRows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        is_last = index == len(self.rows) - 1
        file, row_number = self.rows.place(-1 if is_last else index)
        return file.label, str(row_number)


def fetch_page(
    build: Build,
    table: str,
    where: Iterable[Condition],
    limit: int | None,
    order: Order | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return the rows that match every condition, at most ``limit``."""
    # One row more than the limit tells whether the page is truncated.
    one_more = None if limit is None else limit + 1
    keyed = fetch_keyed(build, "row", table, where, order, one_more, after)
    return make_page(build, [(key, row[0]) for key, row in keyed], limit)


def make_page(build: Build, rows: Sequence[tuple[Key, bytes]], limit: int | None) -> RowPage:
    """Return a page of rows that were fetched with one more than ``limit``."""
    within = rows if limit is None else rows[:limit]
    bodies, keys = [row for _, row in within], [key for key, _ in within]
    truncated = len(rows) > len(within)
    return RowPage(bodies, truncated, build.data_version, build.notice, keys)


def page_of(
    build: Build, rows: Sequence[bytes], limit: int | None, after: Key | None = None
) -> RowPage:
    """Return a page of a list that is always made as a whole, such as a ranking by relevance."""
    begin = 0 if after is None else int(after[0])
    numbered = [((str(number),), row) for number, row in enumerate(rows, 1)]
    return make_page(build, numbered[begin:], limit)
