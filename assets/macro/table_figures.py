"""One figure of a table: what is stated where, and the row of the record that it becomes."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from assets.macro.iso_codes import Area, area_named, area_of
from assets.macro.periods import Span, span_from
from assets.macro.table_files import AREA_IN_KEY, PeriodColumns, TableEntry, TableSeries
from assets.macro.written_numbers import written_number
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.tables import clean
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.tables import FIRST_READ

# What publishers write where there is no value, and beside one.
_NO_VALUE = frozenset({"", "-", "--", "–", "—", ".", "..", "...", "n/a", "na", "nan"})
_MARKS = re.compile(r"(?<=[0-9])\s*(%|\*+|\([rpe]\)|[rpe])$", re.IGNORECASE)


@dataclass(frozen=True)
class Figure:
    """What a cell states; ``year_text`` is what stands above it, perhaps with a mark.

    ``area`` is the cell that names its country, if the declaration names a column for it;
    ``problem`` says why the cell, or the row that begins with it, cannot be read.
    """

    location: str
    series: TableSeries
    text: str
    span: Span
    frequency: str
    base: str | None = None
    year_text: str = ""
    area: str = ""
    problem: str | None = None


def add_figure(parsed: Parsed, document: Document, entry: TableEntry, figure: Figure) -> None:
    """Add the row of a figure, or the reason why there is none; nothing for an empty cell."""
    if not has_value(figure.text):
        return
    observed_on = document.observed_at.astimezone(UTC).date()
    series, span = figure.series, figure.span
    text, mark = _without_mark(entry, clean(figure.text))
    try:
        if figure.problem:
            raise ValueError(figure.problem)
        area = _area(entry, figure)
        value = written_number(_MARKS.sub("", text), entry.decimal)
        if span[0] > observed_on:
            raise ValueError(f"the period begins after it was read, on {observed_on}")
    except ValueError as error:
        parsed.reject(MACRO_SERIES, document, figure.location, f"{series.key}: {error}")
        return
    mark = mark or _without_mark(entry, clean(figure.year_text))[1]
    row: dict[str, Any] = {
        **provenance(document, figure.location, "file"),
        "available_at": observed_on,
        "available_at_evidence": FIRST_READ,
        "publication": observed_on.isoformat(),
        "country": area[0],
        "country_iso3": area[1],
        "series": series.key.replace(AREA_IN_KEY, area[1]),
        "series_type": series.type,
        "frequency": figure.frequency,
        "period_start": span[0],
        "period_end": span[1],
        "value": value,
        "unit": series.unit,
        "base_period": figure.base,
        "obs_status": entry.marks[mark] if mark else None,
    }
    parsed.add(MACRO_SERIES, [row])


def _without_mark(entry: TableEntry, text: str) -> tuple[str, str | None]:
    """Return a text without the declared mark at its end, and the mark."""
    for mark in entry.marks:
        if text.endswith(mark):
            return text.removesuffix(mark).strip(), mark
    return text, None


def _area(entry: TableEntry, figure: Figure) -> Area:
    if entry.area is not None:
        return stated_area(figure.area)
    area = area_of(figure.series.country or entry.country or "")
    assert area is not None
    return area


def stated_area(text: str) -> Area:
    """Return the country that a cell names or codes; raise if it is none that we know."""
    area = area_named(text) or area_of(text)
    if area is None:
        raise ValueError(f"{text!r:.60} is no country that we know")
    return area


def has_value(text: str) -> bool:
    """Return whether a cell states a value."""
    return clean(text).casefold() not in _NO_VALUE


def stated_span(period: PeriodColumns, text: str) -> Span:
    """Return the days of a period in one of the declared forms; raise if it is in none."""
    for word, replacement in period.words.items():
        text = text.replace(word, replacement)
    first = parsed_day(text, period.formats)
    if first is None:
        raise ValueError(f"{text!r:.60} is no period in any form that is declared")
    return span_from(first.date(), period.frequency)


@lru_cache(maxsize=1 << 12)
def parsed_day(text: str, formats: tuple[str, ...]) -> datetime | None:
    """Return the time that a text states in one of the forms; None if in none."""
    for form in formats:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def is_of_series(cells: dict[str, str], series: TableSeries) -> bool:
    """Return whether the cells of a row are as ``where`` of a series says."""
    for name, values in series.where.items():
        wanted = (values,) if isinstance(values, str) else values
        if cells[name].casefold() not in map(str.casefold, wanted):
            return False
    return True
