"""World Bank indicators: pages of the API, and long CSV files.

A page of Indicators v2 is ``[meta, rows]``: one indicator, all years. The source says when its
whole database was updated, never when a value was released: the update is the publication, and
``available_at`` stays unknown.

A long file has ``Country Code, Year, Value`` and is one vintage of one indicator. It does not state
its day, and seldom its indicator: the document's headers ``indicator``, ``unit``, ``base-period``
and ``vintage`` do, as whoever fetched it knew. The base of an index it states by its values alone:
an index is 100 in its base year, by definition and in every country.
"""

import csv
import re
from collections import defaultdict
from datetime import date
from decimal import Decimal
from io import StringIO
from typing import Any

from assets.macro.iso_codes import is_former_country
from assets.macro.periods import period_of
from assets.parsing import strict
from assets.parsing.parsed import Parsed, provenance
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_ANNUAL
from warehouse.shared.countries import Area, area_of

# Country, year and unit of World Bank indicators, shared by both formats.


_FOUR_DIGITS = re.compile(r"[0-9]{4}")
_IN_BRACKETS = re.compile(r"\(([^()]+)\)")
_BASE = re.compile(r"\b([0-9]{4})\s*=\s*100\b")


def _unit_in(name: object) -> tuple[str | None, str | None]:
    """Return the unit, and the base of an index, from the brackets in an indicator's name.

    ``GDP (current US$)`` is in current US$; ``Consumer price index (2010 = 100)`` has a base.
    """
    parts = _IN_BRACKETS.findall(name) if isinstance(name, str) else []
    unit = "; ".join(part.strip() for part in parts if part.isprintable()) or None
    base = _BASE.search(unit) if unit else None
    return unit, f"{base[1]}=100" if base else None


def _observation(area: Area, year: str, value: Decimal) -> dict[str, Any]:
    """Return the columns of one value of one country and year."""
    if not _FOUR_DIGITS.fullmatch(year):
        raise ValueError(f"{year!r:.20} is not a year")
    (first, last), _ = period_of(year)
    return {
        "country": area[0],
        "country_iso3": area[1],
        "period_start": first,
        "period_end": last,
        "value": value,
    }


def _country(stated: object) -> Area:
    """Return the country of a code; raise for an aggregate."""
    if not stated:
        raise ValueError("no country given")
    code = str(stated)
    area = area_of(code)
    if area is None:
        # The quarantine says which of the two was left out.
        is_former = is_former_country(code)
        what = "a country that is no more" if is_former else "aggregate, not a country"
        raise ValueError(f"{what}: {code!r:.20}")
    return area


