"""One LEI record, whichever way GLEIF writes it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal


@dataclass(frozen=True)
class LeiRecord:
    """What the record keeps of an LEI; absent is None."""

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
    """Read a resource of api.gleif.org; None where it is no LEI record."""
    if _at(record, "type") != "lei-records":
        return None
    found = _at(record, "attributes")
    lei = _text(found, "lei") or _text(record, "id")
    if lei is None:
        return None
    names = [
        *_each(found, "entity", "otherNames"),
        *_each(found, "entity", "transliteratedOtherNames"),
    ]
    return LeiRecord(
        lei=lei,
        method="api",
        legal_name=_text(found, "entity", "legalName", "name"),
        other_names=tuple(name for each in names if (name := _text(each, "name"))),
        jurisdiction=_text(found, "entity", "jurisdiction"),
        country=_text(found, "entity", "legalAddress", "country"),
        category=_code(found, "entity", "category"),
        status=_text(found, "entity", "status"),
        lei_status=_text(found, "registration", "status"),
        updated_at=_moment(_text(found, "registration", "lastUpdateDate")),
        register=_text(found, "entity", "registeredAt", "id"),
        register_number=_text(found, "entity", "registeredAs"),
        opencorporates=_text(found, "ocid"),
        successor=_text(found, "entity", "successorEntity", "lei"),
    )


def from_cdf(record: Any) -> LeiRecord | None:
    """Read a record of the golden copy; None where it is none."""
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
        updated_at=_moment(_text(record, "Registration", "LastUpdateDate")),
        register=_text(record, *register, "RegistrationAuthorityID"),
        register_number=_text(record, *register, "RegistrationAuthorityEntityID"),
        opencorporates=None,
        successor=_text(record, "Entity", "SuccessorEntity", "SuccessorLEI"),
    )


def _other_names(record: Any) -> list[str]:
    """Other and transliterated names: under a plural, a list or one, wrapped or bare."""
    found: list[str] = []
    for kind in ("OtherEntityName", "TransliteratedOtherEntityName"):
        held = _at(record, "Entity", f"{kind}s")
        held = held.get(kind) if isinstance(held, dict) else held
        for each in held if isinstance(held, list) else [held]:
            name = _text(each, kind) or _text(each)
            found += [name] if name else []
    return found


def _at(value: Any, *path: str) -> Any:
    for member in path:
        value = value[0] if isinstance(value, list) and value else value
        value = value.get(member) if isinstance(value, dict) else None
    return value


def _each(value: Any, *path: str) -> list[Any]:
    found = _at(value, *path)
    return found if isinstance(found, list) else []


def _text(value: Any, *path: str) -> str | None:
    found = _at(value, *path)
    found = found.get("$") if isinstance(found, dict) else found
    return (found.strip() or None) if isinstance(found, str) else None


def _code(value: Any, *path: str) -> str | None:
    found = _text(value, *path)
    return found.upper() if found else None


def _moment(stated: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(stated or "")
        zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
        return zoned.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
