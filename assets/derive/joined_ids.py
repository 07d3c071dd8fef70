"""Decide which ids are one organisation, by the evidence that they share, and choose its id.

The evidence counts in the order of ``METHODS``: the same LEI; the same ISIN of a listed security or
share-class FIGI; the same number of the same register; the same listing; the same normalised legal
name in the same country, unless two subdivisions of it (``US-DE``, ``US-NV``) are stated. Never
likeness. Two valid LEIs are two organisations, however much else
they share (an umbrella fund and its sub-funds give one register number), unless GLEIF itself calls
one the duplicate of the other. Weaker evidence joins nothing that stronger evidence tells apart,
and ``vetoes`` says which identifiers of securities join nothing.

``organisations`` finds the evidence, with SQL.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import combinations
from typing import NamedTuple, get_args

from assets.derive.evidence import Claim, DisjointSets, Evidence, Number
from assets.derive.vetoes import Key, Vetoes
from assets.entities.identifiers import has_digits, mint, normalise_number, register_of_number
from warehouse.tables.derived import JoinMethod

# From strongest to weakest: the id minted from the strongest identifier is canonical.
# An LEI is unique in the world, a register's number in its register; a ticker is used again.
STRENGTH = ("lei", "registry", "cik", "isin", "figi", "ticker")
# Ids minted from these name a security: an issuer may have several in one list.
_SECURITIES = frozenset({"isin", "figi", "ticker"})
# Numbers of which an organisation has one in each register: two different ones are two.
_UNIQUE = frozenset({"lei", "registry", "cik"})
METHODS: tuple[str, ...] = get_args(JoinMethod)
# Evidence that joins whatever else is stated.
_CERTAIN = frozenset({"declared", "lei"})
# Evidence that only counts if one organisation on each side has it, and nothing speaks against it.
_NEEDS_ONE_ON_EACH_SIDE = frozenset({"listing", "exact_name"})


def joined_ids(evidence: Evidence) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return a row for every alias, and one for every join that something contradicts.

    The order of the evidence makes no difference. All aliases of an organisation point directly to
    its canonical id. The method is the weakest evidence on the strongest way from one to the other.
    """
    ids = _Ids(evidence.numbers, evidence.claims)
    partitions: list[tuple[str, DisjointSets]] = []
    links: list[set[str]] = [{*pair} for pair in evidence.declared.items()]
    vetoes: Vetoes | None = None
    for method in METHODS:
        before = partitions[-1][1] if partitions else DisjointSets([])
        keys: Sequence[Key] = [
            claims
            for claims in _claims_by_key(evidence.claims, method, ids)
            if _may_join(method, claims, before, ids)
        ]
        if vetoes is not None:
            keys = vetoes.allowed(method, keys, before)
        accepted = [{claim.service_id for claim in claims} for claims in keys]
        links += _without_contradictions(method, accepted, before, ids)
        partitions.append((method, DisjointSets(links)))
        if method == "lei":
            ids.same_lei = partitions[-1][1]
            vetoes = Vetoes(evidence, ids.isins, _certain_links(evidence, ids))
    rows = []
    canonical: dict[str, str] = {}
    for group in partitions[-1][1].groups():
        to = _canonical(group, evidence.declared, ids)
        for alias in group - {to}:
            canonical[alias] = to
            # With which method the alias first is in one group with the canonical id.
            method = next(name for name, sets in partitions if sets.root(alias) == sets.root(to))
            rows.append({"service_id": alias, "same_as": to, "match_method": method})
    vetoed = [] if vetoes is None else vetoes.rows(canonical)
    return sorted(rows, key=lambda row: row["service_id"]), vetoed


def _certain_links(evidence: Evidence, ids: "_Ids") -> Iterator[set[str]]:
    """Yield what joins organisations whatever they are called: their numbers, and good ISINs."""
    for method in ("lei", "registry_id", "isin"):
        for claims in _claims_by_key(evidence.claims, method, ids):
            trusted = [
                claim
                for claim in claims
                if method != "isin" or claim.source not in evidence.community
            ]
            if _may_join(method, trusted, ids.same_lei, ids):
                yield {claim.service_id for claim in trusted}


