"""Coverage of a dataset by country and year, and freshness of its sources."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from assets.pages.cards import Card
from warehouse.mart.snapshot import Snapshot
from warehouse.site.formats import country_name

# Older years share one column, so that a grid fits a screen.
_MAX_YEARS = 16
_SHADES = 5


@dataclass(frozen=True)
class GridCell:
    """One cell of a grid: its text, and its shade from 0 to 5."""

    text: str
    shade: int


@dataclass(frozen=True)
class CoverageGrid:
    """A table with a row per country (code, name, cells) and a column per year."""

    years: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[GridCell, ...]], ...]


@dataclass(frozen=True)
class SourceFreshness:
    """One source: its number of rows, and when it last had something new."""

    name: str
    rows: int
    available_at: date | None
    observed_at: datetime | None


def coverage_grid(snapshot: Snapshot, card: Card) -> CoverageGrid | None:
    """Return the coverage of a card; None if it is not by country."""
    if card.coverage_sql is None:
        return None
    rows = snapshot.read(
        "SELECT country, year, sum(n)::DOUBLE AS n, "
        + ("sum(total)::DOUBLE" if card.panel else "NULL::DOUBLE")
        + f" AS total FROM ({card.coverage_sql}) GROUP BY ALL ORDER BY ALL"
    ).to_pylist()
    if not rows:
        return CoverageGrid((), ())
    last = max(row["year"] for row in rows)
    first = max(min(row["year"] for row in rows), last - _MAX_YEARS + 1)
    has_earlier = any(row["year"] < first for row in rows)
    sums: dict[tuple[str | None, int], tuple[float, float]] = {}
    for row in rows:
        # All older years fall into the one column before the first.
        key = (row["country"], max(row["year"], first - 1))
        n, total = sums.get(key, (0.0, 0.0))
        sums[key] = n + (row["n"] or 0), total + (row["total"] or 0)
    years = range(first - has_earlier, last + 1)
    largest = max((n for n, _ in sums.values()), default=0)
    return CoverageGrid(
        tuple("earlier" if year < first else str(year) for year in years),
        tuple(
            (
                code or "–",
                country_name(code),
                tuple(_cell(sums, code, year, largest, card) for year in years),
            )
            for code in sorted({code for code, _ in sums}, key=lambda code: country_name(code))
        ),
    )


def _cell(
    sums: Mapping[tuple[str | None, int], tuple[float, float]],
    code: str | None,
    year: int,
    largest: float,
    card: Card,
) -> GridCell:
    if (code, year) not in sums:
        return GridCell("", 0)
    n, total = sums[code, year]
    if card.panel is not None:
        share = n / total if total else 0.0
        return GridCell(f"{share:.0%}", round(share * _SHADES))
    # Counts differ by powers of ten between countries: a square root keeps small ones visible.
    return GridCell(
        short_count(n), 1 + min(_SHADES - 1, int(_SHADES * (n / largest) ** 0.5)) if n else 0
    )


def short_count(number: float) -> str:
    """Format a count in at most five characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.0f}{letter}" if scaled >= 10 else f"{scaled:.1f}{letter}"
    return f"{number:.0f}"


def freshness(snapshot: Snapshot, card: Card) -> tuple[SourceFreshness, ...]:
    """Return the freshness of each source of a card."""
    rows = snapshot.read(card.freshness_sql).to_pylist()
    return tuple(
        SourceFreshness(row["name"], int(row["n"]), row["available_at"], row["observed_at"])
        for row in rows
    )


def format_cell(value: Any, max_length: int = 60) -> str | None:
    """Format a value for a table cell; None stays None, which a page shows as null."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        # Not str: a small Decimal would come out as 1E-7.
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%SZ")
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
