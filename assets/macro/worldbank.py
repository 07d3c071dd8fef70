"""World Bank Indicators v2: pages of ``[meta, rows]``, one indicator, all years.

The source says when its whole database was updated and never when a value was released: the
update is the publication, and ``available_at`` stays unknown.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from assets.exact import (
    calendar_day,
    members_of,
    number,
    number_in,
    pointer,
    read_json,
    text_of,
)
from assets.macro.areas import Area, area_of, was_country
from assets.macro.calendars import period_of
from assets.parsed import Parsed, provenance
from warehouse.landing import Document
from warehouse.record.tables import MACRO_ANNUAL

_YEAR = re.compile(r"[0-9]{4}")
_IN_BRACKETS = re.compile(r"\(([^()]+)\)")
_BASE = re.compile(r"\b([0-9]{4})\s*=\s*100\b")


def parse(document: Document, body: bytes) -> Parsed:
    """Read one page; aggregates and years without a value are counted, and left out."""
    parsed = Parsed()
    try:
        updated, rows = _open(body)
    except ValueError as error:
        parsed.reject(MACRO_ANNUAL, document, "", str(error))
        return parsed
    for position, row in enumerate(rows):
        place = pointer(1, position)
        try:
            observed = _row(members_of(row))
        except ValueError as error:
            parsed.reject(MACRO_ANNUAL, document, place, str(error))
            continue
        shared = provenance(document, place, "api")
        parsed.add(
            MACRO_ANNUAL, [shared | observed | {"available_at": None, "publication": updated}]
        )
    return parsed


def missing_pages(metas: Iterable[Mapping[str, Any]]) -> list[int]:
    """Name the pages that were not fetched; a pull is complete where none is missing.

    ``metas`` are the first elements of the pages fetched; page numbers may be text.
    """
    seen: set[int] = set()
    pages = 1
    for meta in metas:
        seen.add(int(meta["page"]))
        pages = max(pages, int(meta["pages"]))
    return [page for page in range(1, pages + 1) if page not in seen]


def unit_in(name: object) -> tuple[str | None, str | None]:
    """Take the unit, and the base of an index, from the brackets in an indicator's name.

    ``GDP (current US$)`` is in current US$; ``Consumer price index (2010 = 100)`` has a base.
    """
    parts = _IN_BRACKETS.findall(name) if isinstance(name, str) else []
    unit = "; ".join(part.strip() for part in parts if part.isprintable()) or None
    base = _BASE.search(unit) if unit else None
    return unit, f"{base[1]}=100" if base else None


def observation(area: Area, year: str, value: Decimal) -> dict[str, Any]:
    """Give the columns of one value of one country and year."""
    if not _YEAR.fullmatch(year):
        raise ValueError(f"{year!r:.20} is not a year")
    (first, last), _ = period_of(year)
    return {
        "country": area[0],
        "country_iso3": area[1],
        "period_start": first,
        "period_end": last,
        "value": value,
    }


def country(*codes: object) -> Area:
    """Give the country that the first code given names; an aggregate is none."""
    code = next((str(code) for code in codes if code), "")
    if not code:
        raise ValueError("no country given")
    area = area_of(code)
    if area is None and was_country(code):
        raise ValueError(f"a country that is no more: {code!r:.20}")
    if area is None:
        raise ValueError(f"aggregate, not a country: {code!r:.20}")
    return area


def _open(body: bytes) -> tuple[str, list[Any]]:
    page = read_json(body)
    if not isinstance(page, list) or not page or not isinstance(page[0], dict):
        raise ValueError("the document is not a page of the World Bank")
    meta = page[0]
    if "message" in meta:
        raise ValueError(f"the source answered with an error: {meta['message']!r:.200}")
    if len(page) != 2 or not isinstance(page[1], list):
        raise ValueError("the page holds no rows: the source has nothing for this question")
    if "lastupdated" not in meta:
        raise ValueError("the page does not say when it was updated: no page of observations")
    return calendar_day(meta["lastupdated"]).isoformat(), page[1]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    indicator, place = members_of(row.get("indicator")), members_of(row.get("country"))
    area = country(row.get("countryiso3code"), place.get("id"))
    if row.get("value") is None:
        raise ValueError("no value given")
    unit, base = unit_in(indicator.get("value"))
    return {
        **observation(area, str(row.get("date")), _value(row["value"])),
        "indicator": text_of(indicator.get("id")),
        "unit": row.get("unit") or unit,
        "base_period": base,
        "obs_status": row.get("obs_status") or None,
    }


def _value(value: object) -> Decimal:
    """Take a number; answers of older days write it as text."""
    return number_in(value) if isinstance(value, str) else number(value)
