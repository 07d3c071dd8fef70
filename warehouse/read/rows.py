"""What a read gives, and the few conditions that all reads share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from warehouse.read.engines import Found
from warehouse.read.mart import Build
from warehouse.record.as_of import Vintages


@dataclass(frozen=True)
class Rows:
    """Rows as JSON bytes, from one build. ``truncated`` says that there are more.

    ``last_key`` is the place of the last row where rows can be walked page by page.
    """

    rows: list[bytes]
    truncated: bool
    data_version: str
    notice: str
    last_key: tuple[str, ...] | None = None

    def written(self, rows: list[bytes]) -> "Rows":
        """Give the same answer with its rows written otherwise."""
        return replace(self, rows=rows)


@dataclass(frozen=True)
class Where:
    """One condition with its values."""

    sql: str
    values: tuple[object, ...] = ()


def by_today(as_of: date) -> str:
    """Give a day as it is compared; one that has not come is today, in UTC."""
    return min(as_of, datetime.now(UTC).date()).isoformat()


def known_on(as_of: date | None, vintages: Vintages = "latest") -> list[Where]:
    """Keep what anyone could have known on ``as_of``; a row without a date never is."""
    published = [] if as_of is None else [Where("available_at <= ?", (by_today(as_of),))]
    if vintages == "all":
        return published
    if vintages == "as_reported":
        return [*published, Where("vintage = 1 AND withdrawn = 0")]
    if as_of is None:
        return [Where("latest = 1")]
    return [*published, Where("superseded_at > ? AND withdrawn = 0", (by_today(as_of),))]


def equal(**asked: str | None) -> list[Where]:
    """Keep rows with the values that were asked for."""
    return [
        Where(f"{name} = ?", (storable(value),))
        for name, value in asked.items()
        if value is not None
    ]


def one_of(name: str, values: Sequence[object]) -> Where:
    """Keep rows with one of some values."""
    return Where(f"{name} IN ({', '.join('?' * len(values))})", tuple(values))


def storable(text: str) -> str:
    """Give a text as it is stored: without a NUL, and of what UTF-8 can write."""
    return text.replace("\0", "\u2400").encode(errors="replace").decode()


def in_country(country: str | None) -> list[Where]:
    """Keep rows of a country, given as alpha-2 or alpha-3 in any case."""
    if country is None:
        return []
    return equal(**{"country" if len(country) == 2 else "country_iso3": country.upper()})


def between(name: str, from_: date | None, to: date | None) -> list[Where]:
    """Keep days between two days, both included."""
    bounds = ((f"{name} >= ?", from_), (f"{name} <= ?", to))
    return [Where(sql, (day.isoformat(),)) for sql, day in bounds if day is not None]


def found(
    build: Build,
    columns: str,
    table: str,
    where: Iterable[Where],
    order: str = "place",
    limit: int | None = None,
) -> Found:
    """Read columns of the rows that meet every condition, in an order."""
    where = list(where)
    conditions = " AND ".join(each.sql for each in where) or "1 = 1"
    values = [value for each in where for value in each.values]
    most = "" if limit is None else f" LIMIT {limit:d}"
    statement = f"SELECT {columns} FROM {table} WHERE {conditions} ORDER BY {order}{most}"
    return build.rows(statement, *values)


def select(
    build: Build,
    table: str,
    where: Iterable[Where],
    limit: int | None,
    order: str = "place",
) -> Rows:
    """Read rows in an order; one more than ``limit`` is looked for and not given."""
    return cut(build, found(build, "row", table, where, order, _one_more(limit)), limit)


def cut(build: Build, held: Found, limit: int | None, keys: bool = False) -> Rows:
    """Give as many as were asked for of what was looked for; keys follow the row itself."""
    kept = held if limit is None else held[:limit]
    last = tuple(str(each) for each in kept[-1][1:]) if kept and keys else None
    rows = [row[0] for row in kept]
    return Rows(rows, len(held) > len(kept), build.data_version, build.notice, last)


def _one_more(limit: int | None) -> int | None:
    return None if limit is None else limit + 1
