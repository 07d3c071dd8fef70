"""Records of the LEI golden copy, in the JSON form that wraps every value."""

from assets.sample.countries import BY_CODE
from assets.sample.names import person_name
from assets.sample.organisations import Organisation, lei
from assets.sample.write import Json

_MANAGING_LOU = "989900ZAC00000000000"
_CATEGORIES = {
    "body": "RESIDENT_GOVERNMENT_ENTITY",
    "fund": "FUND",
    "person": "SOLE_PROPRIETOR",
}
_NO_REGISTER = "RA999999"


def lei_record(
    who: Organisation,
    updated: str = "2025-11-20",
    status: str | None = None,
    renamed: str | None = None,
) -> Json:
    """Give the record of an organisation, as it stood when it was updated."""
    status = status or ("LAPSED" if who.serial % 9 == 8 else "ISSUED")
    return {
        "LEI": _wrap(who.lei),
        "Entity": _entity(who, renamed),
        "Registration": _registration(who, updated, status),
        "Extension": {"gleif:conformity": {"gleif:conformityflag": _wrap("CONFORMING")}},
    }


def sole_proprietor(serial: int) -> Json:
    """Give the record of a natural person who trades and has an LEI."""
    country = BY_CODE["ZA"]
    name, number = person_name(100 + serial), lei("person", country, serial)
    return lei_record(Organisation("person", serial, name, country, "", number))


def fund(serial: int) -> Organisation:
    """Give a fund that does not exist."""
    country = BY_CODE["MU"]
    name = f"Fictional Islands Fund {serial + 1}"
    number = country.register_number(700_001 + serial)
    return Organisation("fund", serial, name, country, number, lei("fund", country, serial))


def _wrap(value: str) -> Json:
    return {"$": value}


def _entity(who: Organisation, renamed: str | None) -> Json:
    language = {"@xml:lang": who.country.language}
    entity = {
        "LegalName": {**language, "$": renamed or who.name},
        "LegalAddress": language | _address(who),
        "HeadquartersAddress": language | _address(who),
        "RegistrationAuthority": _authority("Registration", who),
        "LegalJurisdiction": _wrap(who.country.code),
        "EntityCategory": _wrap(_CATEGORIES.get(who.kind, "GENERAL")),
        "LegalForm": _legal_form(who),
        "EntityStatus": _wrap("ACTIVE"),
        "EntityCreationDate": _wrap(f"{1995 + who.serial % 25}-03-01T08:00:00+02:00"),
    }
    if renamed:
        before = {**language, "@type": "PREVIOUS_LEGAL_NAME", "$": who.name}
        entity["OtherEntityNames"] = {"OtherEntityName": [before]}
    return entity


def _address(who: Organisation) -> Json:
    return {
        "FirstAddressLine": _wrap(f"{who.serial + 1} Fictional Street"),
        "City": _wrap(who.country.city),
        "Country": _wrap(who.country.code),
        "PostalCode": _wrap("0000"),
    }


def _authority(prefix: str, who: Organisation) -> Json:
    if not who.register_number or who.kind == "body":
        return {f"{prefix}AuthorityID": _wrap(_NO_REGISTER)}
    return {
        f"{prefix}AuthorityID": _wrap(who.country.authority),
        f"{prefix}AuthorityEntityID": _wrap(who.register_number),
    }


def _legal_form(who: Organisation) -> Json:
    public, private = who.country.legal_form_codes
    if who.kind == "person":
        return {"EntityLegalFormCode": _wrap("9999")}
    code = {"issuer": public, "supplier": private}.get(who.kind, "8888")
    form = {"EntityLegalFormCode": _wrap(code)}
    if code == "8888":
        stated = who.country.public_form if who.kind == "issuer" else who.country.private_form
        form["OtherLegalForm"] = _wrap(stated if who.kind in ("issuer", "supplier") else who.kind)
    return form


def _registration(who: Organisation, updated: str, status: str) -> Json:
    zone = ("Z", "+02:00", ".554+02:00", ".000Z")[who.serial % 4]
    return {
        "InitialRegistrationDate": _wrap(f"2018-03-27T00:00:00{zone}"),
        "LastUpdateDate": _wrap(f"{updated}T00:00:00{zone}"),
        "RegistrationStatus": _wrap(status),
        "NextRenewalDate": _wrap(f"{int(updated[:4]) + 1}{updated[4:]}T08:31:20{zone}"),
        "ManagingLOU": _wrap(_MANAGING_LOU),
        "ValidationSources": _wrap("FULLY_CORROBORATED"),
        "ValidationAuthority": _authority("Validation", who),
    }