class _Key(NamedTuple):
    """An identifier in comparable form; ``is_origin`` if its id was minted from it."""

    id_type: str
    register: str | None
    number: str
    is_origin: bool

    @property
    def strength(self) -> int:
        """The rank of its type, from 0 for the strongest."""
        return STRENGTH.index(self.id_type)


class _Ids:
    """The identifiers of ids: what they were minted from, and which numbers tell them apart."""

    def __init__(self, numbers: Iterable[Number], claims: Iterable[Claim]) -> None:
        # More than one if an organisation moved, from Delaware to Nevada.
        self.subdivisions: dict[str, set[str]] = defaultdict(set)
        for claim in claims:
            if claim.subdivision:
                self.subdivisions[claim.service_id].add(claim.subdivision)
        self._keys: dict[str, list[_Key]] = defaultdict(list)
        for number in numbers:
            if number.id_type in STRENGTH and (key := _key_of(number)) is not None:
                self._keys[number.service_id].append(key)
        # Groups of ids with one LEI; the declared duplicates of an LEI count as the same.
        self.same_lei = DisjointSets([])
        self.leis: dict[str, set[str]] = {}
        for service_id, keys in self._keys.items():
            leis = {key.number for key in keys if key.id_type == "lei"}
            # An id with two LEIs would join two organisations: only its own may join.
            if len(leis) > 1:
                leis = {lei for lei in leis if mint("lei", lei) == service_id}
            self.leis[service_id] = leis

    def of(self, service_id: str) -> list[_Key]:
        """Return the identifiers of an id that say something about it."""
        return self._keys.get(service_id, [])

    def is_security(self, service_id: str) -> bool:
        """Return whether an id was minted from the identifier of a security."""
        return any(key.is_origin and key.id_type in _SECURITIES for key in self.of(service_id))

    @property
    def isins(self) -> dict[str, set[str]]:
        """The ISINs of ids."""
        return {
            service_id: {key.number for key in keys if key.id_type == "isin"}
            for service_id, keys in self._keys.items()
        }

    def organisations_with_lei(self, ids: Iterable[str]) -> set[str]:
        """Return one id for each organisation among the ids that has an LEI."""
        return {self.same_lei.root(service_id) for service_id in ids if self.leis.get(service_id)}

    def unique_numbers(self, ids: Iterable[str]) -> dict[tuple[str, str | None], set[str]]:
        """Return the numbers of ids by register."""
        numbers: dict[tuple[str, str | None], set[str]] = defaultdict(set)
        for key in (key for service_id in ids for key in self.of(service_id)):
            if key.id_type in _UNIQUE:
                numbers[key.id_type, key.register].add(key.number)
        return numbers


def _claims_by_key(claims: Iterable[Claim], method: str, ids: _Ids) -> list[list[Claim]]:
    """Return the claims of a method that count, those of each key together."""
    by_key: dict[str, list[Claim]] = {}
    for claim in claims:
        of_key = claim.key.partition("/")[2]
        is_own = claim.method != "lei" or of_key in ids.leis.get(claim.service_id, ())
        if claim.method == method and is_own:
            by_key.setdefault(claim.key, []).append(claim)
    # What a source withdrew does not count once it says the same of another id.
    return [
        [claim for claim in same_key if claim.is_current or not _was_moved(claim, same_key, ids)]
        for same_key in by_key.values()
    ]


def _was_moved(claim: Claim, claims: Iterable[Claim], ids: _Ids) -> bool:
    """Return whether the source of a withdrawn claim now gives the key to another id."""
    # An id that was minted from the key is the key's for ever.
    is_origin = any(
        key.is_origin and "/".join(filter(None, key[:3])) == claim.key
        for key in ids.of(claim.service_id)
    )
    return not is_origin and any(
        other.is_current and other.side == claim.side and other.service_id != claim.service_id
        for other in claims
    )


