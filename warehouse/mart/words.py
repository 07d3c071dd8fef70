"""Words for searching: folded alike when a build is written and when it is asked.

Which rows have a word is kept as one list of their places, four bytes each; the same table
serves every engine.
"""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_LETTERS = ("L", "N", "M")
# What sorts after every word that begins alike.
PREFIX_END = "\U0010ffff"


def words(text: str) -> list[str]:
    """Give the words of a text in their order, folded."""
    spaced = "".join(each if unicodedata.category(each)[0] in _LETTERS else " " for each in text)
    return [word for word in map(fold, spaced.split(" ")) if word]


@lru_cache(maxsize=1 << 14)
def fold(word: str) -> str:
    """Give a word without its case and its accents."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(each for each in plain if not unicodedata.combining(each))


def folded(texts: Iterable[str]) -> list[str]:
    """Give each text as its folded words, one space between them."""
    return [" ".join(words(text)) for text in texts]