# How a URL asks for one page of several, live and in a folder.
_PAGE_IN_URL = re.compile(r"[?&/]page[=-]([0-9]+)")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse a document of either format; aggregates and years without a value are rejected."""
    text = body[: 1 << 16].decode("utf-8-sig", "replace")
    is_long = text.lstrip()[:1] not in ("[", "{", "<", "", "\ufffd")
    return _parse_long(document, body) if is_long else _page(document, body)


def _page(document: Document, body: bytes) -> Parsed:
    parsed = Parsed()
    with parsed.rejecting(MACRO_ANNUAL, document):
        updated, rows = _read_page(document, body)
        for position, row in enumerate(rows):
            location = strict.json_pointer(1, position)
            with parsed.rejecting(MACRO_ANNUAL, document, location):
                columns = _page_row(strict.json_object(row), updated)
                parsed.add(MACRO_ANNUAL, [provenance(document, location, "api") | columns])
    return parsed


def _read_page(document: Document, body: bytes) -> tuple[str, list[Any]]:
    page = strict.read_json(body)
    # The API of archived versions answers in this shape.
    if isinstance(page, dict) and "source" in page:
        raise ValueError("an answer by source and version, not a page of an indicator")
    if not isinstance(page, list) or not page or not isinstance(page[0], dict):
        raise ValueError("the document is not a page of the World Bank")
    meta = page[0]
    # The World Bank answers errors with status 200.
    if "message" in meta:
        raise ValueError(f"the source answered with an error: {meta['message']!r:.200}")
    if len(page) != 2 or not isinstance(page[1], list):
        raise ValueError("the page holds no rows: the source has nothing for this question")
    if "lastupdated" not in meta:
        raise ValueError("the page does not say when it was updated: no page of observations")
    _refuse_partial(document, meta, len(page[1]))
    return strict.calendar_day(meta["lastupdated"]).isoformat(), page[1]


def _refuse_partial(document: Document, meta: dict[str, Any], rows: int) -> None:
    """Raise if a page is only a part of the answer.

    One page of several is complete if its URL names it: whoever fetches page by page makes
    sure that none is missing. Otherwise the answer was cut short.
    """
    page, pages = _count(meta, "page"), _count(meta, "pages")
    size, total = _count(meta, "per_page"), _count(meta, "total")
    in_url = _PAGE_IN_URL.search(document.url)
    if in_url and page and int(in_url[1]) != page:
        raise ValueError(f"page {in_url[1]} was requested, but this is page {page}")
    if pages and pages > 1 and not in_url:
        raise ValueError(f"truncated: this is page {page} of {pages}, but the URL names no page")
    if page and size and total and rows < min(size, total - (page - 1) * size):
        raise ValueError(f"truncated: the page holds {rows} rows of {total} in pages of {size}")


def _count(meta: dict[str, Any], name: str) -> int | None:
    """Return a count of the page, which may be text; None if it is not stated."""
    count = str(meta.get(name))
    return int(count) if count.isascii() and count.isdecimal() else None


def _page_row(row: dict[str, Any], updated: str) -> dict[str, Any]:
    indicator, country = (
        strict.json_object(row.get("indicator")),
        strict.json_object(row.get("country")),
    )
    # countryiso3code is empty for some rows; country.id is then alpha-2, or the code of an
    # aggregate.
    area = _country(row.get("countryiso3code") or country.get("id"))
    if row.get("value") is None:
        raise ValueError("no value given")
    unit, base = _unit_in(indicator.get("value"))
    # Old answers write a number as text.
    read = strict.number_from_text if isinstance(row["value"], str) else strict.json_number
    return {
        **_observation(area, str(row.get("date")), read(row["value"])),
        "indicator": strict.printable_text(indicator.get("id")),
        # The member is nearly always empty: the unit is in the name of the indicator.
        "unit": row.get("unit") or unit,
        "base_period": base,
        "obs_status": row.get("obs_status") or None,
        "available_at": None,
        "publication": updated,
    }


_COUNTRY, _YEAR, _INDICATOR = "Country Code", "Year", "Indicator Code"
_NAMED_COLUMNS = (_COUNTRY, _YEAR, _INDICATOR, "Country Name", "Country")
# The same columns as other collections of the indicators write them.
_COLUMN_ALIASES = {
    "iso_code": _COUNTRY,
    "country_code": _COUNTRY,
    "year": _YEAR,
    "date": _YEAR,
    "indicator_code": _INDICATOR,
}
# Fewer could be at 100 in one year by chance.
_MIN_COUNTRIES = 20
_FIRST_DAY = re.compile(r"([0-9]{4})-01-01")


def _parse_long(document: Document, body: bytes) -> Parsed:
    """Parse a long file: each line is a row or a rejection."""
    parsed = Parsed()
    with parsed.rejecting(MACRO_ANNUAL, document):
        headers = {name.lower(): value for name, value in document.headers.items()}
        if not headers.get("indicator") or not headers.get("vintage"):
            reason = "the document's headers name no indicator and vintage, nor does the file"
            raise ValueError(reason)
        shared = {
            "available_at": None,
            "publication": strict.calendar_day(headers["vintage"]).isoformat(),
            "indicator": strict.printable_text(headers["indicator"]),
            "unit": headers.get("unit"),
            "base_period": headers.get("base-period"),
            "obs_status": None,
        }
        lines = list(csv.reader(StringIO(strict.read_text(body), newline=""), strict=True))
        header = [_COLUMN_ALIASES.get(name.strip(), name.strip()) for name in lines[0]]
        # The one column that is neither the country, the year nor the indicator.
        others = [name for name in header if name not in _NAMED_COLUMNS]
        if _COUNTRY not in header or _YEAR not in header or len(others) != 1:
            raise ValueError("the document is not a long CSV of one indicator")
        rows: list[dict[str, Any]] = []
        for position, cells in enumerate(lines[1:], start=2):
            location = f"line {position}"
            with parsed.rejecting(MACRO_ANNUAL, document, location):
                if len(cells) != len(header):
                    raise ValueError(f"{len(cells)} cells under {len(header)} columns")
                row = _long_row(dict(zip(header, cells, strict=True)), others[0])
                rows.append(provenance(document, location, "file") | shared | row)
        parsed.add(MACRO_ANNUAL, _with_base(rows))
    return parsed


def _long_row(line: dict[str, str], value_column: str) -> dict[str, Any]:
    area = _country(line[_COUNTRY])
    if not line[value_column].strip():
        raise ValueError("no value given")
    indicator = {"indicator": strict.printable_text(line[_INDICATOR])} if _INDICATOR in line else {}
    # Some collections write a year as its first day.
    year = _FIRST_DAY.sub(r"\1", line[_YEAR].strip())
    return _observation(area, year, strict.number_from_text(line[value_column])) | indicator


def _with_base(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of an index with the base that its values state, if it states no other.

    The base is the one year in which nearly all countries are at exactly 100. A country that
    is not, or has no value of that year, may be on another base: it gets none. Shares in per
    cent, which stay at 100 for years, are no index.
    """
    if any(row["unit"] or row["base_period"] for row in rows):
        return rows
    by_year: dict[tuple[str, date], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_year[row["indicator"], row["period_end"]].append(row)
    years_at_100: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for (indicator, _), of_year in by_year.items():
        at_100 = [row for row in of_year if row["value"] == 100]
        if len(of_year) >= _MIN_COUNTRIES and 10 * len(at_100) >= 9 * len(of_year):
            years_at_100[indicator].append(at_100)
    based = {
        (indicator, row["country_iso3"]): row["period_end"].year
        for indicator, years in years_at_100.items()
        if len(years) == 1
        for row in years[0]
    }
    return [
        # Written as the source does in the name of an indicator.
        row | {"unit": f"{year} = 100", "base_period": f"{year}=100"} if year else row
        for row in rows
        for year in [based.get((row["indicator"], row["country_iso3"]))]
    ]
