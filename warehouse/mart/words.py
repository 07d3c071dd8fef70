"""Words for searching: normalised the same way when a build is written and when it is searched.

Free of Arrow and numpy, so that the surfaces can import it.
"""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

# First letters of the Unicode categories a word is made of: letters, numbers, marks.
_WORD_CATEGORIES = ("L", "N", "M")
# Sorts after every word with the same prefix: the last code point.
PREFIX_END = "\U0010ffff"


def words(text: str) -> list[str]:
    """Return the words of a text in order, normalised."""
    spaced = "".join(
        char if unicodedata.category(char)[0] in _WORD_CATEGORIES else " " for char in text
    )
    return [word for word in map(fold, spaced.split(" ")) if word]


@lru_cache(maxsize=1 << 14)
def fold(word: str) -> str:
    """Return a word without case and accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def folded(texts: Iterable[str]) -> list[str]:
    """Return each text as its normalised words, separated by single spaces."""
    return [" ".join(words(text)) for text in texts]
