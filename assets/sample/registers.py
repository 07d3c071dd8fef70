"""Registers of organisations: the LEI golden copy, and the mappings from an LEI."""

from collections.abc import Iterator

from assets.sample.lei_record import fund, lei_record, sole_proprietor
from assets.sample.organisations import (
    ISSUERS_A_SCALE,
    Organisation,
    body,
    isin_of,
    issuer,
    supplier,
    ticker_of,
)
from assets.sample.write import Json, World, exact_json

GLEIF, ISIN_LEI, OC_LEI, LISTINGS = "gleif", "isin-lei", "oc-lei", "listings"
FULL_DAY, DELTA_DAY = "2026-01-15", "2026-06-15"

_STATUSES = ("listed", "listed", "listed", "suspended")
_LAPSED_ROLE, _RENAMED_ROLE, _DELISTED_ROLE = 2, 7, 7


def write_registers(world: World) -> None:
    """Write the registers: a full copy of each, and later what changed."""
    _write_golden_copy(world, FULL_DAY, f"golden-copy/lei2-{FULL_DAY}.json", _records(world))
    delta = f"golden-copy/lei2-delta-{DELTA_DAY}.json"
    _write_golden_copy(world, DELTA_DAY, delta, _changed_records(world))
    world.write_csv(ISIN_LEI, FULL_DAY, f"isin-lei-{FULL_DAY}.csv", _isin_rows(world))
    world.write_csv(OC_LEI, FULL_DAY, f"oc-lei-{FULL_DAY}.csv", _oc_rows(world))
    for day in (FULL_DAY, DELTA_DAY):
        world.write_csv(LISTINGS, day, "listings.csv", _listing_rows(world, day))
    _note(world, delta)


def _write_golden_copy(world: World, day: str, path: str, records: Iterator[Json]) -> None:
    with world.stream(GLEIF, day, path) as text:
        text.write('{"records":[\n')
        for count, record in enumerate(records, 1):
            text.write((",\n" if count > 1 else "") + exact_json(record, indent=4))
        text.write("\n]}\n")
    world.counts[f"{GLEIF}.records"] += count


def _records(world: World) -> Iterator[Json]:
    yield from (lei_record(company) for company in _issuers(world))
    for serial in range(18 * world.scale):
        yield lei_record(supplier("KE", serial))
        if serial % 3:
            yield lei_record(supplier("CO", serial))
    for serial in range(2 * world.scale):
        yield from (lei_record(body(code, serial)) for code in ("ZA", "KE", "CO"))
        yield from (sole_proprietor(2 * serial + n) for n in range(2))
    yield from (lei_record(fund(serial)) for serial in range(8 * world.scale))


def _changed_records(world: World) -> Iterator[Json]:
    for company in _issuers(world):
        role = company.serial % ISSUERS_A_SCALE
        if role == _LAPSED_ROLE:
            yield lei_record(company, updated=DELTA_DAY, status="LAPSED")
        if role == _RENAMED_ROLE:
            yield lei_record(company, updated=DELTA_DAY, renamed=f"Nouvelle {company.name}")


def _issuers(world: World) -> Iterator[Organisation]:
    return (issuer(serial) for serial in range(ISSUERS_A_SCALE * world.scale))


def _isin_rows(world: World) -> Iterator[tuple[str, ...]]:
    yield "LEI", "ISIN"
    for company in _issuers(world):
        yield company.lei, isin_of(company.country, company.serial)
        if company.serial % 3 == 0:
            yield company.lei, isin_of(company.country, company.serial, line=1)


def _oc_rows(world: World) -> Iterator[tuple[str, ...]]:
    yield "LEI", "OpenCorporatesID"
    for company in _issuers(world):
        number = company.register_number.replace("/", "")
        yield company.lei, f"{company.country.code.lower()}/{number}"


def _listing_rows(world: World, day: str) -> Iterator[tuple[str, ...]]:
    yield "mic", "ticker", "isin", "name", "currency", "status"
    for company in _issuers(world):
        country, role = company.country, company.serial % ISSUERS_A_SCALE
        gone = role == _DELISTED_ROLE and day == DELTA_DAY
        status = "delisted" if gone else _STATUSES[role % len(_STATUSES)]
        code = "" if role == 5 else isin_of(country, company.serial)
        currency = "ZAC" if country.code == "ZA" else country.currency
        yield country.mic, ticker_of(company), code, company.name, currency, status


def _note(world: World, delta: str) -> None:
    full = f"golden-copy/lei2-{FULL_DAY}.json"
    for serial in (3, 4):
        company = issuer(serial)
        where = {
            "pointer": f"/records/{serial}/Entity/RegistrationAuthority",
            "register_number": company.register_number,
            "lei": company.lei,
        }
        world.traps.note("ambiguous_register_number", GLEIF, FULL_DAY, full, **where)
    where = {"pointer": "/records/6/Entity/LegalJurisdiction/$", "country": "NA"}
    world.traps.note("country_na", GLEIF, FULL_DAY, full, **where)
    where = {"pointer": "/records/0/Registration/RegistrationStatus/$"}
    world.traps.note("lei_lapsed", GLEIF, DELTA_DAY, delta, **where)
    where = {"pointer": "/records/1/Entity/LegalName/$"}
    world.traps.note("name_change", GLEIF, DELTA_DAY, delta, **where)
    where = {"lei": sole_proprietor(0)["LEI"]["$"]}
    world.traps.note("sole_proprietor_with_lei", GLEIF, FULL_DAY, full, **where)
    where = {"mic": "XBRV", "ticker": ticker_of(issuer(_DELISTED_ROLE))}
    world.traps.note("delisted", LISTINGS, DELTA_DAY, "listings.csv", **where)
