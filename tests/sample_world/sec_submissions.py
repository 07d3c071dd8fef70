"""Submissions documents of the SEC: who an issuer is, and what it filed."""

from tests.sample_world.filings import Filing, taxonomy_of
from tests.sample_world.organisations import (
    BANK,
    FIRST_CIK,
    INSURER,
    RETAILER,
    SampleOrganisation,
    cik_of,
    person_name,
    role_of,
    ticker_of,
)
from tests.sample_world.writer import Json, WorldWriter

PERSON_CIK = f"{FIRST_CIK - 1:010d}"

_SECTORS = (("1040", "Gold & Silver Ores"), ("3241", "Cement, Hydraulic"), ("4813", "Telephone"))
_ROLE_SECTORS = {
    BANK: ("6022", "State Commercial Banks"),
    INSURER: ("6331", "Fire, Marine & Casualty Insurance"),
    RETAILER: ("5331", "Retail-Variety Stores"),
}
_OVER_THE_COUNTER = (0, 6, 9)
_RENAMED_ROLES = (3, BANK)


def submissions(company: SampleOrganisation, filings: list[Filing]) -> Json:
    """Return the submissions document of an issuer; its accessions are those of its facts."""
    country = company.country
    sic, sector = _ROLE_SECTORS.get(role_of(company), _SECTORS[company.serial % len(_SECTORS)])
    year_end = max(filing.period.end for filing in filings if filing.fiscal_year)
    return _filer(cik_of(company), company.name) | {
        "entityType": "operating",
        "sic": sic,
        "sicDescription": sector,
        "tickers": [ticker_of(company)],
        "exchanges": ["OTC" if role_of(company) in _OVER_THE_COUNTER else "NYSE"],
        "lei": company.lei if role_of(company) % 3 == 0 else None,
        "category": "Accelerated filer" if taxonomy_of(company) == "us-gaap" else "",
        "fiscalYearEnd": f"{year_end:%m%d}",
        "stateOfIncorporation": country.edgar,
        "stateOfIncorporationDescription": country.name,
        "addresses": {kind: _address(company) for kind in ("mailing", "business")},
        "formerNames": _former_names(company, filings),
        "filings": {"recent": _columns(filings), "files": []},
    }


def _former_names(company: SampleOrganisation, filings: list[Filing]) -> list[Json]:
    if role_of(company) not in _RENAMED_ROLES:
        return []
    first, last = min(f.filed for f in filings), sorted(f.filed for f in filings)[2]
    since, until = (f"{day}T00:00:00.000Z" for day in (first, last))
    return [{"name": f"Old {company.name}", "from": since, "to": until}]


def person_submissions(world: WorldWriter) -> Json:
    """Return the document of a natural person who files as an owner."""
    traded, filed = world.ago(470), world.ago(469)
    given_name, family_name = person_name(0).upper().split()
    columns = _columns([]) | {
        "accessionNumber": [f"{PERSON_CIK}-{filed[2:4]}-000001"],
        "filingDate": [filed],
        "reportDate": [traded],
        "acceptanceDateTime": [f"{filed}T18:02:11.000Z"],
        "form": ["4"],
    }
    filled = {name: values or [""] for name, values in columns.items()}
    return _filer(PERSON_CIK, f"{family_name} {given_name}") | {
        "filings": {"recent": filled, "files": []}
    }


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


def _address(company: SampleOrganisation) -> Json:
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
        "filmNumber": [f"26{position:07d}" for position, _ in enumerate(newest)],
        "items": ["" for _ in newest],
        "core_type": [filing.form for filing in newest],
        "size": [1_000_000 + position for position, _ in enumerate(newest)],
        "isXBRL": [1 for _ in newest],
        "isInlineXBRL": [1 for _ in newest],
        "primaryDocument": ["report.htm" for _ in newest],
        "primaryDocDescription": [filing.form for filing in newest],
    }
