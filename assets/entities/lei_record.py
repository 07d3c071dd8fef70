"""One LEI record, read from the API's or the golden copy's JSON."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

_FORMER, _TRADING = "PREVIOUS_LEGAL_NAME", "TRADING_OR_OPERATING_NAME"
# Codes of ISO 20275 for a form that has no code, and for none.
_NO_FORM = frozenset({"8888", "9999"})


@dataclass(frozen=True)
class LeiRecord:
    """What is stored of an LEI record; None if absent."""

    lei: str
    method: Literal["api", "file"]
    legal_name: str | None
    other_names: tuple[str, ...]
    jurisdiction: str | None
    country: str | None
    category: str | None
    status: str | None
    lei_status: str | None
    updated_at: datetime | None
    register: str | None
    register_number: str | None
    opencorporates: str | None
    successor: str | None
    former_names: frozenset[str]
    trading_names: frozenset[str]
    headquarters_country: str | None
    legal_form: str | None


def from_api(record: Any) -> LeiRecord | None:
    """Return the record in a resource of api.gleif.org; None if it is not an LEI record."""
    if _at(record, "type") != "lei-records":
        return None
    attributes = _at(record, "attributes")
    lei = _text(attributes, "lei") or _text(record, "id")
    if lei is None:
        return None
    names = [
        (text, _code(name, "type"))
        for member in ("otherNames", "transliteratedOtherNames")
        for name in _list(attributes, "entity", member)
        if (text := _text(name, "name"))
    ]
    return LeiRecord(
        lei=lei,
        method="api",
        legal_name=_text(attributes, "entity", "legalName", "name"),
        other_names=tuple(name for name, _ in names),
        jurisdiction=_text(attributes, "entity", "jurisdiction"),
        country=_text(attributes, "entity", "legalAddress", "country"),
        category=_code(attributes, "entity", "category"),
        status=_text(attributes, "entity", "status"),
        lei_status=_text(attributes, "registration", "status"),
        updated_at=_utc_time(_text(attributes, "registration", "lastUpdateDate")),
        register=_text(attributes, "entity", "registeredAt", "id"),
        register_number=_text(attributes, "entity", "registeredAs"),
        opencorporates=_text(attributes, "ocid"),
        successor=_text(attributes, "entity", "successorEntity", "lei"),
        former_names=_of_type(names, _FORMER),
        trading_names=_of_type(names, _TRADING),
        headquarters_country=_country(attributes, "entity", "headquartersAddress", "country"),
        legal_form=_legal_form(attributes, "entity", "legalForm", "id"),
    )


def from_cdf(record: Any) -> LeiRecord | None:
    """Return a record of the golden copy; None if it is not one."""
    lei, register = _text(record, "LEI"), ("Entity", "RegistrationAuthority")
    if lei is None or not isinstance(_at(record, "Entity"), dict):
        return None
    names = _other_names(record)
    return LeiRecord(
        lei=lei,
        method="file",
        legal_name=_text(record, "Entity", "LegalName"),
        other_names=tuple(name for name, _ in names),
        jurisdiction=_text(record, "Entity", "LegalJurisdiction"),
        country=_text(record, "Entity", "LegalAddress", "Country"),
        category=_code(record, "Entity", "EntityCategory"),
        status=_text(record, "Entity", "EntityStatus"),
        lei_status=_text(record, "Registration", "RegistrationStatus"),
        updated_at=_utc_time(_text(record, "Registration", "LastUpdateDate")),
        register=_text(record, *register, "RegistrationAuthorityID"),
        register_number=_text(record, *register, "RegistrationAuthorityEntityID"),
        opencorporates=None,
        successor=_text(record, "Entity", "SuccessorEntity", "SuccessorLEI"),
        former_names=_of_type(names, _FORMER),
        trading_names=_of_type(names, _TRADING),
        headquarters_country=_country(record, "Entity", "HeadquartersAddress", "Country"),
        legal_form=_legal_form(record, "Entity", "LegalForm", "EntityLegalFormCode"),
    )


def _other_names(record: Any) -> list[tuple[str, str | None]]:
    """Return other and transliterated names, each with its type.

    They are under a plural, a list or one or by their numbers, wrapped or bare.
    """
    names: list[tuple[str, str | None]] = []
    for kind in ("OtherEntityName", "TransliteratedOtherEntityName"):
        members = _at(record, "Entity", f"{kind}s")
        if isinstance(members, dict):
            members = members.get(kind, list(members.values()))
        for member in members if isinstance(members, list) else [members]:
            name = _text(member, kind) or _text(member)
            names += [(name, _code(member, "@type") or _code(member, "type"))] if name else []
    return names


def _of_type(names: list[tuple[str, str | None]], kind: str) -> frozenset[str]:
    return frozenset(name for name, its_kind in names if its_kind == kind)


def _legal_form(value: Any, *path: str) -> str | None:
    code = _code(value, *path)
    return None if code in _NO_FORM else code


def _country(value: Any, *path: str) -> str | None:
    code = _code(value, *path)
    return code if code and len(code) == 2 else None


def _at(value: Any, *path: str) -> Any:
    for member in path:
        # What may repeat is a list in some files: its first item is read.
        value = value[0] if isinstance(value, list) and value else value
        value = value.get(member) if isinstance(value, dict) else None
    return value


def _list(value: Any, *path: str) -> list[Any]:
    items = _at(value, *path)
    return items if isinstance(items, list) else []


def _text(value: Any, *path: str) -> str | None:
    text = _at(value, *path)
    # A wrapped scalar: {"$": text}.
    text = text.get("$") if isinstance(text, dict) else text
    # Blanks of any kind are one blank.
    return (" ".join(text.split()) or None) if isinstance(text, str) else None


def _code(value: Any, *path: str) -> str | None:
    text = _text(value, *path)
    return text.upper() if text else None


def _utc_time(text: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(text or "")
        with_zone = time if time.tzinfo else time.replace(tzinfo=UTC)
        return with_zone.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
