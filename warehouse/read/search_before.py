"""Search in builds made before version 11, which have tables of names and of words of their own."""

import sys
from array import array
from collections.abc import Iterator

from warehouse.mart.words import PREFIX_END, words
from warehouse.read.crosswalk import MAX_MATCHES, ids_with_identifier
from warehouse.read.engines import FileReader
from warehouse.read.mart import Build
from warehouse.read.rows import equal, fetch_rows

# A shorter last word is matched as a whole word: as a prefix it would match too many.
_MIN_PREFIX = 3
# A name may occur several times for an organisation; its best one decides the order.
_ROWS_BY_NAME = (
    "SELECT entity_row FROM {prefix}names WHERE folded {condition} {in_country} "
    "GROUP BY entity_row ORDER BY min(folded), entity_row {limit}"
)
# An organisation that an earlier step found is found again by later ones: each step reads this
# many times the limit, so that repeats cannot use it up.
_REPEATS = 2


def organisations_before(
    build: Build, query: str, country: str | None, limit: int | None
) -> Iterator[tuple[int, str]]:
    """Yield row numbers of ``entities`` and how they match, best match first, with repeats."""
    for id_type in ("lei", "ticker"):
        for service_id in ids_with_identifier(build, id_type, query.strip()):
            rows = fetch_rows(build, "row_number", "entities", equal(service_id=service_id))
            yield from ((number, "identifier") for (number,) in rows)
    name = " ".join(words(query))
    if not name:
        return
    in_country = "" if country is None else "AND country = ?"
    country_values = () if country is None else (country,)
    limited = "" if limit is None else f"LIMIT {_REPEATS * limit + MAX_MATCHES:d}"
    # Names and words lie in the file of the rows that they number.
    (file,) = build.files("entities")
    for match, condition, name_values in (
        ("exact", "= ?", (name,)),
        # A range instead of LIKE, so that both engines use the index.
        ("prefix", "> ? AND folded < ?", (name, name + PREFIX_END)),
    ):
        statement = _ROWS_BY_NAME.format(
            prefix=file.prefix, condition=condition, in_country=in_country, limit=limited
        )
        rows = file.query(statement, *name_values, *country_values)
        yield from ((number, match) for (number,) in rows)
    yield from ((number, "words") for number in rows_with_words(file, "entity", query))


def rows_with_words(file: FileReader, field: str, text: str) -> list[int]:
    """Return the sorted numbers of a file's rows with every word; the last may be a prefix."""
    search_words = list(dict.fromkeys(words(text)))
    matches: set[int] | None = None
    for index, word in enumerate(search_words):
        is_prefix = index == len(search_words) - 1 and len(word) >= _MIN_PREFIX
        rows = _rows_with_word(file, field, word, is_prefix)
        matches = rows if matches is None else matches & rows
        if not matches:
            return []
    return sorted(matches or ())


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
