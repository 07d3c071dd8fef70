"""Registers of organisations: the LEI golden copy, and mappings from an LEI."""

from collections.abc import Iterator

from tests.sample_world.brazil import companies_of
from tests.sample_world.countries import COUNTRIES_BY_CODE
from tests.sample_world.organisations import (
    ISSUERS_PER_SCALE,
    SampleOrganisation,
    body,
    isin_of,
    issuer,
    lei,
    person_name,
    role_of,
    supplier,
)
from tests.sample_world.writer import Json, WorldWriter, exact_json

GLEIF, ISIN_LEI, OC_LEI = "gleif", "isin-lei", "oc-lei"
# Days before that of the world: the full copies, and the changes since.
FULL_COPY, CHANGES = 152, 1

_MANAGING_LOU = "989900ZAC00000000000"
_CATEGORIES = {
    "body": "RESIDENT_GOVERNMENT_ENTITY",
    "fund": "FUND",
    "person": "SOLE_PROPRIETOR",
}
_NO_REGISTER = "RA999999"
_LAPSED_ROLE, _RENAMED_ROLE = 2, 7


def write_registers(world: WorldWriter) -> None:
    """Write a full copy of each register, and later the changes."""
    full, delta_day = world.ago(FULL_COPY), world.ago(CHANGES)
    _write_golden_copy(world, full, f"golden-copy/lei2-{full}.json", _records(world))
    delta = f"golden-copy/lei2-delta-{delta_day}.json"
    _write_golden_copy(world, delta_day, delta, _changed_records(world))
    world.write_csv(ISIN_LEI, full, f"isin-lei-{full}.csv", _isin_rows(world))
    world.write_csv(OC_LEI, full, f"oc-lei-{full}.csv", _oc_rows(world))
    _note(world, delta)


def _write_golden_copy(world: WorldWriter, day: str, path: str, records: Iterator[Json]) -> None:
    with world.stream(GLEIF, day, path) as text:
        text.write('{"records":[\n')
        for count, record in enumerate(records, 1):
            text.write((",\n" if count > 1 else "") + exact_json(record, indent=4))
        text.write("\n]}\n")
    world.counts[f"{GLEIF}.records"] += count


def _records(world: WorldWriter) -> Iterator[Json]:
    updated = world.ago(FULL_COPY + 56)
    yield from (lei_record(company, updated) for company in issuers_of(world))
    for serial in range(18 * world.scale):
        yield lei_record(supplier("KE", serial), updated)
        if serial % 3:
            yield lei_record(supplier("CO", serial), updated)
            yield lei_record(supplier("ZA", serial), updated)
    for serial in range(2 * world.scale):
        yield from (lei_record(body(code, serial), updated) for code in ("ZA", "KE", "CO"))
        yield from (sole_proprietor(2 * serial + n, updated) for n in range(2))
    yield from (lei_record(fund(serial), updated) for serial in range(8 * world.scale))
    yield from (lei_record(company, updated) for company in companies_of(world))


def _changed_records(world: WorldWriter) -> Iterator[Json]:
    for company in issuers_of(world):
        role = role_of(company)
        if role == _LAPSED_ROLE:
            yield lei_record(company, updated=world.ago(CHANGES), status="LAPSED")
        if role == _RENAMED_ROLE:
            yield lei_record(
                company, updated=world.ago(CHANGES), renamed=f"Nouvelle {company.name}"
            )


def issuers_of(world: WorldWriter) -> Iterator[SampleOrganisation]:
    """Iterate over the issuers of a world."""
    return (issuer(serial) for serial in range(ISSUERS_PER_SCALE * world.scale))


def _isin_rows(world: WorldWriter) -> Iterator[tuple[str, ...]]:
    yield "LEI", "ISIN"
    for company in issuers_of(world):
        yield company.lei, isin_of(company.country, company.serial)
        if company.serial % 3 == 0:
            yield company.lei, isin_of(company.country, company.serial, line=1)


def _oc_rows(world: WorldWriter) -> Iterator[tuple[str, ...]]:
    yield "LEI", "OpenCorporatesID"
    for company in issuers_of(world):
        number = company.register_number.replace("/", "")
        yield company.lei, f"{company.country.code.lower()}/{number}"


def _note(world: WorldWriter, delta: str) -> None:
    full_day, changed_on = world.ago(FULL_COPY), world.ago(CHANGES)
    full = f"golden-copy/lei2-{full_day}.json"
    for serial in (3, 4):
        company = issuer(serial)
        where = {
            "pointer": f"/records/{serial}/Entity/RegistrationAuthority",
            "register_number": company.register_number,
            "lei": company.lei,
        }
        world.traps.note("ambiguous_register_number", GLEIF, full_day, full, **where)
    where = {"pointer": "/records/6/Entity/LegalJurisdiction/$", "country": "NA"}
    world.traps.note("country_na", GLEIF, full_day, full, **where)
    where = {"pointer": "/records/0/Registration/RegistrationStatus/$"}
    world.traps.note("lei_lapsed", GLEIF, changed_on, delta, **where)
    where = {"pointer": "/records/1/Entity/LegalName/$"}
    world.traps.note("name_change", GLEIF, changed_on, delta, **where)
    where = {"lei": lei("person", COUNTRIES_BY_CODE["ZA"], 0)}
    world.traps.note("sole_proprietor_with_lei", GLEIF, full_day, full, **where)


