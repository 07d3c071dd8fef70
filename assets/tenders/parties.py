"""The parties of one release, each with its verdict: served by name, or only as a keyed hash.

Releases of OCDS 1.0, and of portals that leave ``parties`` empty, name organisations only
where they act; those are parties here as well.
"""

import hmac
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import pycountry

from assets.tenders.ocds import Organisation, Release
from assets.tenders.portals import Portal
from assets.tenders.values import ident, text
from quality.persons import Evidence, judge_name

_KEPT = 1 << 17
# Ids that are told apart by a cache: 1, 1.0 and true are one key, and only one of them an id.
_KEYS = (str, int, type(None))

# A party's name, id, register number with its scheme and name, and country, as they stand.
Written = tuple[Any, Any, tuple[Any, Any, Any] | None, tuple[Any, Any] | None]


class Party(NamedTuple):
    """One party; a withheld one has no name, no identifier and no evidence."""

    key: str
    name: str | None
    scheme: str | None
    identifier: str | None
    evidence: str | None


@dataclass(eq=False, slots=True)
class Named:
    """A party as it is written; the name is empty where none is given."""

    name: str
    plain: str
    id: str | None
    scheme: str | None
    identifier: str | None
    country: str
    verdict: Party | None = None


class Judge:
    """Judge the parties of one portal; withheld ones are hashed under a secret key."""

    def __init__(self, portal: Portal, key: bytes) -> None:
        self.portal = portal
        self._key = key
        self._read: dict[Written, Named | None] = {}

    def begin(self) -> None:
        """Begin a release; let go of what was read when it is too much."""
        if len(self._read) > _KEPT:
            self._read.clear()

    def named(self, organisation: Organisation) -> Named | None:
        """Read an organisation; one that was written alike is not read again."""
        number = country = None
        if stated := organisation.identifier:
            number = (stated.scheme, stated.id, stated.legalName)
        if address := organisation.address:
            country = (address.countryName, address.country)
        written = (organisation.name, organisation.id, number, country)
        if type(organisation.id) not in _KEYS or (number and type(number[1]) not in _KEYS):
            return self._named(written)
        try:
            return self._read[written]
        except KeyError:
            named = self._read[written] = self._named(written)
            return named
        except TypeError:
            # a member that is an array or an object is no name and no number
            return self._named(written)

    def party(self, named: Named, shared: bool, other: bool) -> Party:
        """Judge a party; ``other`` says that its id is that of a party of another name.

        A number that is shared with another proves nothing.
        """
        if shared or other:
            return self._judged(named, shared, other)
        if named.verdict is None:
            named.verdict = self._judged(named, shared, other)
        return named.verdict

    def _named(self, written: Written) -> Named | None:
        """Read one; an organisation of OCDS 1.0 has no id and takes that of its identifier."""
        stated, own_id, register, address = written
        name, scheme, number = text(stated), None, None
        if register:
            name = name or text(register[2])
            scheme, number = text(register[0]), self._own_id(register[1])
            scheme, number = (scheme, number) if scheme and number else (None, None)
        own = self._own_id(own_id) or (scheme and f"{scheme}-{number}")
        if not name and not own:
            return None
        country = _country(*address) if address else None
        return Named(
            name or "", plain(name or ""), own, scheme, number, country or self.portal.country
        )

    def _own_id(self, value: Any) -> str | None:
        found = ident(value)
        return None if found in self.portal.placeholder_ids else found

    def _judged(self, named: Named, shared: bool, other: bool) -> Party:
        verdict = judge_name(
            named.name,
            country=named.country,
            scheme=None if shared else named.scheme,
            identifier=None if shared else named.identifier,
        )
        base = _base(named, other)
        if isinstance(verdict, Evidence):
            return Party(base, named.name, named.scheme, named.identifier, str(verdict))
        digest = hmac.digest(self._key, f"{self.portal.key}|{base}".encode(), "sha256")
        return Party(f"withheld:{digest.hex()[:32]}", None, None, None, None)


def _base(named: Named, other: bool) -> str:
    """Give what tells the party from others: its identifier, its id if its own, its name."""
    if other:
        return f"name:{named.plain}"
    if named.scheme and named.identifier:
        return f"{named.scheme}:{named.identifier}"
    return named.id or f"name:{named.plain}"