def _may_join(method: str, claims: Sequence[Claim], before: DisjointSets, ids: _Ids) -> bool:
    """Return whether one key may join all ids that claim it."""
    if method in _CERTAIN:
        return True
    if len(ids.organisations_with_lei(claim.service_id for claim in claims)) > 1:
        return False
    if method not in _NEEDS_ONE_ON_EACH_SIDE:
        return True
    bearers: dict[str, set[str]] = defaultdict(set)
    for claim in claims:
        # Several securities with one name in one list are of one issuer.
        if method == "listing" or not ids.is_security(claim.service_id):
            bearers[claim.side].add(before.root(claim.service_id))
    if any(len(organisations) > 1 for organisations in bearers.values()):
        return False
    # Listings count if all were current at the same time.
    return method != "listing" or all(
        max(each.begins or date.min for each in pair) <= min(each.ends or date.max for each in pair)
        for pair in combinations(claims, 2)
    )


def _without_contradictions(
    method: str, links: Sequence[set[str]], before: DisjointSets, ids: _Ids
) -> Iterator[set[str]]:
    """Yield the links of groups in which no stronger evidence tells two organisations apart.

    Links are judged together, since their order must not matter: if a group of links would join
    what is not one, none of them counts.
    """
    if method in _CERTAIN:
        yield from links
        return
    together = DisjointSets([*before.groups(), *links])
    group_of = {together.root(next(iter(group))): group for group in together.groups()}
    for link in links:
        group = group_of.get(together.root(next(iter(link))), set())
        if len(ids.organisations_with_lei(group)) > 1:
            continue
        if method in _NEEDS_ONE_ON_EACH_SIDE:
            # The ids of a group by what stronger evidence joins.
            organisations: dict[str, set[str]] = defaultdict(set)
            for service_id in group:
                organisations[before.root(service_id)].add(service_id)
            if _numbers_differ(organisations.values(), ids):
                continue
            if method == "exact_name" and _subdivisions_differ(organisations.values(), ids):
                continue
        yield link


def _numbers_differ(organisations: Iterable[set[str]], ids: _Ids) -> bool:
    """Return whether two organisations have different numbers in one register."""
    numbers = [ids.unique_numbers(members) for members in organisations]
    return any(
        first[register].isdisjoint(second[register])
        for first, second in combinations(numbers, 2)
        for register in first.keys() & second.keys()
    )


def _subdivisions_differ(organisations: Iterable[set[str]], ids: _Ids) -> bool:
    """Return whether two organisations are under the laws of different subdivisions."""
    stated = [
        {place for member in members for place in ids.subdivisions.get(member, ())}
        for members in organisations
    ]
    return any(first.isdisjoint(second) for first, second in combinations(filter(None, stated), 2))


def _canonical(group: set[str], declared: dict[str, str], ids: _Ids) -> str:
    """Choose the id by which an organisation is named.

    Ids rank by the identifier they were minted from, else by the strongest they have.
    """
    declared_targets = {declared[service_id] for service_id in group if service_id in declared}

    def rank(service_id: str) -> tuple[int, bool, int, str]:
        keys = ids.of(service_id)
        # An id known only as the target of a register's pointer was minted from an LEI.
        if service_id in declared_targets and not keys:
            return 0, False, 0, service_id
        strongest = min((key.strength for key in keys), default=len(STRENGTH))
        origin = min((key.strength for key in keys if key.is_origin), default=None)
        return strongest if origin is None else origin, origin is None, strongest, service_id

    # An id that a register calls a duplicate is no target, unless all of the group are.
    return min(
        {service_id for service_id in group if service_id not in declared} or group, key=rank
    )


def _key_of(number: Number) -> _Key | None:
    """Return an identifier in comparable form; None if it identifies nothing by itself.

    The same rules are applied in SQL by ``identifier_keys``.
    """
    value, of_register = normalise_number(number.value), ""
    register: str | None = None
    if number.id_type == "cik" and value is not None:
        value = value.lstrip("0") or None
    if value is None:
        return None
    if number.id_type == "registry":
        register, of_register = register_of_number(number.issuer, value), f"{number.issuer}:"
        if not register or not has_digits(value):
            return None
    minted = mint(number.id_type, f"{of_register}{number.value}")
    return _Key(number.id_type, register, value, minted == number.service_id)
