"""Parse LEI records of GLEIF into entities and their identifiers.

Reads the golden copy as JSON (scalars bare or wrapped), CSV or LEI-CDF XML, bare or zipped, and the
answers of api.gleif.org.

An LEI of a natural person is rejected, and its name is stored nowhere; an earlier record of it as
an organisation is withdrawn.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any, Literal

import msgspec

from assets.entities.identifiers import is_isin, is_lei, mint
from assets.entities.lei_files import lei_file_records
from assets.parsing.parsed import Parsed, join_parts, provenance
from quality.persons import Withheld, drop_personal_names, judge_name
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, IDENTIFIERS

# One LEI record, read from the API's or the golden copy's JSON.

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


_TYPES = {
    "GENERAL": "company",
    "BRANCH": "company",
    "RESIDENT_GOVERNMENT_ENTITY": "state_body",
    "FUND": "other",
    "INTERNATIONAL_ORGANIZATION": "other",
}
_PERSON = "SOLE_PROPRIETOR"
RECORDS_PER_PART = 5_000
# The row of an LEI that was an organisation's before and now is a person's.
_WITHDRAWN: dict[str, Any] = dict.fromkeys(ENTITIES.content) | {"withdrawn": True}
# Codes of GLEIF's list of registers for "none" and "not on the list".
_NO_REGISTER = frozenset({"RA888888", "RA999999"})


def parse(document: Document, body: bytes) -> Parsed:
    """Parse every LEI record and every ISIN of an LEI in a document."""
    try:
        # JSON that fits into memory is decoded at once; zips, CSV, XML and damaged JSON are
        # streamed.
        root = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return join_parts(stream(document, io.BytesIO(body)))
    return join_parts(_parts(document, _json_records(root)))


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a golden copy of any length, some thousand records a part.

    If it is damaged, the records before the damage are accepted, and the location is rejected.
    """
    yield from _parts(document, lei_file_records(body))


def _parts(document: Document, located: Iterator[tuple[str, Any]]) -> Iterator[Parsed]:
    parsed, count = Parsed(), 0
    for count, (location, record) in enumerate(located, 1):
        _add_record(parsed, document, location, record)
        if count % RECORDS_PER_PART == 0:
            yield parsed
            parsed = Parsed()
    if not count:
        parsed.reject(ENTITIES, document, "", "holds no LEI record")
    if parsed.rows or parsed.rejected:
        yield parsed


def _json_records(root: Any) -> Iterator[tuple[str, Any]]:
    member = next((name for name in ("records", "data") if _has(root, name)), None)
    records, location = (root[member], f"/{member}") if member else (root, "")
    if isinstance(records, list):
        yield from ((f"{location}/{index}", record) for index, record in enumerate(records))
    elif records is not None:
        yield location, records


def _has(root: Any, member: str) -> bool:
    return isinstance(root, dict) and member in root


def _add_record(parsed: Parsed, document: Document, location: str, record: Any) -> None:
    if isinstance(record, str):
        parsed.reject(ENTITIES, document, location, record)
        return
    if isinstance(record, dict) and record.get("type") == "isins":
        _add_isin(parsed, document, location, record)
        return
    lei = from_api(record) or from_cdf(record)
    reason = _refusal(lei)
    if lei is None or reason:
        parsed.reject(ENTITIES, document, location, reason or "not an LEI record")
        # The row has no name: it only withdraws the organisation that the LEI was before.
        if lei is not None and lei.category == _PERSON and is_lei(lei.lei):
            parsed.add(ENTITIES, [_shared(document, location, lei) | _WITHDRAWN])
        return
    shared = _shared(document, location, lei)
    others = [name for name in dict.fromkeys(lei.other_names) if name != lei.legal_name]
    names, reasons = drop_personal_names(others, lei.country, lei.jurisdiction)
    for reason in reasons:
        parsed.reject(ENTITIES, document, location, reason)
    kinds = {
        "former_names": [name for name in names if name in lei.former_names],
        "trading_names": [name for name in names if name in lei.trading_names],
    }
    listed = {column: _json_list(found) for column, found in kinds.items()}
    dropped = [name for name in others if name not in names]
    withheld = {"withheld_names": "\n".join(dropped) or None}
    parsed.add(ENTITIES, [shared | _entity(lei, names) | listed | withheld])
    parsed.add(IDENTIFIERS, [shared | identifier for identifier in _identifiers(lei)])


