"""A report of one issuer in the Open Information Model of XBRL, whatever it was written in.

xBRL-JSON is written in this model; ``xbrl_reports`` turns instances and inline XBRL into it.
A fact with a taxonomy-defined dimension is the value of a segment, not a total, and is skipped.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from stdnum import lei as lei_number

from assets.entities.identifiers import mint
from assets.filings.cross_checks import WITNESSES, Witness
from assets.filings.figures import Reading, of_line, unit_of
from assets.filings.issuers import service_id_of
from assets.filings.line_items import BY_ELEMENT, IFRS, STANDARDS, US_GAAP, Element, TaxonomyElement
from assets.filings.periods import KnownPeriods
from assets.filings.restatements import settled_figures
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, json_object, number_from_text, printable_text
from warehouse.methodology.line_items import LineItem
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS
from warehouse.tables.sighting import PUBLISHED

_LEI_SCHEME = "http://standards.iso.org/iso/17442"
_CIK_SCHEME = "http://www.sec.gov/CIK"
# Other identifiers of issuers: the kind of identifier, and the market or register that issued it.
_SCHEMES = {
    "http://www.bmv.com.mx/id": ("ticker", "XMEX"),
    "https://www.sebi.gov.in/in-capmkt/CorporateIdentityNumber": ("registry", "IN-MCA"),
}
_CORE = frozenset({"concept", "entity", "period", "unit", "language", "noteId"})
_DAY_AFTER = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T00:00:00(\.0+)?Z?")


@dataclass
class Report:
    """The facts of a report by their locations, as the members of xBRL-JSON.

    ``problems`` are facts that could not be made one, with the reason; ``left_out`` counts what
    is no fact and is not read.
    """

    namespaces: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def add_figures(parsed: Parsed, document: Document, report: Report, within: str = "") -> None:
    """Add the figures of a report, and why others are none; ``within`` begins their locations."""
    try:
        published = _published(document)
    except ValueError as error:
        parsed.reject(FUNDAMENTALS, document, "", str(error))
        return
    for location, reason in report.problems:
        parsed.reject(FUNDAMENTALS, document, f"{within}{location}", reason)
    for what, count in report.left_out.items():
        parsed.reject(FUNDAMENTALS, document, "", f"{what}: {count} not read", partial=True)
    readings: list[Reading] = []
    stated: list[tuple[str, TaxonomyElement, Decimal]] = []
    witnesses: list[Witness] = []
    names: set[str] = set()
    for name_of_fact, fact in report.facts.items():
        location = f"{within}{name_of_fact}"
        with parsed.rejecting(FUNDAMENTALS, document, location):
            dimensions = json_object(json_object(fact).get("dimensions"))
            # A fact with another dimension is the value of a segment.
            if set(dimensions) - _CORE:
                continue
            name = _concept(report.namespaces, dimensions)
            prefix = str(dimensions.get("concept")).partition(":")[0]
            names.add(str(report.namespaces.get(prefix, prefix)))
            element = BY_ELEMENT.get(name)
            # A fact that cannot be read shows nothing.
            with suppress(ValueError):
                value = number_from_text(fact.get("value"))
                if element is not None:
                    stated.append((published["publication"], element, value))
                if name in WITNESSES:
                    witnesses.append(_witness(published["publication"], name, dimensions, value))
            if element is not None and element.places:
                found = location, fact, dimensions, element
                readings.extend(_of_element(document, report.namespaces, *found))
    if not readings and not parsed.rejected.get(FUNDAMENTALS.name):
        taxonomies = ", ".join(sorted(names)) or "no taxonomy"
        reason = f"a report of {len(report.facts)} facts of {taxonomies}: none is of a line item"
        parsed.reject(FUNDAMENTALS, document, "", reason, partial=True)
    spans = [(reading.row["period_start"], reading.row["period_end"]) for reading in readings]
    known = KnownPeriods()
    known.add(span for span in spans if span[0] is not None)
    for reading, span in zip(readings, spans, strict=True):
        kind, label = known.named(*span)
        reading.row.update(published, period_type=kind, fiscal_label=label)
    settled = settled_figures(parsed, document, readings, stated, witnesses)
    parsed.add(FUNDAMENTALS, [reading.row for reading in settled])


def _published(document: Document) -> dict[str, Any]:
    """Return the publication and its day, from the headers that the fetcher added.

    The document is the filing: its address is where it was fetched.
    """
    headers = {name.lower(): value for name, value in document.headers.items()}
    date_added = headers.get("x-date-added") or headers.get("date_added")
    report_id = headers.get("x-fxo-id") or headers.get("fxo_id")
    return {
        # A report without a date of its own is excluded from every as_of.
        "available_at": calendar_day(date_added[:10]) if date_added else None,
        "available_at_evidence": PUBLISHED if date_added else None,
        "publication": report_id
        or PurePosixPath(urlsplit(document.url).path).stem
        or document.sha256,
        "document_id": report_id,
        "document_url": document.url if document.url.startswith(("http:", "https:")) else None,
    }


def _witness(
    publication: str, name: Element, dimensions: dict[str, Any], value: Decimal
) -> Witness:
    start, end = _days(printable_text(dimensions.get("period")).split("/"))
    unit = printable_text(dimensions.get("unit")).rpartition(":")[2]
    return Witness((publication, STANDARDS[name[0]], unit, start, end), ":".join(name), value)


def _concept(namespaces: dict[str, Any], dimensions: dict[str, Any]) -> Element:
    """Return taxonomy and name of the element of a fact; the taxonomy is empty if unknown."""
    prefix, _, name = str(dimensions.get("concept")).partition(":")
    namespace = str(namespaces.get(prefix))
    if namespace.endswith("/ifrs-full"):
        return IFRS, name
    return (US_GAAP if "/us-gaap/" in namespace else ""), name


def _of_element(
    document: Document,
    namespaces: dict[str, Any],
    location: str,
    fact: dict[str, Any],
    dimensions: dict[str, Any],
    element: TaxonomyElement,
) -> Iterator[Reading]:
    taxonomy, name = element.name
    start, end = _period(element.item, dimensions.get("period"))
    if fact.get("value") is None:
        raise ValueError("no value given")
    unit = _unit(element.item, dimensions.get("unit"))
    values = {
        **provenance(document, location, "xbrl"),
        "service_id": _service_id(namespaces, dimensions.get("entity")),
        "value_reported": number_from_text(fact["value"]),
        "period_start": start,
        "period_end": end,
    }
    decimals = _decimals(fact)
    for place in element.places:
        row = values | of_line(place.item, element.name, STANDARDS[taxonomy], unit)
        yield Reading(name, place.rank, location, row, decimals, place.unless)


def _decimals(fact: dict[str, Any]) -> int | None:
    """Return the decimals to which a value is rounded; None if it is exact.

    In OIM an absent ``decimals`` means infinite precision.
    """
    decimals = fact.get("decimals")
    if decimals is None or decimals == "INF":
        return None
    if (
        not isinstance(decimals, Decimal)
        or decimals != decimals.to_integral_value()
        or abs(decimals) > 100
    ):
        raise ValueError(f"decimals: {decimals!r:.60} is no number of decimals")
    return int(decimals)


def _service_id(namespaces: dict[str, Any], entity: object) -> str:
    """Return the service_id of an issuer, from the identifier that its report gives."""
    prefix, _, identifier = str(entity).partition(":")
    scheme = str(namespaces.get(prefix)).rstrip("/")
    if scheme == _LEI_SCHEME and lei_number.is_valid(identifier):
        return mint("lei", lei_number.compact(identifier))
    if scheme == _CIK_SCHEME:
        return service_id_of(identifier)
    if scheme in _SCHEMES and (number := identifier.strip().upper()):
        kind, issued_by = _SCHEMES[scheme]
        return mint(kind, f"{issued_by}:{number}")
    raise ValueError("the issuer is named neither by an LEI nor by a CIK")


def _period(item: LineItem, period: object) -> tuple[date | None, date]:
    """Parse a period; OIM writes its end as the midnight after the last day."""
    instants = printable_text(period).split("/")
    if len(instants) != (1 if item.kind == "instant" else 2):
        raise ValueError(f"{item.name} is stated for {period!r:.60}, which is no {item.kind}")
    start, end = _days(instants)
    if start is not None and start > end:
        raise ValueError(f"the period ends ({end}) before it starts ({start})")
    return start, end


def _days(instants: list[str]) -> tuple[date | None, date]:
    start = _midnight(instants[0]) if len(instants) == 2 else None
    return start, _midnight(instants[-1]) - timedelta(days=1)


def _midnight(instant: str) -> date:
    match = _DAY_AFTER.fullmatch(instant)
    if not match:
        raise ValueError(f"{instant!r:.60} is not midnight of a day")
    return calendar_day(match[1])


def _unit(item: LineItem, unit: object) -> str:
    """Return a unit as the SEC writes it: without prefixes, ``EUR/shares``."""
    if unit is None:
        raise ValueError(f"{item.name} is stated as a pure number, without its unit")
    parts = printable_text(unit).split("/")
    return unit_of(item, "/".join(part.rpartition(":")[2] for part in parts))
