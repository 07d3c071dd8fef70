"""What databases search in: words of rows, names and identifiers, and the trigrams of words.

The tables lie in the file of the rows they speak of, as FTS5 of SQLite (``sqlite_loader``).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from string import punctuation, whitespace
from typing import Any

import pyarrow as pa

from warehouse.names.legal_names import SHORT_FORMS, normalise_name
from warehouse.publish.tables import Columns
from warehouse.shared.data_files import csv_rows

#
# Words for searching: normalised the same way when a build is written and when it is searched.
#
# Free of Arrow and numpy, so that the surfaces can import it.

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


# What SQLite's tokenizer takes for a word: letters and digits of ASCII, and everything beyond it.
_SEPARATORS = {ord(char): " " for char in punctuation + whitespace}
_TERM = re.compile("[a-z0-9\x80-\U0010ffff]+")
# Bounds of a word, of all words of a row, and of an indexed text: a hostile text is no large index.
_LONGEST_TERM, _MOST_TERMS, _LONGEST_KEY = 64, 2_000, 256
# Short forms of companies: they tell organisations apart less than any other word.
FORM_WORDS = frozenset(SHORT_FORMS.values())


def terms(text: str) -> list[str]:
    """Return the words under which a text is found, each once, in order."""
    # Split at ASCII separators, which is fast; a million texts have few distinct tokens.
    tokens = dict.fromkeys(text.lower().translate(_SEPARATORS).split())
    found = dict.fromkeys(term for token in tokens for term in _terms_of_token(token))
    return list(found)[:_MOST_TERMS]


@lru_cache(maxsize=1 << 16)
def _terms_of_token(token: str) -> tuple[str, ...]:
    # Twice: what is folded can contain what separates words, as "½" does.
    found = _TERM.findall(" ".join(words(" ".join(words(token)))))
    return tuple(term[:_LONGEST_TERM] for term in found)


@lru_cache(maxsize=1 << 14)
def name_terms(name: str) -> tuple[str, ...]:
    """Return the words of a name; the forms of companies are folded."""
    return tuple(terms(normalise_name(name) or ""))


def name_key(name: str) -> str:
    """Return a name as it is compared with a whole query."""
    return " ".join(name_terms(name))[:_LONGEST_KEY]


def identifier_key(identifier: str) -> str:
    """Return an identifier as it is compared: its parts in one order, so JSE:UFM is UFM JSE."""
    return " ".join(sorted(terms(identifier)))[:_LONGEST_KEY]


def padded(word: str) -> str:
    """Return a word as it is cut into trigrams: its beginning counts more than its end."""
    return f"  {word} "


def trigrams(word: str) -> frozenset[str]:
    """Return every three neighbouring characters of a word."""
    text = padded(word)
    return frozenset(text[begin : begin + 3] for begin in range(len(text) - 2))


def similarity(first: str, second: str) -> float:
    """Return the share of the trigrams of two words that both have, between 0 and 1."""
    of_first, of_second = trigrams(first), trigrams(second)
    return len(of_first & of_second) / len(of_first | of_second)


# Rows by their words: those of names, and more.
WORDS_SCHEMA = pa.schema([("row_number", pa.int64()), ("name", pa.string()), ("more", pa.string())])
# Names and identifiers in comparable form, with the row of ``search`` that they find.
KEYS, KEY_COLUMNS = "search_keys", Columns(key="text", is_name="integer", search_row="integer")
KEYS_SCHEMA = pa.schema([("key", pa.string()), ("is_name", pa.int32()), ("search_row", pa.int32())])
# Every word of the names, with the number of rows that have it.
VOCABULARY, VOCABULARY_COLUMNS = "vocabulary", Columns(word="text", uses="integer")
VOCABULARY_SCHEMA = pa.schema(
    [("row_number", pa.int64()), ("word", pa.string()), ("uses", pa.int32())]
)
TRIGRAMS_SCHEMA = pa.schema([("row_number", pa.int64()), ("text", pa.string())])
_BATCH = 20_000
# Names of stock exchanges by their MIC: that of ISO 10383, and the short ones in use.
EXCHANGE_NAMES = {
    row["mic"]: tuple(row["names"].split("|")) for row in csv_rows(__name__, "exchange_names")
}
# Characters of a description that are indexed: its beginning says what is bought.
_DESCRIPTION_LENGTH = 400

# The searchable texts of a release: its buyer, and title and description. Every vintage is
# searchable: what a later one says must not hide it from an earlier day.
_TEXTS = "json_extract_string(release, ['$.buyer.name', '$.tender.title', '$.tender.description'])"
_SEARCHABLE = "CASE WHEN NOT withdrawn AND release IS NOT NULL THEN {} END"
# Columns that the writer of a file needs beside those that are stored, by table.
TEXT_PREFIX = "searched_"
WRITTEN_TEXTS: dict[str, dict[str, str]] = {
    "tender_releases": {
        "name": _SEARCHABLE.format(f"coalesce({_TEXTS}[1], '')"),
        "more": _SEARCHABLE.format(
            f"concat_ws(' ', {_TEXTS}[2], left({_TEXTS}[3], {_DESCRIPTION_LENGTH}))"
        ),
    },
    "search": {
        "names": "list_filter(list_prepend(name, other_names), lambda each: each IS NOT NULL)",
        "tickers": "listings",
        "identifiers": "identifiers",
        "more": "concat_ws(' ', description, country_names, CASE kind WHEN 'panel' THEN id END)",
    },
}


class ReleaseWords:
    """The words of releases, as a file of them streams past."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def add(self, first_row: int, releases: pa.RecordBatch) -> None:
        """Add releases with their texts, the first with a row number."""
        texts = _texts("tender_releases", releases)
        found = [
            (number, " ".join(terms(name)), " ".join(terms(more)))
            for number, (name, more) in enumerate(texts, first_row)
            if name is not None
        ]
        self._batches.extend(_batches(found, WORDS_SCHEMA))

    def batches(self) -> list[pa.RecordBatch]:
        """Return the words of each row that is searchable."""
        return self._batches


