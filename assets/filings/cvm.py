"""Statements that companies filed with Brazil's securities commission (CVM), as it publishes them.

CVM's files always show the latest version of a document alone. A document is dated by the day on
which we, or a dated recording, first read it: the day on which CVM received it (``DT_RECEB``) can
be months before it could be read. So each reading adds the versions that are new in it, and
versions that the publisher has dropped since stay. The index lists all versions, also those whose
figures nobody has any more: they are filings, dated in the same way.

A group's figures are read; those of the parent company alone only where a document has no others.
Every account of the form has an amount, zero if the company left it empty: a statement of nothing
but zeros, and a profit of which no part goes to anybody, were not filled in.
"""

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import IO, Any

from assets.entities.identifiers import CNPJ_REGISTER, mint
from assets.filings.cross_checks import mark_contradictions
from assets.filings.cvm_lines import (
    TAXONOMY,
    Company,
    ListedDocument,
    StatedAccount,
    UnreadDocument,
    Version,
    located_lines,
)
from assets.filings.figures import Reading, of_line, settle
from assets.filings.periods import KnownPeriods, Span, fiscal_label
from assets.filings.signs import mark_wrong_signs
from assets.parsing.parsed import Parsed, join_parts, provenance
from quality.contacts import has_contact
from quality.persons import personal_name_rule
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, FILINGS, FUNDAMENTALS, IDENTIFIERS
from warehouse.tables import FIRST_READ

CVM_CODE = "BR-CVM"
# Groups apply IFRS since 2010; companies alone what Brazil adopted of it, and banks less.
_STANDARDS = {"consolidated": "ifrs", "individual": "br-gaap"}
_PARTS = {
    "profit": ("profit_attributable", "profit_minority"),
    "comprehensive_income": ("comprehensive_income_attributable", "comprehensive_income_minority"),
}
_FILINGS_PER_PART = 200

Located = tuple[str, StatedAccount]


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the zip of a year, or one file of it; figures are located by file and line."""
    return join_parts(stream(document, io.BytesIO(body)))


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse the zip of a year, or one file of it, some filings at a time."""
    parsed = Parsed()
    names: dict[Company, tuple[str, str]] = {}
    filings: dict[Version, list[Located]] = defaultdict(list)
    for location, line in located_lines(body):
        if isinstance(line, str):
            parsed.reject(FUNDAMENTALS, document, location, line)
            continue
        if isinstance(line, UnreadDocument):
            parsed.reject(FILINGS, document, location, line.reason)
            continue
        names.setdefault(line.version.company, (location, line.name))
        if isinstance(line, StatedAccount):
            filings[line.version].append((location, line))
        elif isinstance(line, ListedDocument):
            parsed.add(FILINGS, [_filing(document, location, line)])
    for company, (location, name) in names.items():
        _name_company(parsed, document, company, location, name)
    for count, version in enumerate(sorted(filings, key=_order), 1):
        _add_figures(parsed, document, version, filings.pop(version))
        if count % _FILINGS_PER_PART == 0:
            yield parsed
            parsed = Parsed()
    yield parsed


def _order(version: Version) -> tuple[str, date, int]:
    return version.company.cnpj, version.reference, version.number


def _service_id(company: Company) -> str:
    return mint("registry", f"{CNPJ_REGISTER}:{company.cnpj}")


def _read_on(document: Document) -> date:
    return document.observed_at.date()


def _name_company(
    parsed: Parsed, document: Document, company: Company, location: str, name: str
) -> None:
    day = _read_on(document)
    shared = {
        **provenance(document, location, "file"),
        "service_id": _service_id(company),
        "available_at": day,
        "publication": day.isoformat(),
    }
    numbers = ((CNPJ_REGISTER, company.cnpj), (CVM_CODE, company.cvm_code))
    parsed.add(
        IDENTIFIERS,
        [
            shared | {"id_type": "registry", "id_value": number, "issuer": register, "status": None}
            for register, number in numbers
        ],
    )
    # CVM supervises companies only, whatever they are called; a remark may name a receiver.
    rule = personal_name_rule(name, "BR") if "(" in name else None
    if rule or has_contact(name):
        reason = f"the name is withheld: {(rule or 'contact_in_name').replace('_', ' ')}"
        parsed.reject(ENTITIES, document, location, reason, partial=True)
        return
    content: dict[str, Any] = dict.fromkeys(ENTITIES.content)
    content |= {"legal_name": name, "country": "BR", "jurisdiction": "BR", "entity_type": "company"}
    parsed.add(ENTITIES, [shared | content])


