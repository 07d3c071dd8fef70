"""What a read gives, and the few conditions that all reads share."""

from dataclasses import dataclass
from datetime import date

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


@dataclass(frozen=True)
class Where:
    """One condition with its values."""

    sql: str
    values: tuple[str, ...] = ()


def known_on(as_of: date | None, vintages: Vintages = "latest") -> list[Where]:
    """Keep what anyone could have known on ``as_of``; a row without a date never is."""
    published = [] if as_of is None else [Where("available_at <= ?", (as_of.isoformat(),))]
    if vintages == "all":
        return published
    if vintages == "as_reported":
        return [*published, Where("vintage = 1 AND withdrawn = 0")]
    if as_of is None:
        return [Where("latest = 1")]
    still = "(superseded_at IS NULL OR superseded_at > ?) AND withdrawn = 0"
    return [*published, Where(still, (as_of.isoformat(),))]


def equal(**asked: str | None) -> list[Where]:
    """Keep rows with the values that were asked for."""
    return [Where(f"{name} = ?", (value,)) for name, value in asked.items() if value is not None]


def in_country(country: str | None) -> list[Where]:
    """Keep rows of a country, given as alpha-2 or alpha-3 in any case."""
    if country is None:
        return []
    return [Where(f"{'country' if len(country) == 2 else 'country_iso3'} = ?", (country.upper(),))]


def ending(from_: date | None, to: date | None) -> list[Where]:
    """Keep periods that end between two days, both included."""
    bounds = (("period_end >= ?", from_), ("period_end <= ?", to))
    return [Where(sql, (day.isoformat(),)) for sql, day in bounds if day is not None]


def select(
    build: Build, table: str, where: list[Where], order: str, limit: int | None, keys: str = ""
) -> Rows:
    """Read rows in an order; one more than ``limit`` is looked for and not given."""
    conditions = " AND ".join(each.sql for each in where) or "TRUE"
    values = [value for each in where for value in each.values]
    statement = f"SELECT row{keys} FROM {table} WHERE {conditions} ORDER BY {order} LIMIT ?"
    found = build.connection.execute(statement, (*values, -1 if limit is None else limit + 1))
    held = found.fetchall()
    kept = held if limit is None else held[:limit]
    last = kept[-1][1:] if kept and keys else None
    return Rows(
        [row[0] for row in kept], len(held) > len(kept), build.data_version, build.notice, last
    )
