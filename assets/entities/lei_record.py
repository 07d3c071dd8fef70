"""One LEI record, read from the API's or the golden copy's JSON."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal


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


def from_api(record: Any) -> LeiRecord | None:
    """Return the record in a resource of api.gleif.org; None if it is not an LEI record."""
    if _at(record, "type") != "lei-records":
        return None
    attributes = _at(record, "attributes")
    lei = _text(attributes, "lei") or _text(record, "id")
    if lei is None:
        return None
    names = [
        *_list(attributes, "entity", "otherNames"),
        *_list(attributes, "entity", "transliteratedOtherNames"),
    ]
    return LeiRecord(
        lei=lei,
        method="api",
        legal_name=_text(attributes, "entity", "legalName", "name"),
        other_names=tuple(text for name in names if (text := _text(name, "name"))),
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
    )


def from_cdf(record: Any) -> LeiRecord | None:
    """Return a record of the golden copy; None if it is not one."""
    lei, register = _text(record, "LEI"), ("Entity", "RegistrationAuthority")
    if lei is None or not isinstance(_at(record, "Entity"), dict):
        return None
    return LeiRecord(
        lei=lei,
        method="file",
        legal_name=_text(record, "Entity", "LegalName"),
        other_names=tuple(_other_names(record)),
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
    )


def _other_names(record: Any) -> list[str]:
    """Return other and transliterated names: under a plural, a list or one, wrapped or bare."""
    names: list[str] = []
    for kind in ("OtherEntityName", "TransliteratedOtherEntityName"):
        members = _at(record, "Entity", f"{kind}s")
        members = members.get(kind) if isinstance(members, dict) else members
        for member in members if isinstance(members, list) else [members]:
            name = _text(member, kind) or _text(member)
            names += [name] if name else []
    return names


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
    return (text.strip() or None) if isinstance(text, str) else None


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
