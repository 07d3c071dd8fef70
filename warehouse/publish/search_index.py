"""What databases search in: words of rows, names and identifiers, and the trigrams of words.

The tables lie in the file of the rows they speak of, as FTS5 of SQLite.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from warehouse.names.search_words import identifier_key, name_key, name_terms, padded, terms
from warehouse.publish.tables import Columns
from warehouse.shared.data_files import csv_rows

# Rows by their words: those of names, and more.
_WORDS = pa.schema([("row_number", pa.int64()), ("name", pa.string()), ("more", pa.string())])
# Names and identifiers in comparable form, with the row of ``search`` that they find.
KEYS, KEY_COLUMNS = "search_keys", Columns(key="text", is_name="integer", search_row="integer")
_KEYS = pa.schema([("key", pa.string()), ("is_name", pa.int32()), ("search_row", pa.int32())])
# Every word of the names, with the number of rows that have it.
VOCABULARY, VOCABULARY_COLUMNS = "vocabulary", Columns(word="text", uses="integer")
_VOCABULARY = pa.schema([("row_number", pa.int64()), ("word", pa.string()), ("uses", pa.int32())])
_TRIGRAMS = pa.schema([("row_number", pa.int64()), ("text", pa.string())])
_BATCH = 20_000
# Names of stock exchanges by their MIC: that of ISO 10383, and the short ones in use.
EXCHANGE_NAMES = {
    row["mic"]: tuple(row["names"].split("|")) for row in csv_rows(__name__, "exchange_names")
}
# Characters of a description that are indexed: its beginning says what is bought.
_DESCRIPTION_LENGTH = 400

# The searchable texts of a release: its buyer, title and description, and its suppliers. Every
# vintage is searchable: what a later one says must not hide it from an earlier day.
_TEXTS = "json_extract_string(release, ['$.buyer.name', '$.tender.title', '$.tender.description'])"
_SUPPLIERS = "json_extract_string(release, '$.awards[*].suppliers[*].name')"
# With the ids of the parties that have these names.
_WITH_IDS = (
    "array_to_string(list_sort(list_concat({names}, list_transform(list_filter("
    "coalesce(named_parties, []), LAMBDA each: list_contains({names}, each.name)), "
    "LAMBDA each: each.ids))), ' ')"
)
_SEARCHABLE = "CASE WHEN NOT withdrawn AND release IS NOT NULL THEN {} END"
# Columns that the writer of a file needs in addition to those that are stored, by table.
TEXT_PREFIX = "searched_"
WRITTEN_TEXTS: dict[str, dict[str, str]] = {
    "tender_releases": {
        "name": _SEARCHABLE.format(_WITH_IDS.format(names=f"{_TEXTS}[1:1]")),
        "more": _SEARCHABLE.format(
            f"concat_ws(' ', {_TEXTS}[2], left({_TEXTS}[3], {_DESCRIPTION_LENGTH}))"
        ),
        "supplier": _SEARCHABLE.format(_WITH_IDS.format(names=f"coalesce({_SUPPLIERS}, [])")),
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
        self._words: list[tuple[int | str, ...]] = []

    def add(self, first_row: int, releases: pa.RecordBatch) -> None:
        """Add releases with their texts, the first with a row number."""
        texts = _texts("tender_releases", releases)
        self._words += [
            (number, *(" ".join(terms(text)) for text in found))
            for number, found in enumerate(texts, first_row)
            if found[0] is not None
        ]

    def words(self) -> pa.RecordBatchReader:
        """Return the words of each row that is searchable."""
        return batch_reader(self._words, _WORDS.append(pa.field("supplier", pa.string())))


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

    def words(self) -> pa.RecordBatchReader:
        """Return the words of each row."""
        return batch_reader(self._words, _WORDS)

    def keys(self) -> pa.RecordBatchReader:
        """Return every name and identifier, sorted."""
        return batch_reader(sorted(self._keys), _KEYS)

    def vocabulary(self) -> pa.RecordBatchReader:
        """Return every word, numbered in order."""
        numbered = [(n, word, self._uses[word]) for n, word in enumerate(sorted(self._uses), 1)]
        return batch_reader(numbered, _VOCABULARY)

    def trigrams(self) -> pa.RecordBatchReader:
        """Return every word as it is cut into trigrams, with its number."""
        numbered = [(number, padded(word)) for number, word in enumerate(sorted(self._uses), 1)]
        return batch_reader(numbered, _TRIGRAMS)


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


def batch_reader(
    rows: Sequence[tuple[Any, ...]], schema: pa.Schema, size: int = _BATCH
) -> pa.RecordBatchReader:
    """Return rows as Arrow batches of so many."""

    def batch(begin: int) -> pa.RecordBatch:
        columns = zip(*rows[begin : begin + size], strict=True)
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, map(batch, range(0, len(rows), size)))
