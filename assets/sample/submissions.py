"""Submissions documents: who files, and the list of filings in columns."""

from assets.sample.filings import Filing, role_of, taxonomy_of
from assets.sample.names import person_name
from assets.sample.organisations import FIRST_CIK, Organisation, cik_of, ticker_of
from assets.sample.write import Json

PERSON_CIK = f"{FIRST_CIK - 1:010d}"

_SECTORS = (("1040", "Gold & Silver Ores"), ("3241", "Cement, Hydraulic"), ("4813", "Telephone"))


def submissions(company: Organisation, filings: list[Filing]) -> Json:
    """Give the document of an issuer; its accessions are those of its facts."""
    country = company.country
    sic, sector = _SECTORS[company.serial % len(_SECTORS)]
    year_end = max(filing.period.end for filing in filings if filing.fiscal_year)
    return _filer(cik_of(company), company.name) | {
        "entityType": "operating",
        "sic": sic,
        "sicDescription": sector,
        "tickers": [ticker_of(company)],
        "exchanges": ["NYSE" if role_of(company) % 3 else "OTC"],
        "lei": company.lei if role_of(company) % 3 == 0 else None,
        "category": "Accelerated filer" if taxonomy_of(company) == "us-gaap" else "",
        "fiscalYearEnd": f"{year_end:%m%d}",
        "stateOfIncorporation": country.edgar,
        "stateOfIncorporationDescription": country.name,
        "addresses": {kind: _address(company) for kind in ("mailing", "business")},
        "filings": {"recent": _columns(filings), "files": []},
    }


def person_submissions() -> Json:
    """Give the document of a natural person who files as an owner."""
    given, family = person_name(0).upper().split()
    columns = _columns([]) | {
        "accessionNumber": [f"{PERSON_CIK}-25-000001"],
        "filingDate": ["2025-03-04"],
        "reportDate": ["2025-03-03"],
        "acceptanceDateTime": ["2025-03-04T18:02:11.000Z"],
        "form": ["4"],
    }
    filled = {name: values or [""] for name, values in columns.items()}
    return _filer(PERSON_CIK, f"{family} {given}") | {"filings": {"recent": filled, "files": []}}


def _filer(cik: str, name: str) -> Json:
    return {
        "cik": cik,
        "entityType": "other",
        "sic": "",
        "sicDescription": "",
        "ownerOrg": None,
        "insiderTransactionForOwnerExists": 0,
        "insiderTransactionForIssuerExists": 0,
        "name": name,
        "tickers": [],
        "exchanges": [],
        "ein": "000000000",
        "lei": None,
        "description": "",
        "website": "",
        "investorWebsite": "",
        "category": "",
        "fiscalYearEnd": None,
        "stateOfIncorporation": "",
        "stateOfIncorporationDescription": "",
        "addresses": {},
        "phone": "000-000-0000",
        "flags": "",
        "formerNames": [],
    }


def _address(company: Organisation) -> Json:
    country = company.country
    return {
        "street1": f"{company.serial + 1} FICTIONAL STREET",
        "street2": None,
        "city": country.city.upper(),
        "stateOrCountry": country.edgar,
        "zipCode": "0000",
        "stateOrCountryDescription": country.name,
        "isForeignLocation": 1,
        "foreignStateTerritory": None,
        "country": country.name,
        "countryCode": country.edgar,
    }


def _columns(filings: list[Filing]) -> Json:
    newest = sorted(filings, key=lambda filing: (filing.filed, filing.accession), reverse=True)
    return {
        "accessionNumber": [filing.accession for filing in newest],
        "filingDate": [filing.filed.isoformat() for filing in newest],
        "reportDate": [filing.period.end.isoformat() for filing in newest],
        "acceptanceDateTime": [filing.accepted for filing in newest],
        "act": ["34" for _ in newest],
        "form": [filing.form for filing in newest],
        "fileNumber": ["001-99000" for _ in newest],
        "filmNumber": [f"26{place:07d}" for place, _ in enumerate(newest)],
        "items": ["" for _ in newest],
        "core_type": [filing.form for filing in newest],
        "size": [1_000_000 + place for place, _ in enumerate(newest)],
        "isXBRL": [1 for _ in newest],
        "isInlineXBRL": [1 for _ in newest],
        "primaryDocument": ["report.htm" for _ in newest],
        "primaryDocDescription": [filing.form for filing in newest],
    }
