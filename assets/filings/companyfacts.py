"""SEC companyfacts: every figure of one issuer in every filing that states it.

Facts become figures of line items and, where an installation wants them, figures of their elements:
all of them, also those of no line. A comparative column is a sighting like any other; which of them
are vintages is worked out from the record. What only looks like a restatement is marked here, where
all filings of the issuer are at hand. The facts of other sources of the SEC become figures in the
same way (``add_figures``).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from assets.entities.identifiers import cik_of, identifier_row
from assets.filings.cross_checks import WITNESSES, Witness
from assets.filings.figures import Reading, of_line, scaled_amounts, settle, unit_of
from assets.filings.issuers import (
    ANNUAL_REPORTS,
    accession_number,
    filing_page,
    folded_name,
    service_id_of,
)
from assets.filings.line_items import BY_ELEMENT, STANDARDS, Element, Place, TaxonomyElement
from assets.filings.periods import KnownPeriods, Span
from assets.filings.restatements import (
    element_reading,
    mark_apparent,
    settled_figures,
    without_roundings,
)
from assets.parsing import strict
from assets.parsing.parsed import Parsed, provenance
from warehouse.record.landing import Document
from warehouse.record.tables import ELEMENTS, ENTITIES, FUNDAMENTALS, IDENTIFIERS
from warehouse.tables.fundamentals import PeriodType
from warehouse.tables.sighting import PUBLISHED, Method

# The day of a filing, and start and end of a period in it.
Stated = tuple[date, date | None, date]
# Rejects what lies at a location, for a reason.
Reject = Callable[[str, str], None]


@dataclass(frozen=True)
class Fact:
    """One value of an element, in one filing."""

    element: TaxonomyElement
    unit: str
    written_unit: str
    location: str
    value: Decimal
    start: date | None
    end: date
    filed: date
    accession: str
    form: str | None
    accepted_at: str | None = None

    @property
    def taxonomy(self) -> str:
        """The taxonomy of its element."""
        return self.element.name[0]


class _Company(msgspec.Struct):
    cik: int | str
    # Raw: most elements are no line items, and stay undecoded.
    facts: dict[str, dict[str, msgspec.Raw]]
    name: object = msgspec.field(default=None, name="entityName")


def parse(document: Document, body: bytes, *, every_element: bool = False) -> Parsed:
    """Parse the figures of one issuer; unreadable facts are rejected with their JSON pointer.

    With ``every_element`` also those of all elements, by their element.
    """
    parsed = Parsed()
    try:
        company = _company(body)
        cik = cik_of(company.cik)
    except ValueError as error:
        parsed.reject(FUNDAMENTALS, document, "", str(error))
        return parsed
    stated = [
        each
        for taxonomy, elements in company.facts.items()
        for name, raw in elements.items()
        if (taxonomy, name) in BY_ELEMENT or (taxonomy, name) in WITNESSES
        for each in _stated(parsed, document, (taxonomy, name), bytes(raw))
    ]
    witnesses = [each for each in stated if isinstance(each, Witness)]
    facts = [each for each in stated if isinstance(each, Fact)]
    facts = without_scaled(parsed, document, facts)
    if company.name is not None and any(
        fact.form in ANNUAL_REPORTS and fact.taxonomy in STANDARDS for fact in facts
    ):
        dated = max((fact.filed, fact.accession) for fact in facts)
        name_issuer(
            parsed, document, "/entityName", company.cik, company.name, dated, member="entityName"
        )
    add_figures(parsed, document, cik, facts, witnesses)
    if every_element:
        _add_elements(parsed, document, cik, company)
    return parsed


def _company(body: bytes) -> _Company:
    try:
        return msgspec.json.decode(strict.read_text(body), type=_Company)
    except msgspec.DecodeError as error:
        raise ValueError(f"the document is not companyfacts: {error}") from None
    except RecursionError:
        raise ValueError("the document is not companyfacts: it is nested too deeply") from None


def _stated(
    parsed: Parsed, document: Document, name: Element, raw: bytes
) -> Iterator[Fact | Witness]:
    """Yield the facts of one element in all its units; and what it says as a witness."""
    element = BY_ELEMENT.get(name)

    def reject(location: str, reason: str) -> None:
        # An element that is a part of a line gives no row, so nothing of it can be missing.
        if element is not None and element.places:
            parsed.reject(FUNDAMENTALS, document, location, reason)

    for unit, location, record in _records(reject, name, _described(reject, name, raw)):
        if name in WITNESSES:
            with suppress(ValueError):
                yield _witness(name, unit, strict.json_object(record))
        try:
            if element is not None:
                yield _fact(element, unit, location, record)
        except ValueError as error:
            reject(location, str(error))


def _described(reject: Reject, name: Element, raw: bytes) -> dict[str, Any]:
    """Return what the document has of an element; nothing if that cannot be read."""
    try:
        return strict.json_object(strict.read_json(raw))
    except ValueError as error:
        reject(strict.json_pointer("facts", *name), f"units: {error}")
        return {"units": {}}


def _records(
    reject: Reject, name: Element, described: dict[str, Any]
) -> Iterator[tuple[str, str, object]]:
    """Yield the unit, the location and the record of each fact of an element."""
    try:
        units = strict.json_object(described.get("units"))
    except ValueError as error:
        reject(strict.json_pointer("facts", *name), f"units: {error}")
        return
    for unit, records in units.items():
        unit_pointer = strict.json_pointer("facts", *name, "units", unit)
        if not isinstance(records, list):
            reject(unit_pointer, "the unit holds no list of facts")
            continue
        for position, record in enumerate(records):
            yield unit, f"{unit_pointer}/{position}", record


def _witness(name: Element, unit: str, fact: dict[str, Any]) -> Witness:
    start = None if fact.get("start") is None else strict.calendar_day(fact["start"])
    end = read_member("end", strict.calendar_day, fact)
    accession = accession_number(fact.get("accn"))
    statement = (accession, STANDARDS[name[0]], unit, start, end)
    return Witness(statement, ":".join(name), read_member("val", strict.json_number, fact))


def _fact(element: TaxonomyElement, unit: str, location: str, record: object) -> Fact:
    fact = strict.json_object(record)
    start = None if fact.get("start") is None else read_member("start", strict.calendar_day, fact)
    end = read_member("end", strict.calendar_day, fact)
    filed = read_member("filed", strict.calendar_day, fact)
    value = read_member("val", strict.json_number, fact)
    refuse_impossible(element, start, end, filed)
    return Fact(
        element,
        unit_of(element.item, unit),
        unit,
        location,
        value,
        start,
        end,
        filed,
        read_member("accn", accession_number, fact),
        form if isinstance(form := fact.get("form"), str) else None,
    )


def read_member(name: str, read: Any, members: Mapping[str, Any]) -> Any:
    """Read one member; errors are prefixed with its name."""
    if members.get(name) is None:
        raise ValueError(f"{name}: missing")
    try:
        return read(members[name])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def refuse_impossible(element: TaxonomyElement, start: date | None, end: date, filed: date) -> None:
    """Raise ValueError if a fact cannot be: a period that is none, or not yet over."""
    if start is not None and element.kind == "instant":
        raise ValueError(f"{element.item.name} is a balance at an instant, and a period is given")
    if start is not None and start > end:
        raise ValueError(f"the period ends ({end}) before it starts ({start})")
    # A forecast, or a mistake in the filing: nothing can be reported before it is over.
    if end > filed:
        raise ValueError(f"the period ends ({end}) after the filing was made ({filed})")


def add_figures(
    parsed: Parsed,
    document: Document,
    cik: str,
    facts: list[Fact],
    witnesses: Iterable[Witness],
    years: Iterable[Span] = (),
) -> None:
    """Add the figures of one issuer, from its facts in all filings of the document.

    ``years`` are financial years that the document states along with the facts.
    """
    periods = _periods(((fact.filed, fact.start, fact.end) for fact in facts), years)
    standards = _standards(facts)
    service_id = service_id_of(cik)
    filings = {
        fact.accession: {
            "service_id": service_id,
            "publication": fact.accession,
            "document_id": fact.accession,
            "form": fact.form,
            "document_url": filing_page(document, cik, fact.accession),
            "accepted_at": fact.accepted_at,
        }
        for fact in facts
    }
    readings: list[Reading] = []
    for fact in facts:
        standard = standards.get((fact.accession, fact.taxonomy))
        if standard is None and fact.element.places:
            reason = "no statement of the filing tells its accounting standard"
            parsed.reject(FUNDAMENTALS, document, fact.location, reason)
        elif standard is not None:
            readings.extend(
                _reading(document, filings[fact.accession], fact, place, standard, periods)
                for place in fact.element.places
            )
    stated = [(fact.accession, fact.element, fact.value) for fact in facts]
    settled = settled_figures(parsed, document, readings, stated, witnesses, as_written=True)
    # Last, since it compares the settled figures of several filings.
    mark_apparent(settled)
    parsed.add(FUNDAMENTALS, [reading.row for reading in settled])


def name_issuer(
    parsed: Parsed,
    document: Document,
    location: str,
    cik: object,
    name: object,
    dated: tuple[date, str],
    *,
    member: str,
    method: Method = "api",
) -> None:
    """Add an organisation that filed an annual report, and its CIK.

    Persons have CIKs too, but file no statements. Day and number of the latest filing date it.
    ``member`` is what the document calls the name.
    """
    try:
        legal_name = folded_name(name)
    except ValueError as error:
        parsed.reject(ENTITIES, document, location, f"{member}: {error}")
        return
    shared = {
        **provenance(document, location, method),
        "available_at": dated[0],
        "publication": dated[1],
        "service_id": service_id_of(cik),
    }
    parsed.add(ENTITIES, [shared | dict.fromkeys(ENTITIES.content) | {"legal_name": legal_name}])
    parsed.add(IDENTIFIERS, [shared | identifier_row("cik", cik_of(cik))])


def without_scaled(parsed: Parsed, document: Document, facts: list[Fact]) -> list[Fact]:
    """Return the facts without amounts per share that were scaled like the statements.

    It happens where an amount has its currency for a unit, as that of a statement has.
    """
    amounts: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.element.item.measure == "money per share" and fact.written_unit.isalpha():
            amounts[fact.accession, fact.written_unit].append(fact)
    scaled: set[str] = set()
    for (_, unit), of_filing in amounts.items():
        values = scaled_amounts(fact.value for fact in of_filing)
        for fact in of_filing:
            if fact.value in values:
                scaled.add(fact.location)
                line = f"{fact.element.item.name} is {fact.element.item.measure}"
                reason = f"unit {unit!r:.40}: {fact.value} is scaled, and {line}"
                if fact.element.places:
                    parsed.reject(FUNDAMENTALS, document, fact.location, reason)
    return [fact for fact in facts if fact.location not in scaled]


def _periods(
    stated: Iterable[Stated], years: Iterable[Span]
) -> dict[Stated, tuple[PeriodType, str | None]]:
    """Return type and label of each period, by what was filed until the day that states it."""
    known = KnownPeriods()
    known.add(years)
    periods: dict[Stated, tuple[PeriodType, str | None]] = {}
    by_day = itemgetter(0)
    for filed, of_day in groupby(sorted(stated, key=by_day), key=by_day):
        spans = [(start, end) for _, start, end in of_day]
        known.add((start, end) for start, end in spans if start is not None)
        for start, end in set(spans):
            periods[filed, start, end] = known.named(start, end)
    return periods


def _standards(facts: list[Fact]) -> dict[tuple[str, str], str]:
    """Return the accounting standard of each filing and taxonomy.

    A cover has that of the filing's statements, or the only one of all filings until that day.
    """
    filed = {fact.accession: fact.filed for fact in facts}
    by_taxonomy = {(fact.accession, fact.taxonomy): STANDARDS.get(fact.taxonomy) for fact in facts}
    standards = {key: standard for key, standard in by_taxonomy.items() if standard is not None}
    first_used: dict[str, date] = {}
    for (accession, _), standard in standards.items():
        first_used[standard] = min(first_used.get(standard, date.max), filed[accession])
    for accession, taxonomy in by_taxonomy.keys() - standards.keys():
        in_filing = {
            standards[accession, other] for other in STANDARDS if (accession, other) in standards
        }
        candidates = in_filing or {
            standard for standard, day in first_used.items() if day <= filed[accession]
        }
        if len(candidates) == 1:
            standards[accession, taxonomy] = next(iter(candidates))
    return standards


def _reading(
    document: Document,
    filing: Mapping[str, str | None],
    fact: Fact,
    place: Place,
    standard: str,
    periods: dict[Stated, tuple[PeriodType, str | None]],
) -> Reading:
    period, label = periods[fact.filed, fact.start, fact.end]
    # A fact without a start is a balance, or a duration of unknown length.
    if fact.start is None and fact.element.kind == "duration":
        period, label = "OTHER", None
    row = {
        **provenance(document, fact.location, "xbrl"),
        **of_line(place.item, fact.element.name, standard, fact.unit),
        # The filing date: what EDGAR accepts after hours is dated the next working day.
        "available_at": fact.filed,
        "available_at_evidence": PUBLISHED,
        **filing,
        "value_reported": fact.value,
        "period_type": period,
        "period_start": fact.start,
        "period_end": fact.end,
        "fiscal_label": label,
    }
    element = fact.element.name[1]
    return Reading(element, place.rank, fact.location, row, unless=place.unless)


# Every element, whether or not it states a line. Of a raw fact nothing is refused but what cannot
# be read, and what its own filing contradicts.


def _add_elements(parsed: Parsed, document: Document, cik: str, company: _Company) -> None:
    """Add every fact of an issuer by its element, judged as the figures of lines are."""
    readings = [
        reading
        for taxonomy, elements in company.facts.items()
        for name, raw in elements.items()
        for reading in _element_readings(parsed, document, cik, (taxonomy, name), bytes(raw))
    ]
    rows = [reading.row for reading in readings]
    stated = [(row["available_at"], row["period_start"], row["period_end"]) for row in rows]
    periods = _periods(stated, ())
    for row, span in zip(rows, stated, strict=True):
        row["period_type"], row["fiscal_label"] = periods[span]
    refused = Parsed()
    precise = without_roundings(refused, document, readings, as_written=True)
    settled = list(settle(refused, document, precise))
    mark_apparent(settled)
    columns = ELEMENTS.row.model_fields.keys()
    parsed.add(
        ELEMENTS, ({name: each.row[name] for name in each.row.keys() & columns} for each in settled)
    )
    parsed.rejected.setdefault(ELEMENTS.name, []).extend(
        refused.rejected.get(FUNDAMENTALS.name, ())
    )


def _element_readings(
    parsed: Parsed, document: Document, cik: str, name: Element, raw: bytes
) -> Iterator[Reading]:
    """Yield the facts of one element; the document has a label of most."""

    def reject(location: str, reason: str) -> None:
        parsed.reject(ELEMENTS, document, location, reason)

    described = _described(reject, name, raw)
    label = described.get("label")
    shared = {
        "service_id": service_id_of(cik),
        "element": ":".join(name),
        "label": label if isinstance(label, str) else None,
        "available_at_evidence": PUBLISHED,
    }
    for unit, location, record in _records(reject, name, described):
        with parsed.rejecting(ELEMENTS, document, location):
            fact = strict.json_object(record)
            start = fact.get("start") and read_member("start", strict.calendar_day, fact)
            end = read_member("end", strict.calendar_day, fact)
            if start and start > end:
                raise ValueError(f"the period ends ({end}) before it starts ({start})")
            accession = read_member("accn", accession_number, fact)
            yield element_reading(
                provenance(document, location, "xbrl")
                | shared
                | {
                    "value_reported": read_member("val", strict.json_number, fact),
                    # The SEC writes USD/shares or USD-per-shares.
                    "unit": unit.replace("-per-", "/"),
                    "period_start": start or None,
                    "period_end": end,
                    "available_at": read_member("filed", strict.calendar_day, fact),
                    "publication": accession,
                    "document_id": accession,
                    "form": form if isinstance(form := fact.get("form"), str) else None,
                    "document_url": filing_page(document, cik, accession),
                },
                location,
            )
