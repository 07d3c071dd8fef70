"""Pages of rows, and the conditions that queries share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from re import compile as pattern
from typing import Any

from warehouse.mart.tables import MART_TABLES
from warehouse.read.bodies import has_own_form, served_bodies
from warehouse.read.conditions import IN_ORDER, Condition, Order
from warehouse.read.engines import FileReader, SqlRows
from warehouse.read.mart import Build
from warehouse.read.packs import (
    After,
    PackedRows,
    is_packed,
    latest_rows,
    rows_by_number,
)
from warehouse.read.several_files import Found, columns_to_merge, files_for, select, select_all
from warehouse.record.as_of import Vintages

_ROW_COLUMN = pattern(r"row\b")
_MERGED_BY = {table.name: table.merged_by for table in MART_TABLES}
# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500


@dataclass(frozen=True)
class RowPage:
    """Rows as JSON bytes, from one build; ``truncated`` if there are more.

    ``row_keys`` has, for tables that are paginated, each row's cursor key behind the row itself;
    ``last_key`` is the key of the last row.
    """

    rows: Sequence[bytes]
    truncated: bool
    data_version: str
    notice: str
    last_key: tuple[str, ...] | None = None
    row_keys: Sequence[tuple[Any, ...]] | None = None

    def key_of(self, number: int) -> tuple[str, ...] | None:
        """Return the cursor key of a row, counted from 1; None if the table has no cursors."""
        return None if self.row_keys is None else _key(self.row_keys[number - 1])

    def json_chunks(self) -> Sequence[bytes | memoryview]:
        """Return byte chunks that concatenate to comma-separated JSON rows."""
        rows = self.rows
        return rows.runs() if isinstance(rows, PackedRows) else [b",".join(rows)]

    def with_rows(self, rows: list[bytes]) -> "RowPage":
        """Return the same page with other rows."""
        return replace(self, rows=rows)


def cap_at_today(as_of: date) -> str:
    """Return a day as it is compared in SQL; a future day counts as today, in UTC."""
    # Nobody knows yet what will be known: the answer for a future day would change until then.
    return min(as_of, datetime.now(UTC).date()).isoformat()


def known_on(as_of: date | None, vintages: Vintages = "latest") -> list[Condition]:
    """Match rows that were known on ``as_of``; a row without a date never was."""
    published = [] if as_of is None else [Condition("available_at <= ?", (cap_at_today(as_of),))]
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
    where = list(where)
    order = Order(IN_ORDER, _MERGED_BY[table]) if order is None else order
    files = files_for(build, table, where) if files is None else files
    with_row = _ROW_COLUMN.match(columns) is not None
    if len(files) == 1 and not (with_row and is_packed(build, table)):
        rows = select(files[0], columns, table, where, order, limit)
        if with_row and has_own_form(table):
            bodies = served_bodies(build, files[0], table, [row[0] for row in rows])
            rows = [(body, *row[1:]) for body, row in zip(bodies, rows, strict=True)]
        return rows
    if with_row:
        # The body of a row is read only once it is known to be among the first.
        columns = _ROW_COLUMN.sub("row_number", columns)
    merged_by = columns_to_merge(build, table, where, order) if len(files) > 1 else ()
    found = select_all(build, columns, table, files, where, order, merged_by, limit)
    if not with_row:
        return [row for _, row in found]
    return with_bodies(build, table, found)


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
    if is_packed(build, table):
        return rows_by_number(build, file, table, numbers)
    rows: dict[int, bytes] = {}
    for begin in range(0, len(numbers), _CHUNK):
        chunk = one_of("row_number", numbers[begin : begin + _CHUNK])
        statement = f"SELECT row_number, row FROM {file.prefix}{table} WHERE {chunk.sql}"
        rows |= dict(file.run(statement, chunk.values))
    return served_bodies(build, file, table, [rows[number] for number in numbers])


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
    after: After = None,
) -> RowPage:
    """Return the rows of a key that were the latest known on a day, from their packs."""
    key = storable(key)
    day = None if as_of is None else cap_at_today(as_of)
    found = latest_rows(build, table, key, day, limit, after)
    if found is None:
        return fetch_page(build, table, [*equal(**{column: key}), *known_on(as_of)], limit)
    rows, truncated = found
    return RowPage(rows, truncated, build.data_version, build.notice)


def fetch_page(
    build: Build,
    table: str,
    where: Iterable[Condition],
    limit: int | None,
    order: Order | None = None,
) -> RowPage:
    """Return the rows that match every condition, at most ``limit``."""
    # One row more than the limit tells whether the page is truncated.
    one_more = None if limit is None else limit + 1
    return make_page(build, fetch_rows(build, "row", table, where, order, one_more), limit)


def make_page(build: Build, rows: SqlRows, limit: int | None, keys: bool = False) -> RowPage:
    """Return a page of rows that were fetched with one more than ``limit``.

    With ``keys``, the columns behind the JSON are each row's cursor key.
    """
    within = rows if limit is None else rows[:limit]
    last_key = _key(within[-1]) if within and keys else None
    row_keys = within if keys else None
    bodies = [row[0] for row in within]
    truncated = len(rows) > len(within)
    return RowPage(bodies, truncated, build.data_version, build.notice, last_key, row_keys)


def _key(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the columns behind the JSON, as text for a cursor."""
    return tuple(str(value) for value in row[1:])
