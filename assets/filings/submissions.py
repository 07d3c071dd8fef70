"""SEC submissions: what issuers filed, and who they are; only an annual report proves an issuer.

EDGAR also numbers natural persons, who report what they own. Without an annual report nothing is
stored, and the reason does not repeat the name. An older page of a list is judged by itself: it has
the number of the filer in its address alone.
"""

import json
import re
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, time, tzinfo
from typing import Any

from stdnum import lei as lei_number

from assets.entities.identifiers import cik_of, identifier_row
from assets.entities.list_files import EDGAR_MARKETS
from assets.filings.issuers import (
    ANNUAL_REPORTS,
    EDGAR_CLOCK,
    accession_number,
    country_of,
    filing_page,
    folded_name,
    jurisdiction_of,
    service_id_of,
)
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, json_object, json_pointer, printable_text, read_json
from quality.persons import drop_personal_names, personal_name_rule
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, FILINGS, IDENTIFIERS
from warehouse.tables.sighting import PUBLISHED

# The filings in a list of submissions: column by column, equally long arrays.
#
# A list of an issuer has what others filed about it too. What owners report of their holdings is
# left out, and counted: those are mostly persons.

_REQUIRED = ("form", "filingDate", "accessionNumber")
_OPTIONAL = ("reportDate", "acceptanceDateTime")
_OWNERS = ("3", "4", "5", "144", "SC 13D", "SC 13G", "SCHEDULE 13D", "SCHEDULE 13G")
# What owners report of their holdings, with amendments.
OWNERS_REPORTS = frozenset(form + amendment for form in _OWNERS for amendment in ("", "/A"))
_ACCEPTED = re.compile(r"([0-9-]{10}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?Z?")
# EDGAR accepts filings from 6 to 22 o'clock, and what began before 22 soon after; it dates most of
# what it accepts after 17:30 by the next working day.
_OPENS, _CLOSES, _DATED_NEXT_DAY = time(6), time(23), time(17, 30)


def _lists_filings(columns: dict[str, Any]) -> bool:
    return all(isinstance(columns.get(name), list) for name in _REQUIRED)


