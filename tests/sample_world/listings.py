"""Lists of exchanges, and OpenFIGI's answers about their securities."""

from collections.abc import Iterator

from tests.sample_world.organisations import (
    SampleOrganisation,
    figi_of,
    isin_of,
    issuer,
    role_of,
    ticker_of,
)
from tests.sample_world.registers import CHANGES, FULL_COPY, issuers_of
from tests.sample_world.writer import Json, WorldWriter, exact_json

LISTINGS, OPENFIGI, EQUITIES = "listings", "openfigi", "finance-database"

_STATUSES = ("listed", "listed", "listed", "suspended")
_NO_ISIN_ROLE, _NO_FIGI_ROLE, _DELISTED_ROLE = 5, 8, 7
_LISTED_ABROAD = (3, 15)
# Jobs in one request of OpenFIGI.
_JOBS = 10


def write_listings(world: WorldWriter) -> None:
    """Write the lists as they were with the full copies of registers, and one with the changes."""
    full, changed_on = world.ago(FULL_COPY), world.ago(CHANGES)
    _write_figis(world, full)
    world.write_csv(EQUITIES, full, "main/database/equities/JNB.csv", _equity_rows(world))
    for day in (full, changed_on):
        world.write_csv(LISTINGS, day, "listings.csv", _listing_rows(world, day))
    where = {"mic": "XBRV", "ticker": ticker_of(issuer(_DELISTED_ROLE))}
    world.traps.note("delisted", LISTINGS, changed_on, "listings.csv", **where)


def _listing_rows(world: WorldWriter, day: str) -> Iterator[tuple[str, ...]]:
    yield "mic", "ticker", "isin", "lei", "name", "currency", "status"
    for company in issuers_of(world):
        country, role = company.country, role_of(company)
        is_delisted = role == _DELISTED_ROLE and day == world.ago(CHANGES)
        status = "delisted" if is_delisted else _STATUSES[role % len(_STATUSES)]
        code = "" if role == _NO_ISIN_ROLE else isin_of(country, company.serial)
        # Johannesburg quotes in cents, under a code that ISO does not have.
        currency = "ZAC" if country.code == "ZA" else country.currency
        lei = "" if code else company.lei
        yield country.mic, ticker_of(company), code, lei, company.name, currency, status
        if role in _LISTED_ABROAD:
            # Under another name: only the listing itself says that it is the issuer of the SEC.
            name = company.name.replace(" Fictional", " International Fictional")
            yield "XNYS", ticker_of(company), "", "", name, "USD", "listed"


def _write_figis(world: WorldWriter, day: str) -> None:
    """Write OpenFIGI's answer to a request for the FIGIs of ISINs; it does not know them all."""
    companies = [company for company in issuers_of(world) if role_of(company) != _NO_ISIN_ROLE]
    for start in range(0, len(companies), _JOBS):
        asked = companies[start : start + _JOBS]
        codes = [isin_of(company.country, company.serial) for company in asked]
        path = f"v3/mapping/{start // _JOBS + 1}.json"
        answers = [_figi_answer(company) for company in asked]
        world.write_json(OPENFIGI, day, path, answers, len(answers))
        jobs = [{"idType": "ID_ISIN", "idValue": code} for code in codes]
        world.write_json(OPENFIGI, day, f"{path}.headers.json", {"x-jobs": exact_json(jobs)})


def _figi_answer(company: SampleOrganisation) -> Json:
    if role_of(company) == _NO_FIGI_ROLE:
        return {"warning": "No identifier found."}
    names = ("shareClassFIGI", "compositeFIGI", "figi")
    figis = {name: figi_of(company.serial, level) for level, name in enumerate(names, 1)}
    security = {
        "name": company.name.upper(),
        "ticker": ticker_of(company),
        "exchCode": company.country.code,
        "securityType": "Common Stock",
        "marketSector": "Equity",
    }
    return {"data": [security | figis]}


def _equity_rows(world: WorldWriter) -> Iterator[tuple[str, ...]]:
    """Yield a list that knows FIGIs and few ISINs: only the share class leads to the issuer."""
    yield (
        *("symbol", "name", "isin", "figi", "composite_figi", "shareclass_figi", "mic"),
        *("currency", "country", "delisted"),
    )
    for company in issuers_of(world):
        if company.country.code == "ZA":
            share_class, composite, listing = (
                figi_of(company.serial, level) for level in (1, 2, 3)
            )
            symbol = f"{ticker_of(company)}.JO"
            yield (
                *(symbol, company.name, "", listing, composite, share_class, company.country.mic),
                *("ZAC", company.country.name, "False"),
            )
