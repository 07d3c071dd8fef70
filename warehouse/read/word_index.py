"""Full-text search: the rows in which every word of a text occurs."""

import sys
from array import array

from warehouse.mart.words import PREFIX_END, words
from warehouse.read.engines import FileReader

# The most words that the surfaces accept in a search.
MAX_SEARCH_WORDS = 16
# A shorter last word is matched as a whole word: as a prefix it would match too many.
_MIN_PREFIX = 3


def rows_with_words(file: FileReader, field: str, text: str) -> list[int]:
    """Return the sorted numbers of a file's rows with every word; the last may be a prefix."""
    search_words = distinct_words(text)
    matches: set[int] | None = None
    for index, word in enumerate(search_words):
        is_prefix = index == len(search_words) - 1 and len(word) >= _MIN_PREFIX
        rows = _rows_with_word(file, field, word, is_prefix)
        matches = rows if matches is None else matches & rows
        if not matches:
            return []
    return sorted(matches or ())


def distinct_words(text: str) -> list[str]:
    """Return the words to search for, each once."""
    return list(dict.fromkeys(words(text)))


def _rows_with_word(file: FileReader, field: str, word: str, is_prefix: bool) -> set[int]:
    statement = (
        f"SELECT row_numbers FROM {file.prefix}words "
        "WHERE field = ? AND word >= ? AND word <= ? ORDER BY word"
    )
    last = word + PREFIX_END if is_prefix else word
    rows = file.query(statement, field, word, last)
    return {number for (packed,) in rows for number in _unpack(packed)}


def _unpack(packed: bytes) -> "array[int]":
    numbers = array("i")
    numbers.frombytes(packed)
    # Stored as little-endian.
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
