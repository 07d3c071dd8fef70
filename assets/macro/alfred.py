"""FRED and ALFRED observations: each value with the days on which it was the known one.

``realtime_start`` is when the public could read a value. A point in the place of a value says that
there was none from that day on: what stood before was withdrawn.
"""

import csv
from typing import Any

from assets.macro.alfred_answers import Stated, open_answer, series_id, stated_in
from assets.macro.alfred_series import Series, versions_of, within
from assets.macro.areas import area_of
from assets.macro.calendars import Span, span_from
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, number_in
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES

__all__ = ["parse", "series_id"]

_NONE = (".", "", None)


def parse(document: Document, body: bytes) -> Parsed:
    """Read the vintages of one series; the series is known by the document's address."""
    parsed = Parsed()
    try:
        name, entries = open_answer(document, body)
        versions = versions_of(name, document.headers)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    stated: list[Stated] = []
    for place, entry in entries:
        try:
            stated += stated_in(place, entry)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
    known: dict[tuple[Any, ...], str] = {}
    for each in sorted(stated, key=lambda each: (str(each.day), each.start)):
        try:
            rows = _rows(name, each, versions, known)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, each.place, str(error))
            continue
        shared = provenance(document, each.place, "api")
        parsed.add(MACRO_SERIES, [shared | row for row in rows])
    return parsed


def _rows(
    name: str, stated: Stated, versions: list[Series], known: dict[tuple[Any, ...], str]
) -> list[dict[str, Any]]:
    """Give a row for each unit in which a value was known; ``known`` says since when."""
    rows: list[dict[str, Any]] = []
    withdrawn = stated.value in _NONE
    for start, series in within(versions, stated.start, stated.end):
        span = span_from(calendar_day(stated.day), series.frequency)
        if start < span[0].isoformat():
            raise ValueError(f"a projection: the period begins after it was published, on {start}")
        figure = (span, series.unit, series.base_period)
        if known.get(figure) == start:
            raise ValueError(f"another value of this period is known from {start} on")
        if withdrawn and figure not in known:
            continue
        value = None if withdrawn else number_in(stated.value)
        known[figure] = start
        rows.append(_row(name, series, span, start) | {"value": value, "withdrawn": withdrawn})
    if not rows:
        raise ValueError("no value given")
    return rows


def _row(name: str, series: Series, span: Span, start: str) -> dict[str, Any]:
    area = area_of(series.country) if series.country else None
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": f"FRED.{name}",
        "series_type": series.series_type,
        "frequency": series.frequency,
        "unit": series.unit,
        "base_period": series.base_period,
        "obs_status": None,
        "available_at": calendar_day(start),
        "publication": start,
        "period_start": span[0],
        "period_end": span[1],
    }
