"""Places of the rows that have every word of a text; the last word may be its beginning."""

import sys
from array import array

from warehouse.mart.words import PREFIX_END, words
from warehouse.read.mart import Build

# What a surface lets a search ask for.
MAX_SEARCH_WORDS = 16
# A beginning of fewer letters is taken as a whole word.
_BEGINNING = 3


def rows_with_words(build: Build, field: str, text: str) -> list[int]:
    """Give the places of the rows that have every word, sorted; none if there is no word."""
    asked = distinct_words(text)
    kept: set[int] | None = None
    for number, word in enumerate(asked):
        last = number == len(asked) - 1 and len(word) >= _BEGINNING
        having = _having(build, field, word, beginning=last)
        kept = having if kept is None else kept & having
        if not kept:
            return []
    return sorted(kept or ())


def distinct_words(text: str) -> list[str]:
    """Give the words that are looked for, each once."""
    return list(dict.fromkeys(words(text)))


def _having(build: Build, field: str, word: str, beginning: bool) -> set[int]:
    asked = "SELECT places FROM words WHERE field = ? AND word >= ? AND word <= ? ORDER BY word"
    last = word + PREFIX_END if beginning else word
    held = build.rows(asked, field, word, last)
    return {place for (packed,) in held for place in _unpacked(packed)}


def _unpacked(packed: bytes) -> "array[int]":
    held = array("i")
    held.frombytes(packed)
    if sys.byteorder == "big":
        held.byteswap()
    return held
