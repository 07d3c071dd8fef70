"""Which organisation a party of a tender is: by number, by LEI, or by its exact name.

Never by likeness. What could be two organisations stays unresolved, as does a name that is known
under another number than the party's; a withheld party is never looked up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assets.entities.claims import IDENTIFIER, Key, key_of
from assets.entities.known import Rows, every_row, rows_of
from assets.entities.names import plain_name
from assets.entities.registers import LEI_SCHEMES, plain_number
from assets.entities.same import targets

MatchMethod = Literal["registry_id", "lei", "exact_name"]

_ENTITY = ("service_id", "legal_name", "jurisdiction", "lei", "same_as")
_PARTY = ("name", "identifier_scheme", "identifier_id", "country", "org_evidence")
_SEVERAL = ""


@dataclass(frozen=True)
class Resolved:
    """Who a party is and how that is known; or why it is not, in words."""

    service_id: str | None
    match_method: MatchMethod | None
    reason: str | None


@dataclass
class Known:
    """Organisations by identifier and by name; what leads to several leads to none."""

    by_key: dict[Key, str] = field(default_factory=dict)
    by_name: dict[tuple[str, str], str] = field(default_factory=dict)
    keys: dict[str, set[Key]] = field(default_factory=dict)


def resolve(parties: Rows, identifiers: Rows, entities: Rows) -> list[Resolved]:
    """Resolve each party, in their order; equal parties have equal answers.

    An organisation with two ids is the one that the other points to.
    """
    known = known_from(identifiers, entities)
    answers: dict[tuple[Any, ...], Resolved] = {}
    found = []
    for party in every_row(parties, _PARTY):
        asked = tuple(party.get(name) for name in _PARTY)
        if asked not in answers:
            answers[asked] = resolve_party(known, party)
        found.append(answers[asked])
    return found


def known_from(identifiers: Rows, entities: Rows) -> Known:
    """Learn by what organisations are known."""
    known, one = Known(), targets(identifiers, entities)
    for key, service_id in _keys(identifiers, entities):
        owner = one.get(service_id, service_id)
        _learn(known.by_key, key, owner)
        known.keys.setdefault(owner, set()).add(key)
    for row in rows_of(entities, _ENTITY):
        name, place = plain_name(row.get("legal_name") or ""), _country(row.get("jurisdiction"))
        if name and place:
            _learn(known.by_name, (place, name), one.get(row["service_id"], row["service_id"]))
    return known


def resolve_party(known: Known, party: Mapping[str, Any]) -> Resolved:
    """Resolve one party against what is known."""
    if party.get("org_evidence") is None or not party.get("name"):
        return _nobody("withheld: not established to be an organisation")
    key = _stated(party)
    if key is None or key not in known.by_key:
        return _by_name(known, party, key)
    owner = known.by_key[key]
    if owner == _SEVERAL:
        return _nobody("ambiguous: several organisations bear this identifier")
    return Resolved(owner, "lei" if key[0] == "lei" else "registry_id", None)


def _by_name(known: Known, party: Mapping[str, Any], key: Key | None) -> Resolved:
    name, place = plain_name(party["name"]), _country(party.get("country"))
    if not name or not place:
        return _nobody("no name and country to look for")
    owner = known.by_name.get((place, name))
    if owner is None:
        return _nobody(f"no organisation of {place} is known by this identifier or this name")
    if owner == _SEVERAL:
        return _nobody(f"ambiguous: several organisations of {place} have this name")
    if key and any(each[:2] == key[:2] for each in known.keys.get(owner, ())):
        return _nobody("the name is known under another number than the one stated")
    return Resolved(owner, "exact_name", None)


def _stated(party: Mapping[str, Any]) -> Key | None:
    """Give the identifier that a party states, as it compares; None where it states none."""
    scheme, number = party.get("identifier_scheme"), party.get("identifier_id")
    if not scheme or not number:
        return None
    kind = "lei" if scheme.strip().upper() in LEI_SCHEMES else "registry"
    return key_of({"id_type": kind, "id_value": number, "issuer": scheme})


def _keys(identifiers: Rows, entities: Rows) -> Iterator[tuple[Key, str]]:
    for row in rows_of(identifiers, IDENTIFIER):
        key = key_of(row) if row["id_type"] in ("lei", "registry") else None
        if key:
            yield key, row["service_id"]
    for row in rows_of(entities, _ENTITY):
        if lei := plain_number(row.get("lei")):
            yield ("lei", None, lei), row["service_id"]


def _learn(known: dict[Any, str], key: Any, service_id: str) -> None:
    if known.setdefault(key, service_id) != service_id:
        known[key] = _SEVERAL


def _country(place: str | None) -> str | None:
    """Give the country of a jurisdiction: that of a state or province is its country's."""
    return place.strip()[:2].upper() or None if place else None


def _nobody(reason: str) -> Resolved:
    return Resolved(None, None, reason)
