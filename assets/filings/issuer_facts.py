"""The facts of one issuer in its filings, and the figures they give: for every source of the SEC.

A comparative column is a sighting like any other; which of them are vintages is worked out from
the record. What only looks like a restatement is rejected here, where the filings of a document
are at hand.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby
from operator import attrgetter

from assets.entities.identifiers import cik_of
from assets.filings.cross_checks import Witness, mark_contradictions
from assets.filings.figures import (
    Reading,
    of_line,
    scaled_amounts,
    settle,
    showing,
    without_narrower,
    without_refuted,
)
from assets.filings.filers import folded_name, service_id_of
from assets.filings.line_items import STANDARDS, Place, TaxonomyElement
from assets.filings.measuring_units import date_measuring_units
from assets.filings.periods import KnownPeriods, Span, fiscal_label
from assets.filings.restatements import StatedValues, without_echoes, without_written_roundings
from assets.filings.signs import mark_wrong_signs
from assets.parsing.parsed import Parsed, provenance
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, IDENTIFIERS
from warehouse.tables import PUBLISHED, Entity
from warehouse.tables.column import content_of
from warehouse.tables.fundamentals import PeriodType
from warehouse.tables.sighting import Method

# What a register may state of an organisation; of most of it these sources say nothing.
_CONTENT = content_of(Entity)
# The day of a filing, and start and end of a period in it.
Stated = tuple[date, date | None, date]


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

    @property
    def taxonomy(self) -> str:
        """The taxonomy of its element."""
        return self.element.name[0]


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
    service_id: str,
    facts: list[Fact],
    witnesses: Iterable[Witness],
    years: Iterable[Span] = (),
) -> None:
    """Add the figures of one issuer, from its facts in all filings of the document.

    ``years`` are financial years that the document states beside the facts.
    """
    periods = _periods(facts, years)
    standards = _standards(facts)
    readings: list[Reading] = []
    for fact in facts:
        standard = standards.get((fact.accession, fact.taxonomy))
        if standard is None and fact.element.places:
            reason = "no statement of the filing tells its accounting standard"
            parsed.reject(FUNDAMENTALS, document, fact.location, reason)
        elif standard is not None:
            readings.extend(
                _reading(document, service_id, fact, place, standard, periods)
                for place in fact.element.places
            )
    # In this order: parts first, which are no roundings of a total; then roundings, or the elements
    # of a filing would seem to disagree; echoes last, since they compare the settled figures of
    # several filings.
    shown = showing((fact.accession, fact.element, fact.value) for fact in facts)
    unrefuted = without_refuted(readings, shown)
    precise = without_written_roundings(parsed, document, unrefuted)
    settled = list(settle(parsed, document, without_narrower(precise)))
    mark_contradictions(settled, witnesses)
    mark_wrong_signs(settled)
    date_measuring_units(settled)
    accepted = without_echoes(parsed, document, settled, StatedValues(readings))
    parsed.add(FUNDAMENTALS, [reading.row for reading in accepted])


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
    parsed.add(ENTITIES, [shared | dict.fromkeys(_CONTENT) | {"legal_name": legal_name}])
    identifier = {"id_type": "cik", "id_value": cik_of(cik), "issuer": None, "status": None}
    parsed.add(IDENTIFIERS, [shared | identifier])


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
    facts: list[Fact], years: Iterable[Span]
) -> dict[Stated, tuple[PeriodType, str | None]]:
    """Return type and label of each period, by what was filed until the day that states it."""
    known = KnownPeriods()
    known.add(years)
    periods: dict[Stated, tuple[PeriodType, str | None]] = {}
    by_day = attrgetter("filed")
    for filed, of_day in groupby(sorted(facts, key=by_day), key=by_day):
        spans = [(fact.start, fact.end) for fact in of_day]
        known.add((start, end) for start, end in spans if start is not None)
        for start, end in set(spans):
            if start is None:
                periods[filed, None, end] = "INSTANT", known.label_at(end)
            else:
                kind = known.type_of((start, end))
                periods[filed, start, end] = kind, fiscal_label((start, end), kind)
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
    service_id: str,
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
        "publication": fact.accession,
        "service_id": service_id,
        "value_reported": fact.value,
        "period_type": period,
        "period_start": fact.start,
        "period_end": fact.end,
        "fiscal_label": label,
    }
    element = fact.element.name[1]
    return Reading(element, place.rank, fact.location, row, unless=place.unless)