def _columns_of(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of a list of filings; raise if one that every list has does not fit."""
    if not _lists_filings(columns):
        raise ValueError("the list of filings is not there")
    found: dict[str, list[Any]] = {name: columns[name] for name in _REQUIRED}
    if len({len(column) for column in found.values()}) > 1:
        raise ValueError("the columns of the list of filings differ in length")
    # Lists made before a column was added lack it.
    return found | {name: columns[name] for name in _OPTIONAL if name in columns}


def _require_annual_report(columns: dict[str, list[Any]]) -> None:
    """Raise if no annual report is listed, which alone proves that the filer is an issuer."""
    forms = columns["form"]
    if not any(isinstance(form, str) and form in ANNUAL_REPORTS for form in forms):
        raise ValueError("no annual report: not established to be an issuer")


def _add_filings(
    parsed: Parsed, document: Document, cik: object, columns: dict[str, list[Any]], *place: str
) -> None:
    """Add a row for each filing of an issuer; ``place`` is where its columns are."""
    shared = {"service_id": service_id_of(cik), "version": None}
    by_owners: Counter[str] = Counter()
    length, zone = len(columns["form"]), _zone_of(columns)
    for name, column in columns.items():
        if not isinstance(column, list) or len(column) != length:
            reason = "not as long as the list of filings"
            parsed.reject(FILINGS, document, json_pointer(*place, name), reason)
            return
    for number, filing in enumerate(zip(*columns.values(), strict=True)):
        cells = dict(zip(columns, filing, strict=True))
        if isinstance(cells["form"], str) and cells["form"] in OWNERS_REPORTS:
            by_owners[cells["form"]] += 1
            continue
        location = json_pointer(*place, "accessionNumber", number)
        with parsed.rejecting(FILINGS, document, location):
            row = _row(document, cik_of(cik), cells, zone)
            parsed.add(FILINGS, [provenance(document, location, "api") | shared | row])
    if by_owners:
        forms = ", ".join(f"{form} ({count})" for form, count in sorted(by_owners.items()))
        reason = f"what owners report of their holdings is not listed: {forms}"
        parsed.reject(FILINGS, document, json_pointer(*place, "form"), reason, partial=True)


def _accepted(written: Any) -> datetime | None:
    """Return the time of acceptance as a list writes it, without its zone; None if it has none."""
    if not written:
        return None
    match = _ACCEPTED.fullmatch(written) if isinstance(written, str) else None
    try:
        return datetime.fromisoformat(match[1] if match else "")
    except ValueError:
        raise ValueError(f"{written!r:.60} is not a time of acceptance") from None


def _zone_of(columns: dict[str, list[Any]]) -> tzinfo | None:
    """Return in which zone a list writes its times; None if it does not tell.

    All of them are labelled Z. Of about one filer in four they are those of New York all the same,
    whatever the year of the filing.
    """
    times: list[tuple[str, datetime]] = []
    names = ("form", "filingDate", "acceptanceDateTime")
    for form, filed, written in zip(*(columns.get(name, []) for name in names), strict=False):
        with suppress(ValueError):
            accepted = _accepted(written)
            # Midnight is what lists have for a time that is not known, and what the SEC itself
            # files, that a registration is effective, appears at night.
            if accepted is not None and accepted.time() != time() and form != "EFFECT":
                times.append((printable_text(filed), accepted))
    zones: list[tzinfo] = [UTC, EDGAR_CLOCK]
    for is_possible in (_in_hours, _is_dated_so):
        fitting = [zone for zone in zones if all(is_possible(*each, zone) for each in times)]
        if len(fitting) < len(zones):
            return fitting[0] if fitting else None
    return None


def _in_hours(_: str, accepted: datetime, zone: tzinfo) -> bool:
    return _OPENS <= accepted.replace(tzinfo=zone).astimezone(EDGAR_CLOCK).time() < _CLOSES


def _is_dated_so(filed: str, accepted: datetime, zone: tzinfo) -> bool:
    at = accepted.replace(tzinfo=zone).astimezone(EDGAR_CLOCK)
    return (str(at.date()) < filed) == (at.time() >= _DATED_NEXT_DAY)


def _row(
    document: Document, cik: str, cells: dict[str, Any], zone: tzinfo | None
) -> dict[str, Any]:
    accession = accession_number(cells["accessionNumber"])
    filed, accepted = calendar_day(cells["filingDate"]), _accepted(cells.get("acceptanceDateTime"))
    accepted_at, available_at = None, filed
    if accepted is not None:
        if zone is not None and accepted.time() != time():
            accepted_at = accepted.replace(tzinfo=zone).astimezone(EDGAR_CLOCK)
            accepted = accepted_at.astimezone(UTC)
        # After hours the SEC dates a filing by the next day; paper it accepts later than its date.
        available_at = max(filed, accepted.date())
    return {
        "form": printable_text(cells["form"]),
        "period_end": calendar_day(cells["reportDate"]) if cells.get("reportDate") else None,
        "document_id": accession,
        "received_on": filed,
        "received_at": cells.get("acceptanceDateTime") or None,
        "accepted_at": accepted_at and accepted_at.isoformat(),
        "link": filing_page(document, cik, accession),
        "available_at": available_at,
        "available_at_evidence": PUBLISHED,
        "publication": accession,
    }


_OLDER_PAGE = re.compile(r"/CIK([0-9]{10})-submissions-[0-9]+\.json$")

# EDGAR's names of exchanges -> ISO 10383, in capitals: not all of its files agree on their case.
MICS = {name.upper(): mic for name, mic in EDGAR_MARKETS.items()}


def parse(document: Document, body: bytes) -> Parsed:
    """Parse one filer that files annual reports: the organisation, its identifiers and filings."""
    parsed = Parsed()
    try:
        filer = json_object(read_json(body))
        match = _OLDER_PAGE.search(document.url)
        if match and "cik" not in filer and _lists_filings(filer):
            # It continues the list of the filer in its address with more filings.
            return _older_page(document, match[1], filer)
        if "cik" not in filer:
            raise ValueError("no filer is named: an older page, or not a list of submissions")
        cik_of(filer["cik"])
        listed = _columns_of(json_object(json_object(filer.get("filings")).get("recent")))
        shared = _shared(document, filer, listed)
        entity = _entity(filer)
    except ValueError as error:
        parsed.reject(ENTITIES, document, "", str(error))
        return parsed
    until = _former_names(filer)
    names, reasons = drop_personal_names(until, entity["country"], entity["jurisdiction"])
    for reason in reasons:
        parsed.reject(ENTITIES, document, "/formerNames", reason)
    # All that EDGAR names besides are former names.
    former = json.dumps(names, ensure_ascii=False) if names else None
    entity |= {"other_names": former, "former_names": former}
    entity["former_names_until"] = json.dumps([until[name] for name in names]) if names else None
    entity["lei"] = _lei(parsed, document, filer, shared)
    parsed.add(ENTITIES, [shared | entity])
    parsed.add(IDENTIFIERS, [shared | identifier_row("cik", cik_of(filer["cik"]))])
    _tickers(parsed, document, filer, shared)
    _add_filings(parsed, document, filer["cik"], listed, "filings", "recent")
    return parsed


def _older_page(document: Document, cik: str, page: dict[str, Any]) -> Parsed:
    parsed = Parsed()
    with parsed.rejecting(FILINGS, document):
        columns = _columns_of(page)
        if columns["form"]:
            _require_annual_report(columns)
            _add_filings(parsed, document, cik, columns)
    return parsed


def _shared(
    document: Document, filer: dict[str, Any], listed: dict[str, list[Any]]
) -> dict[str, Any]:
    """Return the columns that rows of the filer share; the latest filing dates them.

    Raise if no annual report is listed.
    """
    _require_annual_report(listed)
    # The newest by day and number, whatever the order of the list.
    filed, accession = max(
        (calendar_day(day), printable_text(accession))
        for day, accession in zip(listed["filingDate"], listed["accessionNumber"], strict=True)
    )
    return {
        **provenance(document, "", "api"),
        "available_at": filed,
        "publication": accession,
        "service_id": service_id_of(filer["cik"]),
    }


def _entity(filer: dict[str, Any]) -> dict[str, Any]:
    addresses = filer.get("addresses")
    business = addresses.get("business") if isinstance(addresses, dict) else None
    address = business if isinstance(business, dict) else {}
    return {
        "legal_name": _issuer_name(filer),
        "jurisdiction": jurisdiction_of(filer.get("stateOfIncorporation")),
        "country": country_of(address.get("countryCode") or address.get("stateOrCountry")),
        # "operating" is EDGAR's word for companies; "other" may be a person.
        "entity_type": "company" if filer.get("entityType") == "operating" else None,
        "status": None,
        "lei_status": None,
        "same_as": None,
    }


def _issuer_name(filer: dict[str, Any]) -> str:
    """Return the name of a filer; raise if it speaks for a person, whatever was filed."""
    name = folded_name(filer.get("name"))
    if personal_name_rule(name, "US", is_listed=True) == "personal_name":
        raise ValueError("the name is withheld: personal name")
    return name


def _former_names(filer: dict[str, Any]) -> dict[str, str | None]:
    """Return the former names, each with the last day on which EDGAR has it, where that is one."""
    former = filer.get("formerNames")
    entries = former if isinstance(former, list) else []
    named: dict[str, str | None] = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(name := entry.get("name"), str):
            # Blanks of any kind are one blank.
            folded, until = " ".join(name.split()), None
            with suppress(ValueError):
                until = str(calendar_day(str(entry.get("to"))[:10]))
            if folded and folded.isprintable():
                named.setdefault(folded, until)
    return named


def _lei(
    parsed: Parsed, document: Document, filer: dict[str, Any], shared: dict[str, Any]
) -> str | None:
    value = filer.get("lei")
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not lei_number.is_valid(value):
        reason = f"{value!r:.60} is not an LEI: its check digits do not hold"
        parsed.reject(IDENTIFIERS, document, "/lei", reason)
        return None
    lei: str = lei_number.compact(value)
    parsed.add(IDENTIFIERS, [shared | identifier_row("lei", lei)])
    return lei


def _tickers(
    parsed: Parsed, document: Document, filer: dict[str, Any], shared: dict[str, Any]
) -> None:
    """Add tickers as MARKET:SYMBOL; reject those without a market, which identify nothing."""
    tickers, exchanges = filer.get("tickers") or [], filer.get("exchanges") or []
    if not isinstance(tickers, list) or not isinstance(exchanges, list):
        parsed.reject(IDENTIFIERS, document, "/tickers", "the tickers are no list")
        return
    for position, ticker in enumerate(tickers):
        location = json_pointer("tickers", position)
        # Arrays of different length cannot be paired: no ticker has a known market then.
        market = exchanges[position] if len(tickers) == len(exchanges) else None
        try:
            symbol, name = printable_text(ticker).upper(), printable_text(market).upper()
        except ValueError:
            parsed.reject(IDENTIFIERS, document, location, "a ticker needs its market")
            continue
        mic = MICS.get(name)
        # An exchange without a MIC keeps EDGAR's name: the ticker still needs a market.
        parsed.add(IDENTIFIERS, [shared | identifier_row("ticker", f"{mic or name}:{symbol}", mic)])
