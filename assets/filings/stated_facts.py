"""The records of company facts, each understood or rejected with its pointer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from assets.filings.figures import unit_of
from assets.filings.line_items import BY_ELEMENT, LineItem
from assets.parsing.parsed import Parsed
from assets.parsing.strict import calendar_day, members_of, number, pointer, read_json
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")


@dataclass(frozen=True)
class Fact:
    """One record of the document, understood."""

    taxonomy: str
    element: str
    item: LineItem
    rank: int
    unit: str
    place: str
    value: Decimal
    start: date | None
    end: date
    filed: date
    accession: str
    label: str | None


def facts_of(
    parsed: Parsed, document: Document, taxonomy: str, element: str, raw: bytes
) -> Iterator[Fact]:
    """Give the facts of one element in all its units."""
    place = ("facts", taxonomy, element)
    try:
        units = members_of(members_of(read_json(raw)).get("units"))
    except ValueError as error:
        parsed.reject(FUNDAMENTALS, document, pointer(*place), f"units: {error}")
        return
    for unit, records in units.items():
        under = pointer(*place, "units", unit)
        if not isinstance(records, list):
            parsed.reject(FUNDAMENTALS, document, under, "the unit holds no list of facts")
            continue
        for position, record in enumerate(records):
            where = f"{under}/{position}"
            try:
                yield _fact(taxonomy, element, unit, where, record)
            except ValueError as error:
                parsed.reject(FUNDAMENTALS, document, where, str(error))


def _fact(taxonomy: str, element: str, unit: str, place: str, record: object) -> Fact:
    item, rank = BY_ELEMENT[taxonomy, element]
    fact = members_of(record)
    start = None if fact.get("start") is None else _named("start", calendar_day, fact)
    end = _named("end", calendar_day, fact)
    filed = _named("filed", calendar_day, fact)
    _refuse_impossible(item, start, end, filed)
    return Fact(
        taxonomy,
        element,
        item,
        rank,
        unit_of(item, unit),
        place,
        _named("val", number, fact),
        start,
        end,
        filed,
        _named("accn", _accession, fact),
        _label(fact),
    )


def _refuse_impossible(item: LineItem, start: date | None, end: date, filed: date) -> None:
    if start is not None and item.kind == "instant":
        raise ValueError(f"{item.name} is a balance at an instant, and a period is given")
    if start is not None and start > end:
        raise ValueError(f"the period ends ({end}) before it starts ({start})")
    if end > filed:
        raise ValueError(f"the period ends ({end}) after the filing was made ({filed})")


def _named(name: str, read: Any, members: dict[str, Any]) -> Any:
    """Read one member; what is wrong with it is said with its name."""
    if members.get(name) is None:
        raise ValueError(f"{name}: missing")
    try:
        return read(members[name])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _accession(value: object) -> str:
    if not isinstance(value, str) or not _ACCESSION.fullmatch(value):
        raise ValueError(f"{value!r:.60} is not an accession number")
    return value


def _label(fact: dict[str, Any]) -> str | None:
    """Give the filing's own label of its year, where it has one: FY2018, Q1 FY2019."""
    year, part = fact.get("fy"), fact.get("fp")
    if not isinstance(year, Decimal) or not isinstance(part, str) or not part.isalnum():
        return None
    return f"FY{year}" if part == "FY" else f"{part} FY{year}"
