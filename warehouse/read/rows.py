"""What a read gives, and the few conditions that all reads share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from re import compile as pattern
from typing import Any

from warehouse.read.engines import SqlRows
from warehouse.read.mart import Build
from warehouse.read.packs import PACK_TABLES, PackedRows, latest_rows, rows_by_number
from warehouse.record.as_of import Vintages

_ROW = pattern(r"row\b")


@dataclass(frozen=True)
class RowPage:
    """Rows as JSON bytes, from one build. ``truncated`` says that there are more.

    ``last_key`` is the place of the last row where rows can be walked page by page.
    """

    rows: Sequence[bytes]
    truncated: bool
    data_version: str
    notice: str
    last_key: tuple[str, ...] | None = None
    keyed: Sequence[tuple[Any, ...]] | None = None

    def key_of(self, number: int) -> tuple[str, ...] | None:
        """Give the place of a row, counted from 1; None where rows cannot be walked."""
        return None if self.keyed is None else _key(self.keyed[number - 1])

    def pieces(self) -> Sequence[bytes | memoryview]:
        """Give what, put together, is the rows with a comma between any two."""
        rows = self.rows
        return rows.runs() if isinstance(rows, PackedRows) else [b",".join(rows)]

    def written(self, rows: list[bytes]) -> "RowPage":
        """Give the same answer with its rows written otherwise."""
        return replace(self, rows=rows)


@dataclass(frozen=True)
class Condition:
    """One condition with its values."""

    sql: str
    values: tuple[object, ...] = ()


def cap_at_today(as_of: date) -> str:
    """Give a day as it is compared; one that has not come is today, in UTC."""
    return min(as_of, datetime.now(UTC).date()).isoformat()


def known_on(as_of: date | None, vintages: Vintages = "latest") -> list[Condition]:
    """Keep what anyone could have known on ``as_of``; a row without a date never is."""
    published = [] if as_of is None else [Condition("available_at <= ?", (cap_at_today(as_of),))]
    if vintages == "all":
        return published
    if vintages == "as_reported":
        return [*published, Condition("vintage = 1 AND withdrawn = 0")]
    if as_of is None:
        return [Condition("latest = 1")]
    return [*published, Condition("superseded_at > ? AND withdrawn = 0", (cap_at_today(as_of),))]


def equal(**asked: str | None) -> list[Condition]:
    """Keep rows with the values that were asked for."""
    return [
        Condition(f"{name} = ?", (storable(value),))
        for name, value in asked.items()
        if value is not None
    ]


def one_of(name: str, values: Sequence[object]) -> Condition:
    """Keep rows with one of some values."""
    return Condition(f"{name} IN ({', '.join('?' * len(values))})", tuple(values))


def storable(text: str) -> str:
    """Give a text as it is stored: without a NUL, and of what UTF-8 can write."""
    return text.replace("\0", "\u2400").encode(errors="replace").decode()


def in_country(country: str | None) -> list[Condition]:
    """Keep rows of a country, given as alpha-2 or alpha-3 in any case."""
    if country is None:
        return []
    return equal(**{"country" if len(country) == 2 else "country_iso3": country.upper()})


def between(name: str, from_: date | None, to: date | None) -> list[Condition]:
    """Keep days between two days, both included."""
    bounds = ((f"{name} >= ?", from_), (f"{name} <= ?", to))
    return [Condition(sql, (day.isoformat(),)) for sql, day in bounds if day is not None]


def fetch_rows(
    build: Build,
    columns: str,
    table: str,
    where: Iterable[Condition],
    order: str = "place",
    limit: int | None = None,
) -> SqlRows:
    """Read columns of the rows that meet every condition, in an order."""
    where = list(where)
    conditions = " AND ".join(each.sql for each in where) or "1 = 1"
    values = [value for each in where for value in each.values]
    most = "" if limit is None else f" LIMIT {limit:d}"
    asked = f"FROM {table} WHERE {conditions} ORDER BY {order}{most}"
    if table not in PACK_TABLES or not _ROW.match(columns):
        return build.rows(f"SELECT {columns} {asked}", *values)
    held = build.rows(f"SELECT {_ROW.sub('place', columns)} {asked}", *values)
    rows = rows_by_number(build, table, [place for place, *_ in held])
    return [(row, *rest) for row, (_, *rest) in zip(rows, held, strict=True)]


def latest_on(
    build: Build, table: str, name: str, as_of: date | None, limit: int | None, after: int = 0
) -> RowPage:
    """Read the rows of a name that were the latest known on a day, from their packs."""
    day = None if as_of is None else cap_at_today(as_of)
    rows, more = latest_rows(build, table, storable(name), day, limit, after)
    return RowPage(rows, more, build.data_version, build.notice)


def fetch_page(
    build: Build,
    table: str,
    where: Iterable[Condition],
    limit: int | None,
    order: str = "place",
) -> RowPage:
    """Read rows in an order; one more than ``limit`` is looked for and not given."""
    return make_page(build, fetch_rows(build, "row", table, where, order, _one_more(limit)), limit)


def make_page(build: Build, held: SqlRows, limit: int | None, keys: bool = False) -> RowPage:
    """Give as many as were asked for of what was looked for; keys follow the row itself."""
    kept = held if limit is None else held[:limit]
    last = _key(kept[-1]) if kept and keys else None
    keyed = kept if keys else None
    rows = [row[0] for row in kept]
    return RowPage(rows, len(held) > len(kept), build.data_version, build.notice, last, keyed)


def _key(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Give the columns behind the row itself, as a cursor keeps them."""
    return tuple(str(each) for each in row[1:])


def _one_more(limit: int | None) -> int | None:
    return None if limit is None else limit + 1
