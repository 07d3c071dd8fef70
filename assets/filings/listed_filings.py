"""The filings in a list of submissions: column by column, equally long arrays.

A list of an issuer has what others filed about it too. What owners report of their holdings is left
out, and counted: those are mostly persons.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from assets.entities.identifiers import cik_of
from assets.filings.filers import ANNUAL_REPORTS, service_id_of
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, json_pointer, printable_text
from warehouse.record.landing import Document
from warehouse.record.tables import FILINGS
from warehouse.tables import PUBLISHED

_REQUIRED = ("form", "filingDate", "accessionNumber")
_OPTIONAL = ("reportDate", "acceptanceDateTime")
_OWNERS = ("3", "4", "5", "144", "SC 13D", "SC 13G", "SCHEDULE 13D", "SCHEDULE 13G")
# What owners report of their holdings, with amendments.
OWNERS_REPORTS = frozenset(form + amendment for form in _OWNERS for amendment in ("", "/A"))
_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")
_ACCEPTED = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z?")
_ARCHIVE = "https://www.sec.gov/Archives/edgar/data"


def lists_filings(columns: dict[str, Any]) -> bool:
    """Return whether an object has the columns of a list of filings."""
    return all(isinstance(columns.get(name), list) for name in _REQUIRED)


def columns_of(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of a list of filings; raise if one that every list has does not fit."""
    if not lists_filings(columns):
        raise ValueError("the list of filings is not there")
    found: dict[str, list[Any]] = {name: columns[name] for name in _REQUIRED}
    if len({len(column) for column in found.values()}) > 1:
        raise ValueError("the columns of the list of filings differ in length")
    # Lists made before a column was added lack it.
    return found | {name: columns[name] for name in _OPTIONAL if name in columns}


def require_annual_report(columns: dict[str, list[Any]]) -> None:
    """Raise if no annual report is listed, which alone proves that the filer is an issuer."""
    forms = columns["form"]
    if not any(isinstance(form, str) and form in ANNUAL_REPORTS for form in forms):
        raise ValueError("no annual report: not established to be an issuer")


def add_filings(
    parsed: Parsed, document: Document, cik: object, columns: dict[str, list[Any]], *place: str
) -> None:
    """Add a row for each filing of an issuer; ``place`` is where its columns are."""
    shared = {"service_id": service_id_of(cik), "version": None}
    by_owners: Counter[str] = Counter()
    length = len(columns["form"])
    for name, column in columns.items():
        if not isinstance(column, list) or len(column) != length:
            reason = "not as long as the list of filings"
            parsed.reject(FILINGS, document, json_pointer(*place, name), reason)
            return
    for number, cells in enumerate(_filings(columns)):
        if isinstance(cells["form"], str) and cells["form"] in OWNERS_REPORTS:
            by_owners[cells["form"]] += 1
            continue
        location = json_pointer(*place, "accessionNumber", number)
        try:
            row = _row(document, cik_of(cik), cells)
        except ValueError as error:
            parsed.reject(FILINGS, document, location, str(error))
        else:
            parsed.add(FILINGS, [provenance(document, location, "api") | shared | row])
    if by_owners:
        forms = ", ".join(f"{form} ({count})" for form, count in sorted(by_owners.items()))
        reason = f"what owners report of their holdings is not listed: {forms}"
        parsed.reject(FILINGS, document, json_pointer(*place, "form"), reason, partial=True)


def _filings(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for cells in zip(*columns.values(), strict=True):
        yield dict(zip(columns, cells, strict=True))


def _row(document: Document, cik: str, cells: dict[str, Any]) -> dict[str, Any]:
    accession = cells["accessionNumber"]
    if not isinstance(accession, str) or not _ACCESSION.fullmatch(accession):
        raise ValueError(f"{accession!r:.60} is not an accession number")
    filed, accepted = calendar_day(cells["filingDate"]), cells.get("acceptanceDateTime") or None
    return {
        "form": printable_text(cells["form"]),
        "period_end": calendar_day(cells["reportDate"]) if cells.get("reportDate") else None,
        "document_id": accession,
        "received_on": filed,
        "received_at": accepted,
        "link": _link(document, cik, accession),
        # After hours the SEC dates a filing by the next day; paper it accepts later than its date.
        "available_at": filed if accepted is None else max(filed, _accepted_on(accepted)),
        "available_at_evidence": PUBLISHED,
        "publication": accession,
    }


def _accepted_on(moment: object) -> date:
    match = _ACCEPTED.fullmatch(moment) if isinstance(moment, str) else None
    if match is None:
        raise ValueError(f"{moment!r:.60} is not a time of acceptance")
    return calendar_day(match[1])


def _link(document: Document, cik: str, accession: str) -> str | None:
    """Return the address of the page of a filing; None if the list is not the SEC's own."""
    host = urlsplit(document.url).hostname or ""
    if not f".{host}".endswith(".sec.gov"):
        return None
    return f"{_ARCHIVE}/{int(cik)}/{accession.replace('-', '')}/{accession}-index.htm"
