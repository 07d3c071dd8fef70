"""SEC submissions: what issuers filed, and who they are; only an annual report proves an issuer.

EDGAR also numbers natural persons, who report what they own. Without an annual report nothing is
stored, and the reason does not repeat the name. An older page of a list is judged by itself: it has
the number of the filer in its address alone.
"""

import json
import re
from datetime import date
from typing import Any

from stdnum import lei as lei_number

from assets.entities.identifiers import cik_of
from assets.entities.list_files import EDGAR_MARKETS
from assets.filings.filers import folded_name, service_id_of
from assets.filings.listed_filings import (
    add_filings,
    columns_of,
    lists_filings,
    require_annual_report,
)
from assets.filings.places import country_of, jurisdiction_of
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, json_object, json_pointer, printable_text, read_json
from quality.persons import drop_personal_names
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, FILINGS, IDENTIFIERS

_OLDER_PAGE = re.compile(r"/CIK([0-9]{10})-submissions-[0-9]+\.json$")

# EDGAR's names of exchanges -> ISO 10383, in capitals: not all of its files agree on their case.
MICS = {name.upper(): mic for name, mic in EDGAR_MARKETS.items()}


def parse(document: Document, body: bytes) -> Parsed:
    """Parse one filer that files annual reports: the organisation, its identifiers and filings."""
    parsed = Parsed()
    try:
        filer = json_object(read_json(body))
        if (cik := _cik_of_older_page(document, filer)) is not None:
            return _older_page(document, cik, filer)
        service_id = _service_id(filer)
        listed = columns_of(json_object(json_object(filer.get("filings")).get("recent")))
        shared = _shared(document, service_id, listed)
        entity = _entity(filer)
    except ValueError as error:
        parsed.reject(ENTITIES, document, "", str(error))
        return parsed
    names, reasons = drop_personal_names(
        _former_names(filer), entity["country"], entity["jurisdiction"]
    )
    for reason in reasons:
        parsed.reject(ENTITIES, document, "/formerNames", reason)
    # All that EDGAR names besides are former names.
    former = json.dumps(names, ensure_ascii=False) if names else None
    entity |= {"other_names": former, "former_names": former}
    entity["lei"] = _lei(parsed, document, filer, shared)
    parsed.add(ENTITIES, [shared | entity])
    parsed.add(IDENTIFIERS, [shared | _identifier("cik", cik_of(filer["cik"]), None)])
    _tickers(parsed, document, filer, shared)
    add_filings(parsed, document, filer["cik"], listed, "filings", "recent")
    return parsed


def _cik_of_older_page(document: Document, page: dict[str, Any]) -> str | None:
    """Return whose list this continues with more filings; None if it is no such page."""
    match = _OLDER_PAGE.search(document.url)
    return match[1] if match and "cik" not in page and lists_filings(page) else None


def _older_page(document: Document, cik: str, page: dict[str, Any]) -> Parsed:
    parsed = Parsed()
    try:
        columns = columns_of(page)
        if columns["form"]:
            require_annual_report(columns)
            add_filings(parsed, document, cik, columns)
    except ValueError as error:
        parsed.reject(FILINGS, document, "", str(error))
    return parsed


def _service_id(filer: dict[str, Any]) -> str:
    if "cik" not in filer:
        raise ValueError("no filer is named: an older page, or not a list of submissions")
    return service_id_of(filer["cik"])


def _shared(document: Document, service_id: str, listed: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the columns that rows of the filer share; the latest filing dates them."""
    filed, accession = _latest_filing(listed)
    return {
        **provenance(document, "", "api"),
        "available_at": filed,
        "publication": accession,
        "service_id": service_id,
    }


def _latest_filing(listed: dict[str, list[Any]]) -> tuple[date, str]:
    """Return day and accession number of the latest filing; raise if no annual report is listed."""
    require_annual_report(listed)
    # The newest by day and number, whatever the order of the list.
    return max(
        (calendar_day(day), printable_text(accession))
        for day, accession in zip(listed["filingDate"], listed["accessionNumber"], strict=True)
    )


def _entity(filer: dict[str, Any]) -> dict[str, Any]:
    addresses = filer.get("addresses")
    business = addresses.get("business") if isinstance(addresses, dict) else None
    address = business if isinstance(business, dict) else {}
    return {
        "legal_name": folded_name(filer.get("name")),
        "jurisdiction": jurisdiction_of(filer.get("stateOfIncorporation")),
        "country": country_of(address.get("countryCode") or address.get("stateOrCountry")),
        # "operating" is EDGAR's word for companies; "other" may be a person.
        "entity_type": "company" if filer.get("entityType") == "operating" else None,
        "status": None,
        "lei_status": None,
        "same_as": None,
    }


def _former_names(filer: dict[str, Any]) -> list[str]:
    former = filer.get("formerNames")
    entries = former if isinstance(former, list) else []
    names = [_folded(entry.get("name")) for entry in entries if isinstance(entry, dict)]
    return [name for name in dict.fromkeys(names) if name and name.isprintable()]


def _folded(name: object) -> str:
    """Return a name in which blanks of any kind are one blank."""
    return " ".join(name.split()) if isinstance(name, str) else ""


def _identifier(id_type: str, id_value: str, issuer: str | None) -> dict[str, Any]:
    return {"id_type": id_type, "id_value": id_value, "issuer": issuer, "status": None}


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
    parsed.add(IDENTIFIERS, [shared | _identifier("lei", lei, None)])
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
            parsed.reject(IDENTIFIERS, document, location, "a ticker needs its market beside it")
            continue
        mic = MICS.get(name)
        # An exchange without a MIC keeps EDGAR's name: the ticker still needs a market.
        parsed.add(IDENTIFIERS, [shared | _identifier("ticker", f"{mic or name}:{symbol}", mic)])
