"""The full-text search of SQLite: rows by their words, and words by their trigrams.

A file with texts has a table ``words``; that of ``search`` also has ``vocabulary`` and ``trigrams``
(``warehouse/mart/search_index.py``). Words come from ``terms``: they contain no character that
means something in a query.
"""

from collections.abc import Iterable, Sequence

from warehouse.mart.words import terms, trigrams
from warehouse.read.conditions import Condition
from warehouse.read.engines import FileReader

# The most words that the surfaces accept in a search.
MAX_SEARCH_WORDS = 16
# A shorter last word is matched as a whole word: as a prefix it would match too many.
_MIN_PREFIX = 3
# Words of which one must occur; a word may end with PREFIX.
Alternatives = Sequence[str]
PREFIX = "*"


def every_word(words: Sequence[str]) -> list[Alternatives]:
    """Return what must occur if every word must; the last may be a prefix."""
    last = [f"{word}{PREFIX}" for word in words[-1:] if len(word) >= _MIN_PREFIX] or words[-1:]
    return [[word] for word in (*words[:-1], *last)]


def text_matches(text: str, only_names: bool) -> Condition:
    """Match rows with every word of a text, the last perhaps a prefix; none without a word."""
    words = terms(text)
    return words_match([every_word(words)], only_names) if words else Condition("1 = 0")


def words_match(choices: Iterable[Sequence[Alternatives]], only_names: bool) -> Condition:
    """Match rows that have, for one of the choices, one of each of its alternatives."""
    query = " OR ".join(
        "(" + " AND ".join(f"({' OR '.join(map(_quoted, words))})" for words in choice) + ")"
        for choice in choices
    )
    within = f"{{name}} : ({query})" if only_names else query
    return Condition("row_number IN (SELECT rowid FROM words WHERE words MATCH ?)", (within,))


def _quoted(word: str) -> str:
    """Return a word as FTS5 reads it; the star of a prefix is outside the quotes."""
    whole = word.removesuffix(PREFIX)
    return f'"{whole}"' if whole == word else f'"{whole}"*'


def similar_words(file: FileReader, word: str, least: float) -> list[tuple[str, int]]:
    """Return words of the vocabulary with that share of the trigrams, and how many rows have each.

    There may be more: what many trigrams are shared with need not be similar.
    """
    wanted = sorted(trigrams(word))
    shared = max(1, int(least * len(wanted)))
    statement = "SELECT rowid FROM trigrams WHERE trigrams MATCH ?"
    occurrences = " UNION ALL ".join([statement] * len(wanted))
    return file.query(
        "SELECT word, uses FROM vocabulary WHERE row_number IN ("
        f"SELECT rowid FROM ({occurrences}) GROUP BY rowid HAVING count(*) >= ?) ORDER BY word",
        *(f'"{trigram}"' for trigram in wanted),
        shared,
    )
