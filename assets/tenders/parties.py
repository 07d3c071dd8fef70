"""The parties of one release, each with its verdict: served by name, or only as a keyed hash.

Releases of OCDS 1.0, and of portals that leave ``parties`` empty, name organisations only
where they act; those are parties here as well.
"""

import hmac
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assets.tenders.portals import Portal
from assets.tenders.values import ident, members, objects, text
from quality.persons import Evidence, established


@dataclass(frozen=True)
class Party:
    """One party; a withheld one has no name, no identifier and no evidence."""

    key: str
    name: str | None
    scheme: str | None
    identifier: str | None
    evidence: str | None


@dataclass(frozen=True)
class _Named:
    """A party as it is written; the name is empty where none is given."""

    name: str
    id: str | None
    scheme: str | None
    identifier: str | None


class Parties:
    """The parties of a release, and what may be shown of a reference to one."""

    def __init__(self, release: dict[str, Any], portal: Portal, key: bytes) -> None:
        self._portal = portal
        self._key = key
        self._listed = objects(release.get("parties"))
        self._acting = list(_acting(release))
        self._release = release
        self._own: dict[str, _Named] = {}
        self._called: dict[str, _Named] = {}
        self._shared: set[str] = set()
        # by the identity of a reference: the release holds them all as long as this lives
        self._found: dict[int, Party | None] = {}
        self._learn_ids()
        self._roles = dict.fromkeys(self._each_role())
        acting = {party for party, _ in self._roles}
        idle = [party for each in self._listed if (party := self.of(each)) not in acting and party]
        self._roles |= dict.fromkeys((party, "unspecified") for party in idle)

    def rows(self) -> list[tuple[Party, str]]:
        """Give each party in each of its roles, once."""
        return list(self._roles)

    def withheld(self) -> int:
        """Count the parties that are not established to be organisations."""
        return len({party.key for party, _ in self._roles if party.evidence is None})

    def of(self, reference: Any) -> Party | None:
        """Say which party a reference names; None where it names nobody."""
        if id(reference) not in self._found:
            named = self._resolved(members(reference))
            self._found[id(reference)] = None if named is None else self._judged(named)
        return self._found[id(reference)]

    def served(self, reference: Any) -> dict[str, str] | None:
        """Give what may be shown of a reference; None where its party is withheld."""
        party = self.of(reference)
        if party is None or party.name is None:
            return None
        shown = {"id": ident(reference.get("id")), "name": party.name}
        return {member: value for member, value in shown.items() if value is not None}

    def _learn_ids(self) -> None:
        """Learn whose id it is: that of the party listed with it; shared ids prove nothing."""
        names: dict[str, set[str]] = {}
        for organisation in [*self._listed, *(each for each, _ in self._acting)]:
            named = _named(organisation, self._portal)
            if named and named.id and named.name:
                self._own.setdefault(named.id, named)
                names.setdefault(named.id, set()).add(_plain(named.name))
        self._shared = {each for each, known in names.items() if len(known) > 1}
        self._called = {_plain(named.name): named for named in self._own.values()}

    def _each_role(self) -> Iterator[tuple[Party, str]]:
        for organisation in self._listed:
            party = self.of(organisation)
            for role in _roles(organisation):
                bidder = role == "supplier" and self._portal.supplier_means_bidder
                if party:
                    yield party, "tenderer" if bidder else role
        for organisation, role in self._acting:
            if party := self.of(organisation):
                yield party, role

    def _resolved(self, organisation: dict[str, Any]) -> _Named | None:
        named = _named(organisation, self._portal)
        if named is None:
            return None
        if named.id is None:
            return self._called.get(_plain(named.name), named)
        known = self._own.get(named.id)
        return known if known and _plain(named.name) in ("", _plain(known.name)) else named

    def _judged(self, named: _Named) -> Party:
        shared = named.id in self._shared
        verdict = established(
            named.name,
            country=self._portal.country,
            scheme=None if shared else named.scheme,
            identifier=None if shared else named.identifier,
        )
        base = self._base(named)
        if isinstance(verdict, Evidence):
            return Party(base, named.name, named.scheme, named.identifier, str(verdict))
        digest = hmac.digest(self._key, f"{self._portal.key}|{base}".encode(), "sha256")
        return Party(f"withheld:{digest.hex()[:32]}", None, None, None, None)

    def _base(self, named: _Named) -> str:
        """Give what tells the party from others: its identifier, its id if its own, its name."""
        known = self._own.get(named.id or "")
        if known and _plain(known.name) != _plain(named.name):
            return f"name:{_plain(named.name)}"
        if named.scheme and named.identifier:
            return f"{named.scheme}:{named.identifier}"
        return named.id or f"name:{_plain(named.name)}"


def _acting(release: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    tender = members(release.get("tender"))
    yield members(release.get("buyer")), "buyer"
    yield members(tender.get("procuringEntity")), "procuringEntity"
    for tenderer in objects(tender.get("tenderers")):
        yield tenderer, "tenderer"
    for award in objects(release.get("awards")):
        for supplier in objects(award.get("suppliers")):
            yield supplier, "supplier"


def _roles(organisation: dict[str, Any]) -> list[str]:
    stated = organisation.get("roles")
    stated = stated if isinstance(stated, list) else [stated]
    return [role for each in stated if (role := text(each))]


def _named(organisation: dict[str, Any], portal: Portal) -> _Named | None:
    """Read an organisation; one of OCDS 1.0 has no id and takes that of its identifier."""
    stated = members(organisation.get("identifier"))
    name = text(organisation.get("name")) or text(stated.get("legalName")) or ""
    scheme, number = text(stated.get("scheme")), _own_id(stated.get("id"), portal)
    scheme, number = (scheme, number) if scheme and number else (None, None)
    own = _own_id(organisation.get("id"), portal) or (scheme and f"{scheme}-{number}")
    return _Named(name, own, scheme, number) if name or own else None


def _own_id(value: Any, portal: Portal) -> str | None:
    found = ident(value)
    return None if found in portal.placeholder_ids else found


@lru_cache(maxsize=1 << 16)
def _plain(name: str) -> str:
    bare = unicodedata.normalize("NFKD", name)
    bare = "".join(each for each in bare if not unicodedata.combining(each))
    return re.sub(r"[\W_]+", " ", bare).strip().casefold()
