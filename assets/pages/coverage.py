"""What a dataset covers, by country and year, and how fresh each of its sources is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pycountry

from assets.pages.cards import Card
from warehouse.mart.snapshot import Snapshot

# Older years share one column: a grid must fit a screen.
_YEARS = 16
_SHADES = 5


@dataclass(frozen=True)
class Cell:
    """One cell of a grid: what it says, and how dark it is from 0 to 5."""

    text: str
    shade: int


@dataclass(frozen=True)
class Grid:
    """Countries down, years across."""

    years: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Fresh:
    """One source: how many rows it has, and when it last had something new."""

    name: str
    rows: int
    available_at: date | None
    observed_at: datetime | None


def country_name(code: str | None) -> str:
    """Name a country; what has no country is an area or is not known."""
    found = pycountry.countries.get(alpha_2=code) if code else None
    return str(getattr(found, "common_name", found.name)) if found else (code or "no country")


def grid(snapshot: Snapshot, card: Card) -> Grid | None:
    """Count what a card covers; None where it is not by country."""
    if card.grid is None:
        return None
    found = snapshot.read(
        "SELECT country, year, sum(n)::DOUBLE AS n, "
        + ("sum(total)::DOUBLE" if card.panel else "NULL::DOUBLE")
        + f" AS total FROM ({card.grid}) GROUP BY ALL ORDER BY ALL"
    ).to_pylist()
    if not found:
        return Grid((), ())
    last = max(row["year"] for row in found)
    first = max(min(row["year"] for row in found), last - _YEARS + 1)
    early = any(row["year"] < first for row in found)
    sums: dict[tuple[str | None, int], tuple[float, float]] = {}
    for row in found:
        place = (row["country"], max(row["year"], first - 1))
        n, total = sums.get(place, (0.0, 0.0))
        sums[place] = n + (row["n"] or 0), total + (row["total"] or 0)
    years = range(first - early, last + 1)
    most = max((n for n, _ in sums.values()), default=0)
    return Grid(
        tuple("earlier" if year < first else str(year) for year in years),
        tuple(
            (
                code or "–",
                country_name(code),
                tuple(_cell(sums, code, y, most, card) for y in years),
            )
            for code in sorted({code for code, _ in sums}, key=lambda code: country_name(code))
        ),
    )


def _cell(
    sums: Mapping[tuple[str | None, int], tuple[float, float]],
    code: str | None,
    year: int,
    most: float,
    card: Card,
) -> Cell:
    if (code, year) not in sums:
        return Cell("", 0)
    n, total = sums[code, year]
    if card.panel is not None:
        share = n / total if total else 0.0
        return Cell(f"{share:.0%}", round(share * _SHADES))
    # Counts differ by powers of ten between countries: so do the shades.
    return Cell(short(n), 1 + min(_SHADES - 1, int(_SHADES * (n / most) ** 0.5)) if n else 0)


def short(number: float) -> str:
    """Write a count in at most five characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.0f}{letter}" if scaled >= 10 else f"{scaled:.1f}{letter}"
    return f"{number:.0f}"


def freshness(snapshot: Snapshot, card: Card) -> tuple[Fresh, ...]:
    """Say of each source when it last had something new."""
    rows = snapshot.read(card.fresh).to_pylist()
    return tuple(
        Fresh(row["name"], int(row["n"]), row["available_at"], row["observed_at"]) for row in rows
    )


def shown(value: Any, longest: int = 60) -> str | None:
    """Write a value for a cell of a table; None stays None, which a page shows as null."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%SZ")
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