def _published(document: Document, version: Version) -> dict[str, Any]:
    """Return when a version could be read, and of whom; it is a publication."""
    return {
        "service_id": _service_id(version.company),
        "available_at": _read_on(document),
        "available_at_evidence": FIRST_READ,
        "publication": f"{version.company.cvm_code}/{version.reference}/{version.number:04}",
    }


def _filing(document: Document, location: str, line: ListedDocument) -> dict[str, Any]:
    return {
        **provenance(document, location, "file"),
        **_published(document, line.version),
        "form": line.form,
        "period_end": line.version.reference,
        "document_id": line.document_id,
        "version": line.version.number,
        "received_on": line.received_on,
        "received_at": None,
        "link": line.link,
    }


def _add_figures(
    parsed: Parsed, document: Document, version: Version, lines: list[Located]
) -> None:
    day, published = _read_on(document), _published(document, version)
    stated = list(_filled_in(parsed, document, _of_group(lines)))
    known = _periods(version.reference, [line for _, line in stated])
    readings = []
    for location, line in stated:
        if line.end > day:
            reason = f"the period ends ({line.end}) after the document was read ({day})"
            parsed.reject(FUNDAMENTALS, document, location, reason)
            continue
        readings.append(_reading(document, location, line, known, published))
    settled = list(settle(parsed, document, readings))
    mark_contradictions(settled, ())
    mark_wrong_signs(settled)
    parsed.add(FUNDAMENTALS, [reading.row for reading in settled])


def _of_group(lines: list[Located]) -> list[Located]:
    """Return the lines of consolidated statements; those of the company alone if there are none."""
    return [each for each in lines if each[1].consolidation == "consolidated"] or lines


def _filled_in(parsed: Parsed, document: Document, lines: list[Located]) -> Iterator[Located]:
    """Yield the lines that the company filled in; reject zeros that only look like figures."""
    columns: dict[tuple[Any, ...], list[Located]] = defaultdict(list)
    for location, line in lines:
        columns[line.statement, line.order, line.start, line.end].append((location, line))
    for column in columns.values():
        if not any(line.value for _, line in column):
            reason = "every amount of the statement is zero: it was not filled in"
            parsed.reject(FUNDAMENTALS, document, column[0][0], reason)
            continue
        values = {line.account.item.name: line.value for _, line in column}
        empty = {
            part
            for whole, parts in _PARTS.items()
            if values.get(whole) and not any(values.get(part) for part in parts)
            for part in parts
        }
        for location, line in column:
            if line.account.item.name in empty:
                reason = f"{line.account.item.name}: no part of the total goes to anybody"
                parsed.reject(FUNDAMENTALS, document, location, reason)
            else:
                yield location, line


def _periods(reference: date, lines: Iterable[StatedAccount]) -> KnownPeriods:
    """Return the periods of a filing, and the years that its columns since a year's start tell."""
    spans = [(line.start, line.end) for line in lines if line.start is not None]
    known = KnownPeriods()
    known.add(spans)
    begun = min((start for start, end in spans if end == reference), default=None)
    if begun is not None and not any(_is_year(span) for span in spans):
        known.add([_year_from(begun), _year_from(_year_earlier(begun))])
    return known


def _is_year(span: Span) -> bool:
    return _year_from(span[0]) == span


def _year_from(start: date) -> Span:
    end = start.replace(year=start.year + 1, day=min(start.day, 28))
    return start, end - timedelta(days=1)


def _year_earlier(day: date) -> date:
    return day.replace(year=day.year - 1, day=min(day.day, 28))


def _reading(
    document: Document,
    location: str,
    line: StatedAccount,
    known: KnownPeriods,
    published: dict[str, Any],
) -> Reading:
    account = line.account
    if line.start is None:
        period, label = "INSTANT", known.label_at(line.end)
    else:
        kind = known.type_of((line.start, line.end))
        period, label = kind, fiscal_label((line.start, line.end), kind)
    row = {
        **provenance(document, location, "file"),
        **of_line(
            account.item,
            (TAXONOMY, line.element),
            _STANDARDS[line.consolidation],
            line.currency,
            line.consolidation,
        ),
        **published,
        # Plus zero: a cost of nothing is not minus nothing.
        "value_reported": line.value * line.scale * account.sign + 0,
        "period_type": period,
        "period_start": line.start,
        "period_end": line.end,
        "fiscal_label": label,
    }
    return Reading(line.element, account.rank, location, row)
