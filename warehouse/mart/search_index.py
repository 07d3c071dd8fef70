"""The tables that searches read: names of organisations, and words with their places."""

from array import array
from collections.abc import Iterator, Sequence
from string import punctuation, whitespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from warehouse.mart.served_rows import RELEASES_ORDER
from warehouse.mart.words import folded, words

NAMES, WORDS = "names", "words"
NAMES_SCHEMA = pa.schema(
    [("folded", pa.string()), ("country", pa.string()), ("entity", pa.int32())]
)
WORDS_SCHEMA = pa.schema(
    [("field", pa.string()), ("word", pa.string()), ("places", pa.large_binary())]
)
_BATCH = 50_000
# Of a description its beginning says what is bought.
_LONGEST = 400

_NAMED = """
WITH held AS (SELECT row_number() OVER (ORDER BY service_id) AS entity, * FROM ({entities}))
SELECT entity, coalesce(country, '') AS country, legal_name AS name FROM held
WHERE legal_name IS NOT NULL
UNION SELECT entity, coalesce(country, ''), unnest(CAST(other_names AS VARCHAR[])) FROM held
"""


# Of a release its buyer, its title and its description.
_SAID = f"""
WITH placed AS (
    SELECT CAST(row_number() OVER (ORDER BY {RELEASES_ORDER}) AS INTEGER) AS place, latest,
        json_extract_string(release, ['$.buyer.name', '$.tender.title', '$.tender.description'])
            AS texts
    FROM tender_releases
)
SELECT place, coalesce(texts[1], '') AS buyer,
    concat_ws(' ', texts[1], texts[2], left(texts[3], {_LONGEST})) AS tender
FROM placed WHERE latest AND texts IS NOT NULL
"""


def names(sql: duckdb.DuckDBPyConnection, entities: str) -> pa.Table:
    """Give every name of every organisation, folded, with the place of its record."""
    found = sql.sql(_NAMED.format(entities=entities)).to_arrow_table()
    told = pa.array(folded(found["name"].to_pylist()), pa.string())
    table = pa.Table.from_arrays(
        [told, found["country"].cast(pa.string()), found["entity"].cast(pa.int32())],
        schema=NAMES_SCHEMA,
    )
    return table.sort_by([("folded", "ascending"), ("entity", "ascending")])


def postings(sql: duckdb.DuckDBPyConnection, named: pa.Table) -> Iterator[pa.RecordBatch]:
    """Give each word of a field with the places of the rows that have it, sorted."""
    fields = {name: Postings() for name in ("buyer", "entity", "tender")}
    fields["entity"].add(named["entity"].to_numpy(), named["folded"].to_pylist())
    for batch in sql.sql(_SAID).to_arrow_reader(_BATCH):
        for name in ("buyer", "tender"):
            fields[name].add(batch["place"].to_numpy(), batch[name].to_pylist())
    for name, held in fields.items():
        for asked, packed in held.packed(_BATCH):
            columns = [pa.repeat(name, len(asked)), pa.array(asked, pa.string()), packed]
            yield pa.RecordBatch.from_arrays(columns, schema=WORDS_SCHEMA)


_BETWEEN = {ord(each): " " for each in punctuation + whitespace}


class _Numbers(dict[str, int]):
    """Gives each piece a number when it is first met."""

    def __missing__(self, piece: str) -> int:
        self[piece] = number = len(self)
        return number


class Postings:
    """The words of one field, and the places of the rows that have them."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._met = array("i")
        self._places: list[Any] = []

    def add(self, places: Any, texts: Sequence[str]) -> None:
        """Add texts with the place of the row of each."""
        counts = np.empty(len(texts), np.int32)
        number_of, met = self._numbers.__getitem__, self._met
        for at, text in enumerate(texts):
            pieces = set(text.lower().translate(_BETWEEN).split(" "))
            met.extend(map(number_of, pieces))
            counts[at] = len(pieces)
        self._places.append(np.repeat(places.astype(np.int32), counts))

    def packed(self, most: int) -> Iterator[tuple[list[str], pa.Array]]:
        """Give the words in their order and their places, sorted, four bytes each."""
        if not self._met:
            return
        asked, begins, counts, of_piece = self._vocabulary()
        met = np.frombuffer(self._met, np.int32)
        several = counts[met]
        # A piece mostly is one word; where it is more, its place is taken for each of them.
        first = np.repeat(begins[met], several)
        inside = np.arange(len(first)) - np.repeat(np.cumsum(several) - several, several)
        keys = of_piece[first + inside] << 32
        keys |= np.repeat(np.concatenate(self._places), several)
        del met, several, first, inside
        # np.unique hashes, which takes six times as long as sorting.
        keys.sort()
        fresh = np.ones(len(keys), bool)
        fresh[1:] = keys[1:] != keys[:-1]
        keys = keys[fresh]
        ends = np.searchsorted(keys, np.arange(len(asked) + 1, dtype=np.int64) << 32) * 4
        held = pa.py_buffer((keys & 0xFFFFFFFF).astype("<i4").tobytes())
        for begin in range(0, len(asked), most):
            some = asked[begin : begin + most]
            offsets = pa.py_buffer(ends[begin : begin + len(some) + 1].astype(np.int64).tobytes())
            lists = [None, offsets, held]
            yield some, pa.Array.from_buffers(pa.large_binary(), len(some), lists)

    def _vocabulary(self) -> tuple[list[str], Any, Any, Any]:
        """Give the words, sorted, and for each piece which of them it has."""
        of_piece = [
            [word for each in words(piece) if (word := each.replace("\0", ""))]
            for piece in self._numbers
        ]
        asked = sorted({word for several in of_piece for word in several})
        number = {word: place for place, word in enumerate(asked)}
        counts = np.fromiter(map(len, of_piece), np.int64, len(of_piece))
        flat = [number[word] for several in of_piece for word in several]
        return asked, np.cumsum(counts) - counts, counts, np.array(flat, np.int64)