def lei_record(
    organisation: SampleOrganisation,
    updated: str,
    status: str | None = None,
    renamed: str | None = None,
) -> Json:
    """Return the golden-copy record of an organisation, in the JSON form that wraps every value."""
    status = status or ("LAPSED" if organisation.serial % 9 == 8 else "ISSUED")
    return {
        "LEI": _wrap(organisation.lei),
        "Entity": _entity(organisation, renamed),
        "Registration": _registration(organisation, updated, status),
        "Extension": {"gleif:conformity": {"gleif:conformityflag": _wrap("CONFORMING")}},
    }


def sole_proprietor(serial: int, updated: str) -> Json:
    """Return the record of a natural person who trades and has an LEI."""
    country = COUNTRIES_BY_CODE["ZA"]
    name, number = person_name(100 + serial), lei("person", country, serial)
    return lei_record(SampleOrganisation("person", serial, name, country, "", number), updated)


def fund(serial: int) -> SampleOrganisation:
    """Return a fund that does not exist."""
    country = COUNTRIES_BY_CODE["MU"]
    name = f"Fictional Islands Fund {serial + 1}"
    number = country.register_number(700_001 + serial)
    return SampleOrganisation("fund", serial, name, country, number, lei("fund", country, serial))


def _wrap(value: str) -> Json:
    return {"$": value}


def _entity(organisation: SampleOrganisation, renamed: str | None) -> Json:
    language = {"@xml:lang": organisation.country.language}
    entity = {
        "LegalName": {**language, "$": renamed or organisation.name},
        "LegalAddress": language | _address(organisation),
        "HeadquartersAddress": language | _address(organisation),
        "RegistrationAuthority": _authority("Registration", organisation),
        "LegalJurisdiction": _wrap(organisation.country.code),
        "EntityCategory": _wrap(_CATEGORIES.get(organisation.kind, "GENERAL")),
        "LegalForm": _legal_form(organisation),
        "EntityStatus": _wrap("ACTIVE"),
        "EntityCreationDate": _wrap(f"{1995 + organisation.serial % 25}-03-01T08:00:00+02:00"),
    }
    if renamed:
        before = {**language, "@type": "PREVIOUS_LEGAL_NAME", "$": organisation.name}
        entity["OtherEntityNames"] = {"OtherEntityName": [before]}
    return entity


def _address(organisation: SampleOrganisation) -> Json:
    return {
        "FirstAddressLine": _wrap(f"{organisation.serial + 1} Fictional Street"),
        "City": _wrap(organisation.country.city),
        "Country": _wrap(organisation.country.code),
        "PostalCode": _wrap("0000"),
    }


def _authority(prefix: str, organisation: SampleOrganisation) -> Json:
    # GLEIF's code for "not on the list".
    if not organisation.register_number or organisation.kind == "body":
        return {f"{prefix}AuthorityID": _wrap(_NO_REGISTER)}
    return {
        f"{prefix}AuthorityID": _wrap(organisation.country.authority),
        f"{prefix}AuthorityEntityID": _wrap(organisation.register_number),
    }


def _legal_form(organisation: SampleOrganisation) -> Json:
    public, private = organisation.country.legal_form_codes
    if organisation.kind == "person":
        return {"EntityLegalFormCode": _wrap("9999")}
    code = {"issuer": public, "supplier": private}.get(organisation.kind, "8888")
    form = {"EntityLegalFormCode": _wrap(code)}
    if code == "8888":  # a form without a code, given in words
        name = (
            organisation.country.public_form
            if organisation.kind == "issuer"
            else organisation.country.private_form
        )
        form["OtherLegalForm"] = _wrap(
            name if organisation.kind in ("issuer", "supplier") else organisation.kind
        )
    return form


def _registration(organisation: SampleOrganisation, updated: str, status: str) -> Json:
    # Timestamps of the golden copy come in all of these forms.
    zone = ("Z", "+02:00", ".554+02:00", ".000Z")[organisation.serial % 4]
    return {
        "InitialRegistrationDate": _wrap(f"2018-03-27T00:00:00{zone}"),
        "LastUpdateDate": _wrap(f"{updated}T00:00:00{zone}"),
        "RegistrationStatus": _wrap(status),
        "NextRenewalDate": _wrap(f"{int(updated[:4]) + 1}{updated[4:]}T08:31:20{zone}"),
        "ManagingLOU": _wrap(_MANAGING_LOU),
        "ValidationSources": _wrap("FULLY_CORROBORATED"),
        "ValidationAuthority": _authority("Validation", organisation),
    }
