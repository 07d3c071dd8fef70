"""Decide which ids are one organisation, by the evidence that they share, and choose its id.

The evidence counts in the order of ``METHODS``: the same LEI; the same ISIN of a listed security or
share-class FIGI; the same number of the same register; the same listing; the same normalised legal
name in the same country, unless two subdivisions of it (``US-DE``, ``US-NV``) are stated. Never
likeness. Two valid LEIs are two organisations, however much else
they share (an umbrella fund and its sub-funds give one register number), unless GLEIF itself calls
one the duplicate of the other. Weaker evidence joins nothing that stronger evidence tells apart.

Two things veto an identifier of a security. A share class has one ISIN: organisations with
different ones do not share its FIGI. And what a community's list states joins nothing that names
tell apart: its maintainers match securities by ticker, and tickers are used again. What names tell
apart no chain of others joins; only an LEI, a register number or an ISIN that no community states.

``organisations`` finds the evidence, with SQL.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple, get_args

from assets.entities.identifiers import mint
from warehouse.names.legal_forms import LONG_FORM_WORDS, SHORT_FORM_WORDS
from warehouse.names.search_words import FORM_WORDS, name_terms
from warehouse.shared.data_files import csv_rows
from warehouse.tables.derived import JoinMethod


class Claim(NamedTuple):
    """An id has a key, in the records of a source; a listing, from a day to a day.

    Of a name, ``subdivision`` is that under whose law its owner is, if the record states it.
    """

    method: str
    key: str
    service_id: str
    source: str
    is_current: bool
    begins: date | None = None
    ends: date | None = None
    subdivision: str | None = None

    @property
    def side(self) -> str:
        """The register or list under all names of its sources: gleif and gleif-api are one."""
        return self.source.partition("-")[0]


class Number(NamedTuple):
    """An identifier of an id in comparable form, and the text from which an id is minted."""

    service_id: str
    id_type: str
    register: str | None
    number: str
    text: str

    @property
    def is_origin(self) -> bool:
        """True if its id was minted from it."""
        return mint(self.id_type, self.text) == self.service_id

    @property
    def strength(self) -> int:
        """The rank of its type, from 0 for the strongest."""
        return STRENGTH.index(self.id_type)


class Evidence(NamedTuple):
    """What ids share, their identifiers, and the duplicates that registers declare.

    ``stated`` are the texts that tell ids apart, by the reason of a veto and by id; ``community``
    are the lists that no exchange or regulator makes.
    """

    claims: list[Claim]
    numbers: list[Number]
    declared: dict[str, str]
    stated: Mapping[str, Mapping[str, set[str]]]
    community: frozenset[str]


class DisjointSets:
    """Union-find over names: all names of a link are in one group."""

    def __init__(self, links: Iterable[Iterable[str]]) -> None:
        self._parent: dict[str, str] = {}
        for link in links:
            names = list(link)
            for name in names:
                low, high = sorted((self.root(names[0]), self.root(name)))
                self._parent.setdefault(low, low)
                self._parent[high] = low

    def root(self, name: str) -> str:
        """Return the name that represents the group of a name: the smallest in it."""
        root = name
        while (parent := self._parent.get(root, root)) != root:
            root = parent
        # Path compression: the next lookup of these names is one step.
        while name != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def groups(self) -> list[set[str]]:
        """Return the groups of two or more, sorted by their smallest name."""
        members: dict[str, set[str]] = defaultdict(set)
        for name in self._parent:
            members[self.root(name)].add(name)
        return [members[root] for root in sorted(members) if len(members[root]) > 1]


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
# Evidence that names veto if a community's list states it.
_OF_SECURITIES = frozenset({"isin", "figi", "listing"})
# Evidence that, unless such a list states it, joins organisations whatever they are called.
_TRUSTED = ("lei", "registry_id", "isin")


# Whether names can be those of one organisation: a weak test, against wrong identifiers.
#
# Two names can if they share a word, legal forms and the like aside, and have the same numerals:
# "Blue Water Acquisition Corp." is not "Blue Water Acquisition Corp. III". What has no word in
# Latin letters is not compared.

# Words of names with the number that they mean; those without one tell nothing apart.
_NUMBERS = {row["word"]: row["number"] for row in csv_rows(__name__, "name_words")}
_FORMS = FORM_WORDS | {word.lower() for word in LONG_FORM_WORDS | SHORT_FORM_WORDS}


def names_differ(first: Iterable[str], second: Iterable[str]) -> bool:
    """Return whether both have names, and no name of one can be that of the other."""
    names, others = (list(filter(any, map(_compared, stated))) for stated in (first, second))
    return bool(names and others) and not any(
        words & other_words and numbers == other_numbers
        for words, numbers in names
        for other_words, other_numbers in others
    )


@lru_cache(maxsize=1 << 14)
def _compared(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words by which a name is compared, and its numbers."""
    terms = {term for term in name_terms(name) if term.isascii()}
    numerals = {term for term in terms if term.isdigit() or _NUMBERS.get(term)}
    words = terms - numerals - _FORMS - _NUMBERS.keys()
    numbers = frozenset(_NUMBERS.get(term) or term.lstrip("0") for term in numerals)
    return frozenset(words or terms), numbers


