"""The parties of a release: published by name if an organisation, else only as a keyed hash.

Releases of OCDS 1.0, and of portals that leave ``parties`` empty, name organisations only
where they act; those count as parties as well.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from assets.tenders.code_lists import role_codes
from assets.tenders.ocds import OcdsOrganisation, OcdsRelease
from assets.tenders.portal_files import Portal
from assets.tenders.values import ident, text
from quality.persons import (
    Evidence,
    is_organisation_number,
    is_personal_number,
    judge_name,
    party_names,
    personal_name_rule,
)
from warehouse.names.reading import plain_name, withheld_party_key
from warehouse.shared.countries import country_code

_CACHE_SIZE = 1 << 17
# Types that are safe as cache keys: 1, 1.0 and true are one dict key, but only 1 is an id.
_KEY_TYPES = (str, int, type(None))

# Name, id, (scheme, number, legal name) and (country name, code) of a party, as written.
PartyFields = tuple[Any, Any, tuple[Any, Any, Any] | None, tuple[Any, Any] | None]


class Party(NamedTuple):
    """A checked party; a withheld one has no name, no identifier and no evidence."""

    key: str
    name: str | None
    scheme: str | None
    identifier: str | None
    evidence: str | None

    def columns(self) -> dict[str, str | None]:
        """Return the columns of a party row that it fills."""
        return {
            "party_key": self.key,
            "name": self.name,
            "identifier_scheme": self.scheme,
            "identifier_id": self.identifier,
            "org_evidence": self.evidence,
        }


@dataclass(eq=False, slots=True)
class WrittenParty:
    """A party as written in the release; the name is empty where there is none."""

    name: str
    plain: str
    id: str | None
    scheme: str | None
    identifier: str | None
    country: str
    # Further names that are written for it and never published: what a company trades as, or its
    # name in a register.
    other_names: tuple[str, ...] = ()
    verdict: Party | None = None
    # The firms that its name lists, if it lists several. None of them has the id of the list.
    members: "tuple[WrittenParty, ...]" = ()


class PartyChecker:
    """Checks the parties of one portal; withheld ones are hashed under a secret key.

    A buyer occurs in thousands of releases, so parties are cached by what is written. The cache
    is emptied only between releases: within one, equal parties must be the same object.
    """

    def __init__(self, portal: Portal, key: bytes) -> None:
        self.portal = portal
        self._key = key
        self._cache: dict[PartyFields, WrittenParty | None] = {}

    def start_release(self) -> None:
        """Call before each release: empty the cache if it has grown too large."""
        if len(self._cache) > _CACHE_SIZE:
            self._cache.clear()

    def read(self, organisation: OcdsOrganisation) -> WrittenParty | None:
        """Return an organisation as a party, from the cache if it was written the same before."""
        number = country = None
        if identifier := organisation.identifier:
            number = (identifier.scheme, identifier.id, identifier.legalName)
        if address := organisation.address:
            country = (address.countryName, address.country)
        fields = (organisation.name, organisation.id, number, country)
        if type(organisation.id) not in _KEY_TYPES or (
            number and type(number[1]) not in _KEY_TYPES
        ):
            return self._parse(fields)
        try:
            return self._cache[fields]
        except KeyError:
            written = self._cache[fields] = self._parse(fields)
            return written
        except TypeError:
            # Unhashable: a member that is an array or an object is neither name nor number.
            return self._parse(fields)

    def check(self, written: WrittenParty, shared: bool, other: bool) -> Party:
        """Return the checked party.

        ``shared``: several parties of the release use its id, so its number proves nothing.
        ``other``: its id belongs to a party with another name.
        """
        if shared or other:
            return self._checked(written, shared, other)
        if written.verdict is None:
            written.verdict = self._checked(written, shared, other)
        return written.verdict

    def _parse(self, fields: PartyFields) -> WrittenParty | None:
        """Parse the fields; an OCDS 1.0 organisation has no id and takes that of its identifier."""
        raw_name, own_id, register, address = fields
        name, scheme, number = text(raw_name), None, None
        if register:
            name = name or text(register[2])
            scheme, number = text(register[0]), self._own_id(register[1])
            scheme, number = (scheme, number) if scheme and number else (None, None)
        party_id = self._own_id(own_id) or (scheme and f"{scheme}-{number}")
        if not name and not party_id:
            return None
        # That of its own address, by name or code.
        stated = text(address[0]) or text(address[1]) if address else None
        country = (country_code(stated) if stated else None) or self.portal.country
        names = party_names(name or "", country)
        # Under one number there is one organisation, or one person, whatever the name looks like.
        one_number = is_organisation_number(scheme, number) or is_personal_number(scheme, number)
        if len(names) > 1 and one_number:
            names = (name or "",)
        if len(names) == 1:
            traded_as = (name or "").replace(names[0], " ").strip()
            registered = text(register[2]) if register else None
            others = tuple(other for other in (traded_as, registered) if other)
            plain = plain_name(names[0])
            return WrittenParty(names[0], plain, party_id, scheme, number, country, others)
        members = tuple(
            WrittenParty(part, plain_name(part), None, None, None, country) for part in names
        )
        plain = plain_name(name or "")
        return WrittenParty(name or "", plain, party_id, scheme, number, country, members=members)

    def _own_id(self, value: Any) -> str | None:
        own_id = ident(value)
        return None if own_id in self.portal.placeholder_ids else own_id

    def _checked(self, written: WrittenParty, shared: bool, other: bool) -> Party:
        verdict = judge_name(
            written.name,
            country=written.country,
            # Colombian buyers carry an official's name under the buyer's id: the number proves
            # nothing then.
            scheme=None if shared else written.scheme,
            identifier=None if shared else written.identifier,
        )
        # What identifies the party: its register number, its own id, or its name.
        base = written.id or f"name:{written.plain}"
        if written.scheme and written.identifier:
            base = f"{written.scheme}:{written.identifier}"
        if other:
            base = f"name:{written.plain}"
        if isinstance(verdict, Evidence):
            return Party(base, written.name, written.scheme, written.identifier, str(verdict))
        key = withheld_party_key(self._key, self.portal.key, base)
        return Party(key, None, None, None, None)


@lru_cache(maxsize=1)
def party_checker(portal: Portal, key: bytes) -> PartyChecker:
    """Return the checker of a portal: the same for all its documents, which name the same firms.

    Only the last one is kept: sources are read one after the other.
    """
    return PartyChecker(portal, key)


class Parties:
    """The parties of a release.

    ``roles`` has each party in each of its roles; ``references`` pairs every organisation that
    acts in the release with its party, or with several if its name lists several firms.
    ``joint_bids`` says how many tenderers there are if one of them is such a list,
    ``unlisted_roles`` how many words for roles are none; their party is kept without them.
    """

    def __init__(self, release: OcdsRelease, checker: PartyChecker) -> None:
        checker.start_release()
        self._checker = checker
        self._by_id: dict[str, WrittenParty] = {}
        self._shared: set[str] = set()
        # Whether a name lists several firms: few do, and only then parties have members.
        self._has_lists = False
        listed = self._written([(party, "") for party in release.parties or ()])
        acting = self._written(_acting(release))
        self.roles: dict[tuple[Party, str], None] = {}
        # As written: no text that is published of the process may contain one.
        self.withheld_names: set[str] = set()
        words = checker.portal.words.role
        self.unlisted_roles = sum(
            role_codes(organisation.roles, words)[1] for organisation, _, _ in listed
        )
        # Listed parties without a role.
        idle: list[Party] = []
        for organisation, written, _ in listed:
            if written:
                parties, roles = self._parties(written), self._roles_of(organisation)
                self.roles |= {(party, role): None for party in parties for role in roles}
                idle += () if roles else parties
        self.references: list[tuple[OcdsOrganisation, tuple[Party, ...]]] = []
        for organisation, written, role in acting:
            parties = self._parties(written) if written else ()
            self.references.append((organisation, parties))
            for party in parties:
                self.roles[party, role] = None
        if idle:
            busy = {party for party, _ in self.roles}
            self.roles |= {(party, "unspecified"): None for party in idle if party not in busy}
        buyers = self.references[0][1] if release.buyer else ()
        self.buyer = buyers[0] if buyers else None
        # Several firms that one tenderer lists are one bid.
        bids = {
            self._parties(written)
            for organisation, written, role in ([*listed, *acting] if self._has_lists else ())
            if written and "tenderer" in (role, *self._roles_of(organisation))
        }
        self.joint_bids = len(bids) if any(len(parties) > 1 for parties in bids) else None

    def withheld(self) -> int:
        """Return the number of parties that are not proven to be organisations."""
        return len({party.key for party, _ in self.roles if party.evidence is None})

    def _written(
        self, organisations: list[tuple[OcdsOrganisation, str]]
    ) -> list[tuple[OcdsOrganisation, WrittenParty | None, str]]:
        """Parse organisations, and record which party owns which id and which ids are shared."""
        parsed, owners = [], self._by_id
        for organisation, role in organisations:
            written = self._checker.read(organisation)
            parsed.append((organisation, written, role))
            if written and written.members:
                self._has_lists = True
            if written and written.id and written.name:
                first = owners.setdefault(written.id, written)
                if first is not written and first.plain != written.plain:
                    self._shared.add(written.id)
        return parsed

    def _roles_of(self, organisation: OcdsOrganisation) -> tuple[str, ...]:
        roles, _ = role_codes(organisation.roles, self._checker.portal.words.role)
        if self._checker.portal.supplier_means_bidder and "supplier" in roles:
            return tuple("tenderer" if role == "supplier" else role for role in roles)
        return roles

    def _parties(self, written: WrittenParty) -> tuple[Party, ...]:
        """Return the party, or those that its name lists; note the names that are not published."""
        # The party that it refers to may have a number, under which nothing is split.
        members = self._resolved(written).members if self._has_lists else ()
        parties = []
        for member in members or (written,):
            party = self._party(member)
            parties.append(party)
            if party.name is None:
                self.withheld_names |= {member.name, *member.other_names}
            else:
                # The other names of a published party may be a person's.
                for name in member.other_names:
                    if personal_name_rule(name, member.country):
                        self.withheld_names.add(name)
        return tuple(parties)

    def _party(self, written: WrittenParty) -> Party:
        owner = self._by_id.get(written.id) if written.id else None
        # The usual case, without the lookups below: the id is not shared and the names agree.
        if owner and not self._shared and (owner is written or written.plain in ("", owner.plain)):
            return owner.verdict or self._checker.check(owner, False, False)
        resolved = self._resolved(written)
        owner = self._by_id.get(resolved.id) if resolved.id else None
        other = owner is not None and owner is not resolved and owner.plain != resolved.plain
        return self._checker.check(resolved, resolved.id in self._shared, other)

    @cached_property
    def _by_name(self) -> dict[str, WrittenParty]:
        return {written.plain: written for written in self._by_id.values()}

    def _resolved(self, written: WrittenParty) -> WrittenParty:
        if written.id is None:
            return self._by_name.get(written.plain, written)
        owner = self._by_id.get(written.id)
        return owner if owner and written.plain in ("", owner.plain) else written


def _acting(release: OcdsRelease) -> list[tuple[OcdsOrganisation, str]]:
    acting = [(release.buyer, "buyer")] if release.buyer else []
    if tender := release.tender:
        if tender.procuringEntity:
            acting.append((tender.procuringEntity, "procuringEntity"))
        acting += [(tenderer, "tenderer") for tenderer in tender.tenderers or ()]
    for award in release.awards or ():
        acting += [(supplier, "supplier") for supplier in award.suppliers or ()]
    return acting