def _refusal(lei: LeiRecord | None) -> str | None:
    """Return why a record is refused, or None; the reason never contains the name."""
    if lei is None:
        return "not an LEI record"
    if not is_lei(lei.lei):
        return f"{lei.lei!r:.40} is no LEI: its check digits are wrong"
    if lei.category == _PERSON:
        return "natural person"
    if lei.legal_name is None:
        return "no legal name"
    # A record without a category may be a person's, so its name must be evidence.
    if lei.category is None and _is_withheld(lei.legal_name, lei.country):
        return "no category, and nothing else that shows an organisation"
    return None


def _is_withheld(name: str, country: str | None) -> bool:
    verdict = judge_name(name, country=country, scheme=None, identifier=None)
    return isinstance(verdict, Withheld)


def _shared(document: Document, location: str, lei: LeiRecord) -> dict[str, Any]:
    observed_on = document.observed_at.date()
    updated = lei.updated_at
    return provenance(document, location, lei.method) | {
        "service_id": mint("lei", lei.lei),
        # Whatever the record says, it was public on the day it was read.
        "available_at": min(updated.date(), observed_on) if updated else observed_on,
        "publication": (updated or document.observed_at).isoformat(timespec="milliseconds"),
    }


def _entity(lei: LeiRecord, names: list[str]) -> dict[str, Any]:
    # A merged organisation has a successor too, but only a duplicate is the same organisation.
    successor = lei.successor if lei.lei_status == "DUPLICATE" else None
    return {
        "legal_name": lei.legal_name,
        "other_names": _json_list(names),
        "jurisdiction": lei.jurisdiction,
        "country": lei.country,
        "entity_type": _TYPES.get(lei.category or ""),
        "status": lei.status,
        "lei": lei.lei,
        "lei_status": lei.lei_status,
        "same_as": mint("lei", successor) if successor and is_lei(successor) else None,
        "headquarters_country": lei.headquarters_country,
        "legal_form": lei.legal_form,
    }


def _json_list(names: list[str]) -> str | None:
    return json.dumps(names, ensure_ascii=False) if names else None


def _identifiers(lei: LeiRecord) -> Iterator[dict[str, Any]]:
    yield _identifier("lei", lei.lei, None, lei.lei_status)
    if lei.register and lei.register_number and lei.register not in _NO_REGISTER:
        yield _identifier("registry", lei.register_number, lei.register, None)
    if lei.opencorporates:
        yield _identifier("aggregator", lei.opencorporates, "opencorporates", None)


def _identifier(kind: str, value: str, issuer: str | None, status: str | None) -> dict[str, Any]:
    return {"id_type": kind, "id_value": value, "issuer": issuer, "status": status}


def _add_isin(parsed: Parsed, document: Document, location: str, record: dict[str, Any]) -> None:
    attributes = record.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    lei, isin = str(attributes.get("lei")), str(attributes.get("isin"))
    if not is_lei(lei) or not is_isin(isin):
        parsed.reject(
            IDENTIFIERS, document, location, f"{lei:.40} with {isin:.40}: a check digit is wrong"
        )
        return
    observed_on = document.observed_at.date()
    row = provenance(document, location, "api") | _identifier("isin", isin, None, None)
    mapped = {"service_id": mint("lei", lei), "available_at": observed_on}
    parsed.add(IDENTIFIERS, [row | mapped | {"publication": observed_on.isoformat()}])