def joined_ids(evidence: Evidence) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return a row for every alias, and one for every vetoed join.

    The order of the evidence makes no difference. All aliases of an organisation point directly to
    its canonical id. The method is the weakest evidence on the strongest way from one to the other.
    """
    ids = _Ids(evidence)
    partitions: list[tuple[str, DisjointSets]] = []
    links: list[set[str]] = [{*pair} for pair in evidence.declared.items()]
    trusted_links: list[set[str]] = []
    for method in METHODS:
        keys = _claims_by_key(evidence.claims, method, ids)
        # What communities state comes last: names count against that alone.
        passes = [_trusted(keys, evidence), keys] if method in _OF_SECURITIES else [keys]
        for stated in passes:
            before = DisjointSets([*links, *trusted_links])
            accepted = [_ids(claims) for claims in stated if _may_join(method, claims, before, ids)]
            ids.names_count = len(passes) > 1 and stated is keys
            links += _without_contradictions(method, accepted, before, ids)
        partitions.append((method, DisjointSets(links)))
        if method == "lei":
            ids.same_lei = partitions[-1][1]
            for strong in _TRUSTED:
                keys = _trusted(_claims_by_key(evidence.claims, strong, ids), evidence)
                may_join = (each for each in keys if _may_join(strong, each, ids.same_lei, ids))
                trusted_links += map(_ids, may_join)
    rows, joined = [], partitions[-1][1]
    for group in joined.groups():
        to = _canonical(group, evidence.declared, ids)
        for alias in group - {to}:
            # With which method the alias first is in one group with the canonical id.
            method = next(name for name, sets in partitions if sets.root(alias) == sets.root(to))
            rows.append({"service_id": alias, "same_as": to, "match_method": method})
    vetoed = [
        {"service_id": first, "other_id": second, "match_method": method, "reason": reason}
        for first, others in sorted(ids.vetoes.items())
        for second, (method, reason) in sorted(others.items())
        if joined.root(first) != joined.root(second)
    ]
    return sorted(rows, key=lambda row: row["service_id"]), vetoed


def _trusted(keys: Iterable[Sequence[Claim]], evidence: Evidence) -> list[list[Claim]]:
    """Return the claims of each key that no community's list states."""
    return [[claim for claim in key if claim.source not in evidence.community] for key in keys]


def _ids(claims: Iterable[Claim]) -> set[str]:
    return {claim.service_id for claim in claims}


