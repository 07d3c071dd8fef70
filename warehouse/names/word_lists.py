"""Word lists for judging names, read from ``word_lists.csv``.

They are in upper case, without accents and dots, as ``reading`` reads a name; the file has them as
their language writes them. None of these words is evidence of an organisation by itself.
"""

import unicodedata
from collections import defaultdict

from warehouse.shared.data_files import csv_rows

Phrase = tuple[str, ...]


def word_set(text: str) -> frozenset[str]:
    """Parse words separated by blanks."""
    return frozenset(text.split())


def listed_words(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(_LISTS[name])


def listed_phrases(name: str) -> frozenset[Phrase]:
    """Return the phrases of a list, each as a tuple of words."""
    return frozenset(tuple(phrase.split()) for phrase in _LISTS[name])


def listed_texts(name: str) -> tuple[str, ...]:
    """Return the phrases of a list, each as one text."""
    return tuple(_LISTS[name])


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


_LISTS: dict[str, list[str]] = defaultdict(list)
for _row in csv_rows(__name__, "word_lists"):
    _LISTS[_row["list"]].append(_unaccented(_row["phrase"]))


# Words of natural persons.

# Offices and jobs: their holder is a person, whatever body is named next to them.
OFFICE_HOLDERS = listed_words("office_holders")

# Personal titles; those that count only as the first word; and those that are ordinary words too
# and therefore yield to a long legal form.
TITLES = listed_words("titles")
FIRST_TITLES = listed_words("first_titles")
LOOSE_TITLES = listed_words("loose_titles")

# A sole trader is a natural person in law. So is the French EIRL; those of Peru, Chile and the
# Dominican Republic are companies that carry their owner's name, so the name would identify a
# person either way. Ukrainian, Russian and Romanian abbreviations that can mean a firm as well
# ("ПП" and "ЧП") are not listed.
SOLE_TRADER_PHRASES = listed_texts("sole_trader_phrases")
EASTERN_SOLE_TRADER_PHRASES = listed_texts("eastern_sole_trader_phrases")

# Between a trader and the name of the trade. A company may come before it, too.
TRADING_AS_PHRASES = listed_texts("trading_as_phrases")

# Someone acting for another: whoever is named on either side may be a person.
REPRESENTATIVE_PHRASES = listed_texts("representative_phrases")

# Given names that are common somewhere and hardly ever part of a firm's name. Nothing is withheld
# for want of one: they only decide which of two names joined in one field is a person's.
GIVEN_NAMES = listed_words("given_names")

# How patronymics end, which only natural persons have; and adjectives and nouns that end alike.
# These are listed, since their place in a name proves nothing; none is made of a given name.
PATRONYMIC_ENDINGS = listed_texts("patronymic_endings")
NO_PATRONYMICS = listed_words("no_patronymics")


# Words of firms.

# Words of trade. No evidence, since sole traders use them too: they only show that a short form
# after them is a legal form and not a surname or initials.
TRADE_WORDS = listed_words("trade_words")

# Words of trade that are also surnames ("van der Bank"): of trade unless a particle precedes them.
TRADE_SURNAMES = listed_words("trade_surnames")

# Words that may follow a legal form.
WORDS_AFTER_FORMS = listed_words("words_after_forms")

# Particles of surnames.
PARTICLES = listed_words("particles")

# What joins two names, and words that share the name before them ("Smith & Sons").
CONJUNCTIONS = listed_words("conjunctions")
FAMILY_WORDS = listed_words("family_words")

# Words that are no part of a person's name: they only show that what is joined to a firm's name
# is not a person.
IMPERSONAL_WORDS = listed_words("impersonal_words")
