"""The search tables: names of organisations, and words with the rows they occur in.

They lie in the file of the rows they speak of. A word's rows are stored as one list of row numbers,
four bytes each; the same table serves both database engines.
"""

from array import array
from collections.abc import Iterator, Sequence
from string import punctuation, whitespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from warehouse.mart.words import folded, words

NAMES, WORDS = "names", "words"
NAMES_SCHEMA = pa.schema(
    [("folded", pa.string()), ("country", pa.string()), ("entity_row", pa.int32())]
)
# large_binary has offsets of 64 bits: the lists of a field may exceed 2 GB.
WORDS_SCHEMA = pa.schema(
    [("field", pa.string()), ("word", pa.string()), ("row_numbers", pa.large_binary())]
)
_BATCH = 50_000
# Characters of a description that are indexed: its beginning says what is bought.
_DESCRIPTION_LENGTH = 400

# entity_row is the row number of the table `entities`.
_ENTITY_NAMES = """
WITH numbered AS (
    SELECT row_number() OVER (ORDER BY {order}) AS entity_row, * FROM {rows}
)
SELECT entity_row, coalesce(country, '') AS country, legal_name AS name FROM numbered
WHERE legal_name IS NOT NULL
UNION SELECT entity_row, coalesce(country, ''), unnest(CAST(other_names AS VARCHAR[]))
FROM numbered
"""

# The searchable texts of a release: its buyer alone, and buyer, title and description together.
# Every vintage is searchable: what a later one says must not hide it from an earlier day.
_TEXTS = "json_extract_string(release, ['$.buyer.name', '$.tender.title', '$.tender.description'])"
_SEARCHABLE = "CASE WHEN NOT withdrawn AND release IS NOT NULL THEN {} END"
RELEASE_TEXTS = {
    "buyer_text": _SEARCHABLE.format(f"coalesce({_TEXTS}[1], '')"),
    "tender_text": _SEARCHABLE.format(
        f"concat_ws(' ', {_TEXTS}[1], {_TEXTS}[2], left({_TEXTS}[3], {_DESCRIPTION_LENGTH}))"
    ),
}


def names(sql: duckdb.DuckDBPyConnection, rows: str, order: str) -> pa.Table:
    """Return every name of every organisation, normalised, with its row in ``entities``."""
    found = sql.sql(_ENTITY_NAMES.format(rows=rows, order=order)).to_arrow_table()
    normalised = pa.array(folded(found["name"].to_pylist()), pa.string())
    table = pa.Table.from_arrays(
        [normalised, found["country"].cast(pa.string()), found["entity_row"].cast(pa.int32())],
        schema=NAMES_SCHEMA,
    )
    # By country too: which of two equal names comes first must not be chance.
    keys = ("folded", "entity_row", "country")
    return table.sort_by([(key, "ascending") for key in keys])


def words_of_names(names: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield each word of a name with its row numbers, sorted by word."""
    index = Postings()
    index.add(names["entity_row"].to_numpy(), names["folded"].to_pylist())
    yield from _batches("entity", index)


class ReleaseWords:
    """Each word of buyers and of tenders with its row numbers."""

    def __init__(self) -> None:
        self._fields = {name: Postings() for name in ("buyer", "tender")}

    def add(self, first_row: int, releases: pa.RecordBatch) -> None:
        """Add releases with the columns ``RELEASE_TEXTS``, the first with a row number."""
        for field, index in self._fields.items():
            texts = releases[f"{field}_text"]
            positions = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False))
            index.add(positions + first_row, texts.drop_null().to_pylist())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield each word once, sorted by field and word."""
        for field, index in self._fields.items():
            yield from _batches(field, index)


def _batches(field: str, index: "Postings") -> Iterator[pa.RecordBatch]:
    for batch_words, row_numbers in index.packed(_BATCH):
        columns = [
            pa.repeat(field, len(batch_words)),
            pa.array(batch_words, pa.string()),
            row_numbers,
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=WORDS_SCHEMA)


_SEPARATORS = {ord(char): " " for char in punctuation + whitespace}


class _TokenNumbers(dict[str, int]):
    """Numbers each token when it is first looked up."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number


class Postings:
    """The words of one field and the numbers of the rows they occur in.

    Texts are split at ASCII separators, which is fast. Each distinct token is then split and
    normalised with ``words``, once: a million texts have few distinct tokens.
    """

    def __init__(self) -> None:
        self._token_numbers = _TokenNumbers()
        # Parallel lists: the n-th occurrence is of which token, and in which row.
        self._occurrences = array("i")
        self._rows: list[Any] = []

    def add(self, row_numbers: Any, texts: Sequence[str]) -> None:
        """Add texts, each with the number of its row."""
        counts = np.empty(len(texts), np.int32)
        number_of, occurrences = self._token_numbers.__getitem__, self._occurrences
        for index, text in enumerate(texts):
            # A set: a word counts once for a row, however often it occurs.
            tokens = set(text.lower().translate(_SEPARATORS).split(" "))
            occurrences.extend(map(number_of, tokens))
            counts[index] = len(tokens)
        self._rows.append(np.repeat(row_numbers.astype(np.int32), counts))

    def packed(self, batch_size: int) -> Iterator[tuple[list[str], pa.Array]]:
        """Yield batches of sorted words and their sorted row numbers, four bytes each."""
        if not self._occurrences:
            return
        vocabulary, first_word, word_counts, word_numbers = self._vocabulary()
        occurrences = np.frombuffer(self._occurrences, np.int32)
        counts = word_counts[occurrences]
        # A token mostly is one word; if it has several, its row is repeated for each of them.
        first = np.repeat(first_word[occurrences], counts)
        within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        # Word number and row number in one 64-bit integer: one sort orders by both.
        pairs = word_numbers[first + within] << 32
        pairs |= np.repeat(np.concatenate(self._rows), counts)
        del occurrences, counts, first, within
        # np.unique hashes, which takes six times as long as sorting.
        pairs.sort()
        is_new = np.ones(len(pairs), bool)
        is_new[1:] = pairs[1:] != pairs[:-1]
        pairs = pairs[is_new]
        ends = np.searchsorted(pairs, np.arange(len(vocabulary) + 1, dtype=np.int64) << 32) * 4
        rows = pa.py_buffer((pairs & 0xFFFFFFFF).astype("<i4").tobytes())
        for begin in range(0, len(vocabulary), batch_size):
            batch = vocabulary[begin : begin + batch_size]
            offsets = pa.py_buffer(ends[begin : begin + len(batch) + 1].astype(np.int64).tobytes())
            buffers = [None, offsets, rows]
            yield batch, pa.Array.from_buffers(pa.large_binary(), len(batch), buffers)

    def _vocabulary(self) -> tuple[list[str], Any, Any, Any]:
        """Return the sorted words, and for each token its words.

        The words of token t are ``word_numbers[first_word[t]:][: word_counts[t]]``.
        """
        # PostgreSQL cannot store a NUL in text.
        words_of_tokens = [
            [clean for word in words(token) if (clean := word.replace("\0", ""))]
            for token in self._token_numbers
        ]
        vocabulary = sorted({word for token_words in words_of_tokens for word in token_words})
        number = {word: index for index, word in enumerate(vocabulary)}
        counts = np.fromiter(map(len, words_of_tokens), np.int64, len(words_of_tokens))
        flat = [number[word] for token_words in words_of_tokens for word in token_words]
        return vocabulary, np.cumsum(counts) - counts, counts, np.array(flat, np.int64)