class _Ids:
    """The identifiers of ids: what they were minted from, and which numbers tell them apart."""

    def __init__(self, evidence: Evidence) -> None:
        # More than one if an organisation moved, from Delaware to Nevada.
        self.subdivisions: dict[str, set[str]] = defaultdict(set)
        for claim in evidence.claims:
            if claim.subdivision:
                self.subdivisions[claim.service_id].add(claim.subdivision)
        self._keys: dict[str, list[Number]] = defaultdict(list)
        for number in evidence.numbers:
            self._keys[number.service_id].append(number)
        # Groups of ids with one LEI; the declared duplicates of an LEI count as the same.
        self.same_lei = DisjointSets([])
        self.leis: dict[str, set[str]] = {}
        for service_id, keys in self._keys.items():
            leis = {key.number for key in keys if key.id_type == "lei"}
            # An id with two LEIs would join two organisations: only its own may join.
            if len(leis) > 1:
                leis = {lei for lei in leis if mint("lei", lei) == service_id}
            self.leis[service_id] = leis
        # Two organisations, by one id of each -> what would have joined them, and why it does not.
        self.vetoes: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        self.names_count = False
        self._stated = evidence.stated

    def of(self, service_id: str) -> list[Number]:
        """Return the identifiers of an id that say something about it."""
        return self._keys.get(service_id, [])

    def is_security(self, service_id: str) -> bool:
        """Return whether an id was minted from the identifier of a security."""
        return any(key.is_origin and key.id_type in _SECURITIES for key in self.of(service_id))

    def differ(self, method: str, reason: str, organisations: Iterable[set[str]]) -> bool:
        """Return whether ISINs or names tell two of the organisations apart, and note which."""
        texts = self._stated[reason]
        stated = {
            min(members): {text for each in members for text in texts.get(each, ())}
            for members in organisations
        }
        pairs = [
            (first, second)
            for first, second in combinations(sorted(stated), 2)
            if names_differ(stated[first], stated[second])
        ]
        for first, second in pairs:
            self.vetoes[first].setdefault(second, (method, reason))
        return bool(pairs)

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
        key.is_origin and "/".join(filter(None, key[1:4])) == claim.key
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
    if method == "figi" and ids.differ(method, "isin", _organisations(_ids(claims), before)):
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
    """Yield the links of groups in which nothing tells two organisations apart.

    Links are judged together, since their order must not matter: if a group of links would join
    what is not one, none of them counts.
    """
    if method in _CERTAIN:
        yield from links
        return
    together = DisjointSets([*before.groups(), *links])
    groups = {together.root(next(iter(group))): group for group in together.groups()}
    roots = {together.root(next(iter(link))) for link in links if link}
    several = {root for root in roots if _are_several(method, groups.get(root, set()), before, ids)}
    yield from (link for link in links if link and together.root(next(iter(link))) not in several)


def _are_several(method: str, group: set[str], before: DisjointSets, ids: _Ids) -> bool:
    """Return whether something tells apart two organisations of a group."""
    if len(ids.organisations_with_lei(group)) > 1:
        return True
    organisations = _organisations(group, before)
    if method in _NEEDS_ONE_ON_EACH_SIDE and _numbers_differ(organisations, ids):
        return True
    if method == "exact_name" and _subdivisions_differ(organisations, ids):
        return True
    if ids.names_count and ids.differ(method, "names", organisations):
        return True
    return method != "registry_id" and any(
        second in group and before.root(first) != before.root(second)
        for first in ids.vetoes.keys() & group
        for second, (of_method, reason) in ids.vetoes[first].items()
        # Different ISINs speak of a share class, and so against its FIGI alone.
        if reason == "names" or of_method == method
    )


def _organisations(group: Iterable[str], before: DisjointSets) -> list[set[str]]:
    """Return the ids of a group by what stronger evidence joins."""
    organisations: dict[str, set[str]] = defaultdict(set)
    for service_id in group:
        organisations[before.root(service_id)].add(service_id)
    return list(organisations.values())


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
