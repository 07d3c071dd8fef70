"""World Bank Indicators v2: pages of ``[meta, rows]``, one indicator, all years.

CSV files of the same source are parsed by ``worldbank_csv``.

The source says when its whole database was updated, never when a value was released: the update is
the publication, and ``available_at`` stays unknown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import IO, Any

from assets.macro import worldbank_csv
from assets.macro.worldbank_csv import country, observation, unit_in
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import (
    calendar_day,
    json_number,
    json_object,
    json_pointer,
    number_from_text,
    printable_text,
    read_json,
    read_text,
)
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_ANNUAL

# Bytes that show whether a document is a wide file.
_HEAD = 1 << 16
# How a URL asks for one page of several, live and in a folder.
_PAGE_IN_URL = re.compile(r"[?&/]page[=-]([0-9]+)")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse a document of any format; aggregates and years without a value are rejected."""
    if body.startswith(worldbank_csv.ZIP):
        return worldbank_csv.parse_wide(document, body)
    try:
        text = read_text(body)
    except ValueError:
        text = "["  # rejected with its reason where pages are read
    if text.lstrip()[0] not in "[{":
        wide = worldbank_csv.is_wide(text)
        return (
            worldbank_csv.parse_wide(document, body)
            if wide
            else worldbank_csv.parse_long(document, body)
        )
    return _page(document, body)


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a long document: a wide file line by line, anything else as a whole."""
    start = body.read(_HEAD)
    text = start.decode("utf-8-sig", "replace")
    if start.startswith(worldbank_csv.ZIP) or worldbank_csv.is_wide(text):
        yield from worldbank_csv.wide_parts(document, start, body)
    else:
        yield parse(document, start + body.read())


def _page(document: Document, body: bytes) -> Parsed:
    parsed = Parsed()
    try:
        updated, rows = _read_page(document, body)
    except ValueError as error:
        parsed.reject(MACRO_ANNUAL, document, "", str(error))
        return parsed
    for position, row in enumerate(rows):
        location = json_pointer(1, position)
        try:
            columns = _row(json_object(row))
        except ValueError as error:
            parsed.reject(MACRO_ANNUAL, document, location, str(error))
            continue
        shared = provenance(document, location, "api")
        parsed.add(
            MACRO_ANNUAL, [shared | columns | {"available_at": None, "publication": updated}]
        )
    return parsed


def missing_pages(metas: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the numbers of the pages that were not fetched.

    ``metas`` are the first elements of the fetched pages; page numbers may be text.
    """
    fetched: set[int] = set()
    pages = 1
    for meta in metas:
        fetched.add(int(meta["page"]))
        pages = max(pages, int(meta["pages"]))
    return [page for page in range(1, pages + 1) if page not in fetched]


def _read_page(document: Document, body: bytes) -> tuple[str, list[Any]]:
    page = read_json(body)
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
    return calendar_day(meta["lastupdated"]).isoformat(), page[1]


def _refuse_partial(document: Document, meta: dict[str, Any], rows: int) -> None:
    """Raise if a page is only a part of the answer.

    One page of several is complete if its URL asked for it: who fetches page by page makes sure
    that none is missing. Otherwise the answer was cut short.
    """
    page, pages = _count(meta, "page"), _count(meta, "pages")
    size, total = _count(meta, "per_page"), _count(meta, "total")
    in_url = _PAGE_IN_URL.search(document.url)
    if in_url and page and int(in_url[1]) != page:
        raise ValueError(f"page {in_url[1]} was asked for, and this is page {page}")
    if pages and pages > 1 and not in_url:
        raise ValueError(f"truncated: this is page {page} of {pages}, and nobody asked for pages")
    if page and size and total and rows < min(size, total - (page - 1) * size):
        raise ValueError(f"truncated: the page holds {rows} rows of {total} in pages of {size}")


def _count(meta: dict[str, Any], name: str) -> int | None:
    """Return a count of the page, which may be text; None if it is not stated."""
    count = str(meta.get(name))
    return int(count) if count.isascii() and count.isdecimal() else None


def _row(row: dict[str, Any]) -> dict[str, Any]:
    indicator, country_member = json_object(row.get("indicator")), json_object(row.get("country"))
    # countryiso3code is empty for some rows; country.id is then alpha-2, or the code of an
    # aggregate.
    area = country(row.get("countryiso3code"), country_member.get("id"))
    if row.get("value") is None:
        raise ValueError("no value given")
    unit, base = unit_in(indicator.get("value"))
    return {
        **observation(area, str(row.get("date")), _value(row["value"])),
        "indicator": printable_text(indicator.get("id")),
        # The member is nearly always empty: the unit stands in the name of the indicator.
        "unit": row.get("unit") or unit,
        "base_period": base,
        "obs_status": row.get("obs_status") or None,
    }


def _value(value: object) -> Decimal:
    """Return a number; old answers write it as text."""
    return number_from_text(value) if isinstance(value, str) else json_number(value)
