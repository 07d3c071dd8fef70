"""SEC submissions: the filers that are issuers, which only an annual report proves.

EDGAR also numbers natural persons, who report what they own. Without an annual report nothing is
stored, and the reason does not repeat the name.
"""

import json
import re
from datetime import date
from typing import Any

from stdnum import lei as lei_number

from assets.entities.identifiers import cik_of
from assets.entities.list_files import EDGAR_MARKETS
from assets.filings.filers import ANNUAL_REPORTS, folded_name, service_id_of
from assets.filings.places import country_of, jurisdiction_of
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, json_object, json_pointer, printable_text, read_json
from quality.persons import drop_personal_names
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, IDENTIFIERS

_OLDER_PAGE = re.compile(r"/CIK[0-9]{10}-submissions-[0-9]+\.json$")

# EDGAR's names of exchanges -> ISO 10383, in capitals: not all of its files agree on their case.
MICS = {name.upper(): mic for name, mic in EDGAR_MARKETS.items()}


def parse(document: Document, body: bytes) -> Parsed:
    """Parse one filer: the organisation and its identifiers, if it files annual reports."""
    parsed = Parsed()
    try:
        filer = json_object(read_json(body))
        if _is_older_page(document, filer):
            return parsed
        shared = _shared(document, filer)
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
    listed = json.dumps(names, ensure_ascii=False) if names else None
    entity |= {"other_names": listed, "former_names": listed}
    entity["lei"] = _lei(parsed, document, filer, shared)
    parsed.add(ENTITIES, [shared | entity])
    parsed.add(IDENTIFIERS, [shared | _identifier("cik", cik_of(filer["cik"]), None)])
    _tickers(parsed, document, filer, shared)
    return parsed


def _is_older_page(document: Document, page: dict[str, Any]) -> bool:
    """Return whether this continues a list: more filings, of which none is a row of ours."""
    columns = [page.get(name) for name in ("form", "filingDate", "accessionNumber")]
    return (
        _OLDER_PAGE.search(document.url) is not None
        and "cik" not in page
        and all(isinstance(column, list) for column in columns)
    )


def _shared(document: Document, filer: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that all rows share; the latest filing dates them."""
    if "cik" not in filer:
        raise ValueError("no filer is named: an older page, or not a list of submissions")
    service_id = service_id_of(filer["cik"])
    filed, accession = _latest_filing(filer)
    return {
        **provenance(document, "", "api"),
        "available_at": filed,
        "publication": accession,
        "service_id": service_id,
    }


def _latest_filing(filer: dict[str, Any]) -> tuple[date, str]:
    """Return day and accession number of the latest filing; raise if no annual report is listed.

    EDGAR writes the list column by column: equally long arrays of forms, days and numbers.
    """
    recent = json_object(json_object(filer.get("filings")).get("recent"))
    forms, days, accessions = (
        recent.get(name) for name in ("form", "filingDate", "accessionNumber")
    )
    if not (isinstance(forms, list) and isinstance(days, list) and isinstance(accessions, list)):
        raise ValueError("the list of filings is not there")
    if not len(forms) == len(days) == len(accessions):
        raise ValueError("the columns of the list of filings differ in length")
    if not any(isinstance(form, str) and form in ANNUAL_REPORTS for form in forms):
        raise ValueError("no annual report: not established to be an issuer")
    # The newest by day and number, whatever the order of the list.
    return max(
        (calendar_day(day), printable_text(accession))
        for day, accession in zip(days, accessions, strict=True)
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
