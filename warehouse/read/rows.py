"""Pages of rows, and the conditions that queries share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from re import compile as pattern
from typing import Any

from warehouse.read.engines import SqlRows
from warehouse.read.mart import Build
from warehouse.read.packs import PACK_TABLES, PackedRows, latest_rows, rows_by_number
from warehouse.record.as_of import Vintages

_ROW_COLUMN = pattern(r"row\b")


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


@dataclass(frozen=True)
class Condition:
    """An SQL condition with the values of its placeholders."""

    sql: str
    values: tuple[object, ...] = ()


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
        Condition(f"{name} = ?", (storable(value),))
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
    bounds = ((f"{name} >= ?", from_), (f"{name} <= ?", to))
    return [Condition(sql, (day.isoformat(),)) for sql, day in bounds if day is not None]


def fetch_rows(
    build: Build,
    columns: str,
    table: str,
    where: Iterable[Condition],
    order: str = "row_number",
    limit: int | None = None,
) -> SqlRows:
    """Read columns of the rows that match every condition.

    ``columns`` may begin with ``row``, the JSON; if the table is packed, that comes from the packs.
    """
    where = list(where)
    conditions = " AND ".join(condition.sql for condition in where) or "1 = 1"
    values = [value for condition in where for value in condition.values]
    limited = "" if limit is None else f" LIMIT {limit:d}"
    source = f"FROM {table} WHERE {conditions} ORDER BY {order}{limited}"
    if table not in PACK_TABLES or not _ROW_COLUMN.match(columns):
        return build.query(f"SELECT {columns} {source}", *values)
    keys = build.query(f"SELECT {_ROW_COLUMN.sub('row_number', columns)} {source}", *values)
    rows = rows_by_number(build, table, [number for number, *_ in keys])
    return [(row, *others) for row, (_, *others) in zip(rows, keys, strict=True)]


def latest_on(
    build: Build, table: str, key: str, as_of: date | None, limit: int | None, after: int = 0
) -> RowPage:
    """Return the rows of a key that were the latest known on a day, from their packs."""
    day = None if as_of is None else cap_at_today(as_of)
    rows, truncated = latest_rows(build, table, storable(key), day, limit, after)
    return RowPage(rows, truncated, build.data_version, build.notice)


def fetch_page(
    build: Build,
    table: str,
    where: Iterable[Condition],
    limit: int | None,
    order: str = "row_number",
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
