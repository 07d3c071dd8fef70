"""Tell whether names can be those of one organisation: a weak test, against wrong identifiers.

Two names can if they share a word, legal forms and the like aside, and have the same numerals:
"Blue Water Acquisition Corp." is not "Blue Water Acquisition Corp. III". What has no word in Latin
letters is not compared.
"""

from collections.abc import Iterable
from functools import lru_cache

from warehouse.names.legal_forms import LONG_FORM_WORDS, SHORT_FORM_WORDS
from warehouse.names.search_words import FORM_WORDS, name_terms
from warehouse.shared.data_files import csv_rows

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
