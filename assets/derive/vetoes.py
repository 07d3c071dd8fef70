"""Tell apart organisations that an identifier of a security would join.

A share class has one ISIN: two organisations with different ones do not share its FIGI. And what a
community's list states joins nothing that names tell apart: its maintainers match securities by
ticker, and tickers are used again. Names tell two organisations apart if no name of one shares a
word with a name of the other, legal forms aside, and has the same numerals: "Blue Water Acquisition
Corp." is not "Blue Water Acquisition Corp. III".

What names tell apart stays so, whatever a third is joined with. Only evidence of the organisation
itself (LEI, register number), or an ISIN in lists that are no community's, joins it yet.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from assets.derive.evidence import Claim, DisjointSets, Evidence
from warehouse.names.legal_forms import LONG_FORM_WORDS, SHORT_FORM_WORDS
from warehouse.names.search_words import FORM_WORDS, name_terms
from warehouse.shared.data_files import csv_rows

# Words of names with the number that they mean; those without one tell nothing apart.
_NUMBERS = {row["word"]: row["number"] for row in csv_rows(__name__, "name_words")}
_FORMS = FORM_WORDS | {word.lower() for word in LONG_FORM_WORDS | SHORT_FORM_WORDS}
_OF_SECURITIES = frozenset({"isin", "figi", "listing"})
_OF_ORGANISATIONS = frozenset({"registry_id"})

# The claims of one key.
Key = Sequence[Claim]
Values = Mapping[str, set[Any]]


class ComparedName(NamedTuple):
    """What is compared of a name."""

    words: frozenset[str]
    numerals: frozenset[str]


class Vetoes:
    """The organisations that were told apart so far; ``certain`` are links that join them yet."""

    def __init__(self, evidence: Evidence, isins: Values, certain: Iterable[Iterable[str]]) -> None:
        self._names = {
            service_id: {compared for name in names if (compared := compared_name(name))}
            for service_id, names in evidence.names.items()
        }
        self._isins, self._certain = isins, list(certain)
        self._community = evidence.community
        # Two organisations -> the method and the reason, which is the first in order of methods.
        self._found: dict[tuple[str, str], tuple[str, str]] = {}

    def allowed(self, method: str, keys: Sequence[Key], before: DisjointSets) -> list[Key]:
        """Return what may join of the keys of a method, after what stronger ones joined."""
        if method in _OF_ORGANISATIONS:
            return list(keys)
        known = DisjointSets([*before.groups(), *self._certain])
        if method == "figi":
            isins = _by_organisation(self._isins, known)
            keys = [key for key in keys if not self._differ(method, "isin", [key], known, isins)]
        if method in _OF_SECURITIES:
            keys = self._without_vetoed(method, keys, known)
        # No chain of keys joins what was told apart before. ISINs speak of share classes only.
        together = DisjointSets([*known.groups(), *map(_ids, keys)])
        apart = {
            together.root(first)
            for (first, second), (by_method, reason) in self._found.items()
            if (reason == "names" or by_method == method)
            and together.root(first) == together.root(second)
            and known.root(first) != known.root(second)
        }
        return [key for key in keys if key and together.root(key[0].service_id) not in apart]

    def rows(self, canonical: Mapping[str, str]) -> list[dict[str, str]]:
        """Return each two organisations that nothing else joined, by their canonical ids."""
        rows: dict[tuple[str, ...], dict[str, str]] = {}
        for pair, (method, reason) in self._found.items():
            first, second = sorted(canonical.get(service_id, service_id) for service_id in pair)
            veto = {"service_id": first, "other_id": second, "match_method": method}
            if first != second:
                rows[first, second, method] = veto | {"reason": reason}
        return [rows[key] for key in sorted(rows)]

    def _without_vetoed(
        self, method: str, keys: Sequence[Key], known: DisjointSets
    ) -> Sequence[Key]:
        """Return keys without the claims of communities if names tell apart what they would join.

        First every key is judged by itself, then the chains of those that are left.
        """
        trusted = [[claim for claim in key if claim.source not in self._community] for key in keys]
        sure = DisjointSets([*known.groups(), *map(_ids, trusted)])
        names = _by_organisation(self._names, sure)

        def differ(chain: Sequence[Key]) -> bool:
            return self._differ(method, "names", chain, sure, names)

        keys = [good if differ([key]) else key for key, good in zip(keys, trusted, strict=True)]
        together = DisjointSets([*sure.groups(), *map(_ids, keys)])
        chains: dict[str, list[Key]] = defaultdict(list)
        for key in filter(None, keys):
            chains[together.root(key[0].service_id)].append(key)
        apart = {root for root, chain in chains.items() if differ(chain)}
        return [
            good if key and together.root(key[0].service_id) in apart else key
            for key, good in zip(keys, trusted, strict=True)
        ]

    def _differ(
        self, method: str, reason: str, chain: Sequence[Key], known: DisjointSets, values: Values
    ) -> bool:
        """Return whether two organisations of a chain differ, and note which."""
        agree = _AGREE[reason]
        roots = sorted({known.root(claim.service_id) for key in chain for claim in key})
        stated = [root for root in roots if values.get(root)]
        pairs = [pair for pair in combinations(stated, 2) if not agree(*map(values.get, pair))]
        for pair in pairs:
            self._found.setdefault(pair, (method, reason))
        return bool(pairs)


def compared_name(name: str) -> ComparedName | None:
    """Return what is compared of a name; None if it is in another script altogether."""
    terms = {term for term in name_terms(name) if term.isascii()}
    numerals = {term for term in terms if term.isdigit() or _NUMBERS.get(term)}
    words = terms - numerals - _FORMS - _NUMBERS.keys()
    numbers = frozenset(_NUMBERS.get(term) or term.lstrip("0") for term in numerals)
    return ComparedName(frozenset(words or terms), numbers) if terms else None


def names_agree(first: Iterable[ComparedName], second: Iterable[ComparedName]) -> bool:
    """Return whether two names, one of each, share a word and have the same numerals."""
    return any(
        not one.words.isdisjoint(other.words) and one.numerals == other.numerals
        for one in first
        for other in second
    )


def _share_an_isin(first: set[str], second: set[str]) -> bool:
    return not first.isdisjoint(second)


_AGREE: dict[str, Callable[..., bool]] = {"names": names_agree, "isin": _share_an_isin}


def _by_organisation(values: Values, known: DisjointSets) -> Values:
    """Return what is stated of all ids of each organisation, by its root."""
    pooled: dict[str, set[Any]] = defaultdict(set)
    for service_id, stated in values.items():
        pooled[known.root(service_id)] |= stated
    return pooled


def _ids(key: Key) -> set[str]:
    return {claim.service_id for claim in key}
