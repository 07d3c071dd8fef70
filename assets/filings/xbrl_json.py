"""xBRL-JSON (OIM) reports, as filings.xbrl.org gives them: one report of one issuer.

A fact with a dimension of a taxonomy is the value of a segment and is not read.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from stdnum import lei as lei_number

from assets.entities.identifiers import mint
from assets.filings.companyfacts import service_id_of
from assets.filings.figures import Reading, of_line, settle, unit_of
from assets.filings.line_items import BY_ELEMENT, IFRS, STANDARDS, US_GAAP, LineItem
from assets.filings.periods import period_type, years_of
from assets.filings.restatements import without_roundings
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import (
    calendar_day,
    json_object,
    json_pointer,
    number_from_text,
    printable_text,
    read_json,
)
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

_OIM = re.compile(r"https?://(www\.)?xbrl\.org/.*xbrl-json.*")
_LEI_SCHEME = "http://standards.iso.org/iso/17442"
_CIK_SCHEME = "http://www.sec.gov/CIK"
_CORE = frozenset({"concept", "entity", "period", "unit", "language", "noteId"})
_DAY_AFTER = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T00:00:00(\.0+)?Z?")


def parse(document: Document, body: bytes) -> Parsed:
    """Read the figures of one report; each has its place under ``/facts``."""
    parsed = Parsed()
    try:
        spaces, facts = _open(body)
        published = _published(document)
    except ValueError as error:
        parsed.reject(FUNDAMENTALS, document, "", str(error))
        return parsed
    readings = list(_readings(parsed, document, spaces, facts))
    spans = [(reading.row["period_start"], reading.row["period_end"]) for reading in readings]
    years = years_of(span for span in spans if span[0] is not None)
    for reading, span in zip(readings, spans, strict=True):
        kind = "INSTANT" if span[0] is None else period_type(span, years)
        reading.row.update(published, period_type=kind)
    settled = settle(parsed, document, without_roundings(parsed, document, readings))
    parsed.add(FUNDAMENTALS, [reading.row for reading in settled])
    return parsed


def _open(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    report = json_object(read_json(body))
    info = report.get("documentInfo")
    if not isinstance(info, dict) or not _OIM.fullmatch(str(info.get("documentType"))):
        raise ValueError("the document is not an xBRL-JSON report")
    return json_object(info.get("namespaces")), json_object(report.get("facts"))


def _published(document: Document) -> dict[str, Any]:
    """Give when and as what the report was published; unknown where nothing says so."""
    headers = {name.lower(): value for name, value in document.headers.items()}
    added = headers.get("x-date-added") or headers.get("date_added")
    named = headers.get("x-fxo-id") or headers.get("fxo_id")
    return {
        "available_at": calendar_day(added[:10]) if added else None,
        "publication": named or PurePosixPath(urlsplit(document.url).path).stem or document.sha256,
    }


def _readings(
    parsed: Parsed, document: Document, spaces: dict[str, Any], facts: dict[str, Any]
) -> Iterator[Reading]:
    for name, fact in facts.items():
        location = json_pointer("facts", name)
        try:
            dimensions = json_object(json_object(fact).get("dimensions"))
            element = _element(spaces, dimensions)
            if element is not None:
                yield _reading(document, spaces, location, fact, dimensions, element)
        except ValueError as error:
            parsed.reject(FUNDAMENTALS, document, location, str(error))


def _element(spaces: dict[str, Any], dimensions: dict[str, Any]) -> tuple[str, str] | None:
    """Give the element of a total we hold; None for what is out of scope."""
    prefix, _, name = str(dimensions.get("concept")).partition(":")
    space = str(spaces.get(prefix))
    taxonomy = IFRS if space.endswith("/ifrs-full") else US_GAAP if "/us-gaap/" in space else None
    if taxonomy is None or (taxonomy, name) not in BY_ELEMENT or set(dimensions) - _CORE:
        return None
    return taxonomy, name


def _reading(
    document: Document,
    spaces: dict[str, Any],
    location: str,
    fact: dict[str, Any],
    dimensions: dict[str, Any],
    element: tuple[str, str],
) -> Reading:
    item, rank = BY_ELEMENT[element]
    start, end = _period(item, dimensions.get("period"))
    if fact.get("value") is None:
        raise ValueError("no value given")
    row = {
        **provenance(document, location, "xbrl"),
        **of_line(item, STANDARDS[element[0]], _unit(item, dimensions.get("unit"))),
        "service_id": _service_id(spaces, dimensions.get("entity")),
        "value_reported": number_from_text(fact["value"]),
        "period_start": start,
        "period_end": end,
        "fiscal_label": None,
    }
    return Reading(element[1], rank, location, row, _decimals(fact))


def _decimals(fact: dict[str, Any]) -> int | None:
    """Give how far a value was rounded; None, the absence, says that it is exact."""
    given = fact.get("decimals")
    if given is None or given == "INF":
        return None
    if not isinstance(given, Decimal) or given != given.to_integral_value() or abs(given) > 100:
        raise ValueError(f"decimals: {given!r:.60} is no number of decimals")
    return int(given)


def _service_id(spaces: dict[str, Any], entity: object) -> str:
    """Give the service_id of an issuer named by its LEI, or by its number at the SEC."""
    prefix, _, identifier = str(entity).partition(":")
    scheme = str(spaces.get(prefix)).rstrip("/")
    if scheme == _LEI_SCHEME and lei_number.is_valid(identifier):
        return mint("lei", lei_number.compact(identifier))
    if scheme == _CIK_SCHEME:
        return service_id_of(identifier)
    raise ValueError("the issuer is named neither by an LEI nor by a CIK")


def _period(item: LineItem, period: object) -> tuple[date | None, date]:
    """Read a period; the report writes the midnight after its last day."""
    moments = printable_text(period).split("/")
    if len(moments) != (1 if item.kind == "instant" else 2):
        raise ValueError(f"{item.name} is stated for {period!r:.60}, which is no {item.kind}")
    start = _midnight(moments[0]) if len(moments) == 2 else None
    end = _midnight(moments[-1]) - timedelta(days=1)
    if start is not None and start > end:
        raise ValueError(f"the period ends ({end}) before it starts ({start})")
    return start, end


def _midnight(moment: str) -> date:
    match = _DAY_AFTER.fullmatch(moment)
    if not match:
        raise ValueError(f"{moment!r:.60} is not midnight of a day")
    return calendar_day(match[1])


def _unit(item: LineItem, unit: object) -> str:
    """Write a unit as the SEC does: without prefixes, ``EUR/shares``."""
    if unit is None:
        raise ValueError(f"{item.name} is stated as a pure number, without its unit")
    parts = printable_text(unit).split("/")
    return unit_of(item, "/".join(part.rpartition(":")[2] for part in parts))