class SearchIndex:
    """What the rows of ``search`` are found by, as they stream past."""

    def __init__(self) -> None:
        self._words: list[tuple[int, str, str]] = []
        self._keys: list[tuple[str, int, int]] = []
        self._uses: Counter[str] = Counter()

    def add(self, first_row: int, rows: pa.RecordBatch) -> None:
        """Add rows with their names and identifiers, the first with a row number."""
        texts = enumerate(_texts("search", rows), first_row)
        for number, (names, tickers, identifiers, more) in texts:
            self._add_keys(number, names, tickers, identifiers)
            own = dict.fromkeys(word for name in names for word in name_terms(name))
            listed = " ".join(_words_of_listing(ticker) for ticker in tickers)
            further = [word for word in terms(f"{more} {listed}") if word not in own]
            self._words.append((number, " ".join(own), " ".join(further)))
            self._uses.update([*own, *further])

    def _add_keys(
        self, number: int, names: list[str], tickers: list[str], identifiers: list[str]
    ) -> None:
        of_names = dict.fromkeys(map(name_key, names))
        of_identifiers = dict.fromkeys(map(identifier_key, (*identifiers, *_spellings(tickers))))
        self._keys += [(key, 1, number) for key in of_names if key]
        self._keys += [(key, 0, number) for key in of_identifiers if key]

    def words(self) -> Iterator[pa.RecordBatch]:
        """Yield the words of each row."""
        return _batches(self._words, WORDS_SCHEMA)

    def keys(self) -> Iterator[pa.RecordBatch]:
        """Yield every name and identifier, sorted."""
        return _batches(sorted(self._keys), KEYS_SCHEMA)

    def vocabulary(self) -> Iterator[pa.RecordBatch]:
        """Yield every word, numbered in order."""
        numbered = [(n, word, self._uses[word]) for n, word in enumerate(sorted(self._uses), 1)]
        return _batches(numbered, VOCABULARY_SCHEMA)

    def trigrams(self) -> Iterator[pa.RecordBatch]:
        """Yield every word as it is cut into trigrams, with its number."""
        numbered = [(number, padded(word)) for number, word in enumerate(sorted(self._uses), 1)]
        return _batches(numbered, TRIGRAMS_SCHEMA)


def _texts(table: str, rows: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    columns = (rows[f"{TEXT_PREFIX}{name}"].to_pylist() for name in WRITTEN_TEXTS[table])
    return zip(*columns, strict=True)


def _spellings(tickers: Iterable[str]) -> Iterator[str]:
    """Yield tickers with their MIC, with the acronyms of their exchange, and alone."""
    for listing in tickers:
        mic, _, ticker = listing.partition(":")
        yield from (listing, ticker)
        acronyms = (name for name in EXCHANGE_NAMES.get(mic, ()) if " " not in name)
        yield from (f"{acronym}:{ticker}" for acronym in acronyms)


def _words_of_listing(listing: str) -> str:
    mic = listing.partition(":")[0]
    return " ".join((listing, *EXCHANGE_NAMES.get(mic, ())))


def _batches(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(rows), _BATCH):
        columns = zip(*rows[begin : begin + _BATCH], strict=True)
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
