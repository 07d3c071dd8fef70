"""SEC companyfacts: every figure of one issuer in every filing that states it.

Facts of elements outside the table of line items are not read. A comparative column is a
sighting like any other; which of them are vintages is worked out from the record. What only
looks like a restatement is rejected here, where all filings of the issuer are at hand.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from assets.filings.cross_checks import WITNESSES, Witness
from assets.filings.figures import unit_of
from assets.filings.filers import ANNUAL_REPORTS, accession_number, service_id_of
from assets.filings.issuer_facts import (
    Fact,
    add_figures,
    name_issuer,
    refuse_impossible,
    without_scaled,
)
from assets.filings.line_items import BY_ELEMENT, STANDARDS, TaxonomyElement
from assets.parsing.parsed import Parsed
from assets.parsing.strict import (
    calendar_day,
    json_number,
    json_object,
    json_pointer,
    read_json,
    read_text,
)
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS


def facts_of(
    parsed: Parsed, document: Document, taxonomy: str, name: str, raw: bytes
) -> Iterator[Fact]:
    """Yield the facts of one element in all its units."""
    path = ("facts", taxonomy, name)
    element = BY_ELEMENT[taxonomy, name]

    def reject(location: str, reason: str) -> None:
        # An element that is a part of a line gives no row, so nothing of it can be missing.
        if element.places:
            parsed.reject(FUNDAMENTALS, document, location, reason)

    try:
        units = json_object(json_object(read_json(raw)).get("units"))
    except ValueError as error:
        reject(json_pointer(*path), f"units: {error}")
        return
    for unit, records in units.items():
        unit_pointer = json_pointer(*path, "units", unit)
        if not isinstance(records, list):
            reject(unit_pointer, "the unit holds no list of facts")
            continue
        for position, record in enumerate(records):
            location = f"{unit_pointer}/{position}"
            try:
                yield _fact(element, unit, location, record)
            except ValueError as error:
                reject(location, str(error))


def _witnesses_of(taxonomy: str, name: str, raw: bytes) -> Iterator[Witness]:
    """Yield the readable facts of an element that helps to check others."""
    try:
        units = json_object(json_object(read_json(raw)).get("units"))
    except ValueError:
        return
    for unit, records in units.items():
        for record in records if isinstance(records, list) else ():
            with suppress(ValueError):
                fact = json_object(record)
                start = None if fact.get("start") is None else calendar_day(fact["start"])
                end = _read_member("end", calendar_day, fact)
                accession = accession_number(fact.get("accn"))
                statement = (accession, STANDARDS[taxonomy], unit, start, end)
                value = _read_member("val", json_number, fact)
                yield Witness(statement, f"{taxonomy}:{name}", value)


def _fact(element: TaxonomyElement, unit: str, location: str, record: object) -> Fact:
    fact = json_object(record)
    start = None if fact.get("start") is None else _read_member("start", calendar_day, fact)
    end = _read_member("end", calendar_day, fact)
    filed = _read_member("filed", calendar_day, fact)
    value = _read_member("val", json_number, fact)
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
        _read_member("accn", accession_number, fact),
        form if isinstance(form := fact.get("form"), str) else None,
    )


def _read_member(name: str, read: Any, members: dict[str, Any]) -> Any:
    """Read one member; errors are prefixed with its name."""
    if members.get(name) is None:
        raise ValueError(f"{name}: missing")
    try:
        return read(members[name])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


class _Company(msgspec.Struct):
    cik: int | str
    # Raw: most elements are no line items, and stay undecoded.
    facts: dict[str, dict[str, msgspec.Raw]]
    name: object = msgspec.field(default=None, name="entityName")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the figures of one issuer; unreadable facts are rejected with their JSON pointer."""
    parsed = Parsed()
    try:
        company, elements = _open(body)
        service_id = service_id_of(company.cik)
    except ValueError as error:
        parsed.reject(FUNDAMENTALS, document, "", str(error))
        return parsed
    facts: list[Fact] = []
    witnesses: list[Witness] = []
    for taxonomy, element, raw in elements:
        if (taxonomy, element) in BY_ELEMENT:
            facts.extend(facts_of(parsed, document, taxonomy, element, raw))
        if (taxonomy, element) in WITNESSES:
            witnesses.extend(_witnesses_of(taxonomy, element, raw))
    facts = without_scaled(parsed, document, facts)
    if company.name is not None and any(
        fact.form in ANNUAL_REPORTS and fact.taxonomy in STANDARDS for fact in facts
    ):
        dated = max((fact.filed, fact.accession) for fact in facts)
        name_issuer(
            parsed, document, "/entityName", company.cik, company.name, dated, member="entityName"
        )
    add_figures(parsed, document, service_id, facts, witnesses)
    return parsed


def _open(body: bytes) -> tuple[_Company, list[tuple[str, str, bytes]]]:
    """Return the company and the elements of line items; other elements stay undecoded."""
    try:
        company = msgspec.json.decode(read_text(body), type=_Company)
    except msgspec.DecodeError as error:
        raise ValueError(f"the document is not companyfacts: {error}") from None
    except RecursionError:
        raise ValueError("the document is not companyfacts: it is nested too deeply") from None
    line_elements = [
        (taxonomy, element, bytes(raw))
        for taxonomy, elements in company.facts.items()
        for element, raw in elements.items()
        if (taxonomy, element) in BY_ELEMENT or (taxonomy, element) in WITNESSES
    ]
    return company, line_elements