def _country(name: Any, code: Any) -> str | None:
    """Give the country of a party's own address; None where it states none that we know."""
    stated = text(name) or text(code)
    return _code(stated) if stated else None


@lru_cache(maxsize=1 << 10)
def _code(stated: str) -> str | None:
    try:
        return str(pycountry.countries.lookup(stated).alpha_2)
    except LookupError:
        return None


@lru_cache(maxsize=1 << 16)
def plain(name: str) -> str:
    """Give a name without accents, signs and capitals."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name)
        name = "".join(each for each in name if not unicodedata.combining(each))
    return re.sub(r"[\W_]+", " ", name).strip().casefold()


class Parties:
    """The parties of a release: ``roles`` are theirs, ``references`` name them."""

    def __init__(self, release: Release, judge: Judge) -> None:
        judge.begin()
        self._judge = judge
        self._own: dict[str, Named] = {}
        self._shared: set[str] = set()
        listed = self._named([(each, "") for each in release.parties or ()])
        acting = self._named(_acting(release))
        self.roles: dict[tuple[Party, str], None] = {}
        idle = self._list(listed)
        self.references = [
            (each, self._act(named, role) if named else None) for each, named, role in acting
        ]
        if idle:
            busy = {party for party, _ in self.roles}
            self.roles |= {(party, "unspecified"): None for party in idle if party not in busy}
        self.buyer = self.references[0][1] if release.buyer else None

    def withheld(self) -> int:
        """Count the parties that are not established to be organisations."""
        return len({party.key for party, _ in self.roles if party.evidence is None})

    def _named(
        self, organisations: list[tuple[Organisation, str]]
    ) -> list[tuple[Organisation, Named | None, str]]:
        """Read who is named, and learn whose id it is: shared ids prove nothing."""
        found, own = [], self._own
        for each, role in organisations:
            named = self._judge.named(each)
            found.append((each, named, role))
            if named and named.id and named.name:
                first = own.setdefault(named.id, named)
                if first is not named and first.plain != named.plain:
                    self._shared.add(named.id)
        return found

    def _list(self, listed: list[tuple[Organisation, Named | None, str]]) -> list[Party]:
        """Keep the roles of those that are listed; give those that have none."""
        idle = []
        supplier = "tenderer" if self._judge.portal.supplier_means_bidder else "supplier"
        for organisation, named, _ in listed:
            if named:
                party, roles = self._party(named), _roles(organisation.roles)
                for role in roles:
                    self.roles[party, supplier if role == "supplier" else role] = None
                if not roles:
                    idle.append(party)
        return idle

    def _act(self, named: Named, role: str) -> Party:
        party = self._party(named)
        self.roles[party, role] = None
        return party

    def _party(self, named: Named) -> Party:
        known = self._own.get(named.id) if named.id else None
        if known and not self._shared and (known is named or named.plain in ("", known.plain)):
            return known.verdict or self._judge.party(known, False, False)
        resolved = self._resolved(named)
        known = self._own.get(resolved.id) if resolved.id else None
        other = known is not None and known is not resolved and known.plain != resolved.plain
        return self._judge.party(resolved, resolved.id in self._shared, other)

    @cached_property
    def _called(self) -> dict[str, Named]:
        return {named.plain: named for named in self._own.values()}

    def _resolved(self, named: Named) -> Named:
        if named.id is None:
            return self._called.get(named.plain, named)
        known = self._own.get(named.id)
        return known if known and named.plain in ("", known.plain) else named


def _acting(release: Release) -> list[tuple[Organisation, str]]:
    acting = [(release.buyer, "buyer")] if release.buyer else []
    if tender := release.tender:
        if tender.procuringEntity:
            acting.append((tender.procuringEntity, "procuringEntity"))
        acting += [(tenderer, "tenderer") for tenderer in tender.tenderers or ()]
    for award in release.awards or ():
        acting += [(supplier, "supplier") for supplier in award.suppliers or ()]
    return acting


def _roles(stated: Any) -> list[str]:
    stated = stated if isinstance(stated, list) else [stated]
    return [role for each in stated if (role := text(each))]
