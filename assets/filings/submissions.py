"""SEC submissions: the filers that are issuers, which only an annual report proves.

EDGAR also numbers natural persons, who report what they own. Without an annual report nothing is
stored, and the reason does not repeat the name.
"""

import json
from datetime import date
from typing import Any

import pycountry
from stdnum import lei as lei_number

from assets.filings.companyfacts import service_id_of
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, json_object, json_pointer, printable_text, read_json
from quality.persons import drop_personal_names
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, IDENTIFIERS

# Including transition periods (10-KT) and discontinued forms (10-K405, 10-KSB).
_FORMS = ("10-K", "10-KT", "10-K405", "10-KT405", "10-KSB", "10-KSB40", "20-F", "20-FT", "40-F")
ANNUAL_REPORTS = frozenset(form + amendment for form in _FORMS for amendment in ("", "/A"))

# EDGAR's names of exchanges -> ISO 10383; only where a name means exactly one market.
MICS = {"NYSE": "XNYS", "NASDAQ": "XNAS", "CBOE": "XCBO"}


def parse(document: Document, body: bytes) -> Parsed:
    """Parse one filer: the organisation and its identifiers, if it files annual reports."""
    parsed = Parsed()
    try:
        filer = json_object(read_json(body))
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
    entity["other_names"] = json.dumps(names, ensure_ascii=False) if names else None
    entity["lei"] = _lei(parsed, document, filer, shared)
    parsed.add(ENTITIES, [shared | entity])
    parsed.add(IDENTIFIERS, [shared | _identifier("cik", _cik(filer), None)])
    _tickers(parsed, document, filer, shared)
    return parsed


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
        "legal_name": printable_text(filer.get("name")),
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
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    return [name for name in names if isinstance(name, str) and name.isprintable()]


def _cik(filer: dict[str, Any]) -> str:
    return str(filer["cik"]).strip().zfill(10)


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


_SUBDIVISIONS: Any = pycountry.subdivisions

# EDGAR code = ISO 3166-1 alpha-2.
_COUNTRIES = """
    1A=AI 1B=AM 1C=AW 1D=AZ 1E=BA 1F=BY 1G=DJ 1H=EE 1J=ER 1K=FM 1M=HR 1N=KG 1P=KZ 1Q=LT 1R=LV
    1S=MD 1T=MH 1U=MK 1W=NC 1X=PS 1Y=PW 1Z=RU 2A=SI 2B=SK 2D=TJ 2E=TM 2G=TV 2H=UA 2K=UZ 2L=VU
    2M=DE 2N=CZ 2P=YT 2Q=GE B1=BW B2=AF B3=AL B4=DZ B6=AD B7=AO B9=AG C0=AE C1=AR C3=AU C4=AT
    C5=BS C6=BH C7=BD C8=BB C9=BE D0=BM D1=BZ D2=BT D3=BO D5=BR D7=SB D8=VG D9=BN E0=BG E1=MM
    E2=BI E3=KH E4=CM E8=CV E9=KY F0=CF F1=LK F2=TD F3=CL F4=CN F5=TW F8=CO F9=KM G0=CG G1=CK
    G2=CR G3=CU G4=CY G6=BJ G7=DK G8=DO G9=DM H1=EC H2=EG H3=SV H4=GQ H5=ET H6=FO H7=FK H8=FJ
    H9=FI I0=FR I3=GF I4=PF I5=GA I6=GM J0=GH J1=GI J2=KI J3=GR J4=GL J5=GD J6=GP J8=GT J9=GN
    K0=GY K1=HT K2=HN K3=HK K5=HU K6=IS K7=IN K8=ID K9=IR L0=IQ L2=IE L3=IL L6=IT L7=CI L8=JM
    M0=JP M2=JO M3=KE M4=KP M5=KR M6=KW M7=LA M8=LB M9=LS N0=LR N1=LY N2=LI N4=LU N5=MO N6=MG
    N7=MW N8=MY N9=MV O0=ML O1=MT O2=MQ O3=MR O4=MU O5=MX O9=MC P0=MN P1=MS P2=MA P3=MZ P4=OM
    P5=NR P6=NP P7=NL Q1=VN Q2=NZ Q3=NI Q4=NE Q5=NG Q6=NU Q8=NO R0=PK R1=PA R2=PG R4=PY R5=PE
    R6=PH R9=PL S0=GW S1=PT S3=QA S4=RE S5=RO S6=RW S8=SM S9=ST T0=SA T1=SN T2=SC T3=ZA T6=NA
    T7=YE T8=SL U0=SG U1=SO U3=ES U5=EH U7=KN U8=SH U9=LC V1=VC V2=SD V3=SR V6=SZ V7=SE V8=CH
    V9=SY W0=TZ W1=TH W2=TG W4=TO W5=TT W6=TN W7=TC W8=TR W9=UG X0=GB X1=US X2=BF X3=UY X5=VE
    Y0=WS Y3=CD Y4=ZM Y5=ZW Y7=GG Y8=IM Y9=JE Z2=RS Z3=TL Z4=CA Z5=ME
"""

# EDGAR's codes of Canadian provinces, in the order A0 to A9, then B0.
_PROVINCES = ("AB", "BC", "MB", "NB", "NL", "NS", "ON", "PE", "QC", "SK", "YT")
_PROVINCE_CODES = (*(f"A{digit}" for digit in range(10)), "B0")

ISO_COUNTRY: dict[str, str] = {pair[:2]: pair[3:] for pair in _COUNTRIES.split()}
ISO_PROVINCE: dict[str, str] = {
    code: f"CA-{province}" for code, province in zip(_PROVINCE_CODES, _PROVINCES, strict=True)
}


def jurisdiction_of(code: object) -> str | None:
    """Return the ISO 3166-1 code of a country, or 3166-2 of a state or province; else None."""
    if not isinstance(code, str):
        return None
    if code in ISO_COUNTRY:
        return ISO_COUNTRY[code]
    if code in ISO_PROVINCE:
        return ISO_PROVINCE[code]
    state = f"US-{code}"
    return state if _SUBDIVISIONS.get(code=state) is not None else None


def country_of(code: object) -> str | None:
    """Return the alpha-2 code of the country of an EDGAR code; else None."""
    jurisdiction = jurisdiction_of(code)
    return jurisdiction[:2] if jurisdiction else None
