"""Tell whether names can be those of one organisation: a weak test, against wrong identifiers.

Two names can if they share a word, legal forms and the like aside, and have the same numerals:
"Blue Water Acquisition Corp." is not "Blue Water Acquisition Corp. III".
"""

from collections.abc import Iterable
from typing import NamedTuple

from warehouse.names.legal_forms import LONG_FORM_WORDS, SHORT_FORM_WORDS
from warehouse.names.search_words import FORM_WORDS, name_terms
from warehouse.shared.data_files import csv_rows

# Words of names with the number that they mean; those without one tell nothing apart.
_NUMBERS = {row["word"]: row["number"] for row in csv_rows(__name__, "name_words")}
_FORMS = FORM_WORDS | {word.lower() for word in LONG_FORM_WORDS | SHORT_FORM_WORDS}


class ComparedName(NamedTuple):
    """What is compared of a name."""

    words: frozenset[str]
    numerals: frozenset[str]


def compared_name(name: str) -> ComparedName | None:
    """Return what is compared of a name; None if it is in another script altogether."""
    terms = {term for term in name_terms(name) if term.isascii()}
    numerals = {term for term in terms if term.isdigit() or _NUMBERS.get(term)}
    words = terms - numerals - _FORMS - _NUMBERS.keys()
    numbers = frozenset(_NUMBERS.get(term) or term.lstrip("0") for term in numerals)
    return ComparedName(frozenset(words or terms), numbers) if terms else None


def names_agree(first: Iterable[ComparedName], second: Iterable[ComparedName]) -> bool:
    """Return whether two names, one of each, can be those of one organisation."""
    return any(
        not one.words.isdisjoint(other.words) and one.numerals == other.numerals
        for one in first
        for other in second
    )
