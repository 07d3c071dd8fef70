"""Search over everything that is served: organisations, series, indicators, panels and buyers.

Best match first: by an identifier, by exactly this name, by a name that begins with it, by all
words, by the parts of keys of series that match their subject; only if there is none of these, by
names that are spelled much like the query or have some of its words. Rows that match equally well
come in the order of the table.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import log
from typing import Any, Literal

import msgspec

from warehouse.methodology.other_names import named_subject
from warehouse.names.search_words import (
    FORM_WORDS,
    PREFIX_END,
    identifier_key,
    name_key,
    name_terms,
    similarity,
    terms,
    trigrams,
)
from warehouse.serve.build import Build
from warehouse.serve.engines import FileReader
from warehouse.serve.rows import NO_ROW, Condition, fetch_rows, one_of, storable

# The full-text search of SQLite: rows by their words, and words by their trigrams.
#
# A file with texts has a table ``words``; that of ``search`` also has ``vocabulary`` and
# ``trigrams`` (``warehouse/publish/search_index.py``). Words come from ``terms``: they contain no
# character that means something in a query.

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


def text_matches(text: str, within: str = "") -> Condition:
    """Match rows with every word of a text, the last perhaps a prefix; none without a word."""
    words = terms(text)
    return words_match([every_word(words)], within) if words else NO_ROW


def words_match(choices: Iterable[Sequence[Alternatives]], within: str = "") -> Condition:
    """Match rows that have, for one of the choices, one of each of its alternatives.

    ``within`` names the columns that may have them; without it, any may.
    """
    query = " OR ".join(
        "(" + " AND ".join(f"({' OR '.join(map(_quoted, words))})" for words in choice) + ")"
        for choice in choices
    )
    matched = f"{{{within}}} : ({query})" if within else query
    return Condition("row_number IN (SELECT rowid FROM words WHERE words MATCH ?)", (matched,))


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


Match = Literal["identifier", "exact", "prefix", "words", "near"]
Row = dict[str, Any]
# Words that say which identifier follows.
_LABELS = frozenset(("id", "isin", "lei", "mic", "ticker"))
# An identifier among other words: with a digit, or an organisation's id.
_NUMBER = re.compile(r"(?=\D*\d).{6,}|dc[a-z0-9]{8,}")
# Words are near if they share this part of their trigrams, as "brewery" and "breweries".
_NEAR = 0.45
_SHORTEST_NEAR = 3
# Rows that are compared with the query, and words of it that select them.
_MOST_COMPARED, _MOST_SELECTING = 500, 6
# A word that more rows have, and more than a third of them, says nothing about one.
_COMMON_FROM = 10
# How much a word about a row, such as its country, counts relative to one in a name.
_ABOUT = 0.5
# Of the best score: what is less near is left out.
_WORST = 0.5
# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500


@dataclass(frozen=True)
class Hit:
    """A row of the table ``search``, and how it was found; ``key`` is the identifier."""

    row_number: int
    match: Match
    key: str = ""


def found_rows(
    build: Build,
    query: str,
    kinds: Collection[str] | None,
    country: str | None,
    limit: int | None,
) -> list[Row]:
    """Return the first rows that a query finds, as they are served, best match first.

    ``country`` is alpha-2 or alpha-3 in any case, or empty for rows of which none is known.
    """
    (file,) = build.files("search")
    of_kinds = [] if kinds is None else [one_of("kind", sorted(kinds))]
    where = [*of_kinds, *_in_country(country)]
    hits = list(islice(_hits(build, file, query, where, limit), limit))
    rows = _rows(build, [hit.row_number for hit in hits])
    found = ((hit, rows[hit.row_number]) for hit in hits)
    return [{**row, "match": hit.match, "matched": _matched(row, hit, query)} for hit, row in found]


def _in_country(country: str | None) -> list[Condition]:
    # All codes are in one text: an indicator has figures of many countries.
    if country is None:
        return []
    return [Condition("countries LIKE ?", (f"% {storable(country.upper())} %",))]


def _hits(
    build: Build, file: FileReader, query: str, where: Sequence[Condition], limit: int | None
) -> Iterator[Hit]:
    """Yield each row once, best match first."""
    seen: set[int] = set()
    for match, condition in _conditions(query):
        # Rows that were found already are found again.
        most = None if limit is None else limit + len(seen)
        for row_number, key in _select(file, [condition, *where], most, match == "identifier"):
            if row_number not in seen:
                seen.add(row_number)
                yield Hit(row_number, match, key)
    if not seen:
        yield from _near(build, file, query, where)


def _conditions(query: str) -> Iterator[tuple[Match, Condition]]:
    """Yield what rows must meet, best match first."""
    if keys := _identifier_keys(query):
        places = ", ".join("?" * len(keys))
        yield "identifier", _with_key(f"is_name = 0 AND key IN ({places})", keys)
    words, name = name_terms(query), name_key(query)
    if not words:
        return
    yield "exact", _with_key("is_name = 1 AND key = ?", [name])
    # A range instead of LIKE, so that the index is used.
    between = [name, name + PREFIX_END]
    yield "prefix", _with_key("is_name = 1 AND key > ? AND key < ?", between)
    without_forms = tuple(word for word in words if word not in FORM_WORDS)
    for wanted in dict.fromkeys((words, without_forms or words)):
        for within in ("name", ""):
            yield "words", words_match([every_word(wanted)], within)
    if subject := named_subject(words):
        # Parts of codes are short: in names of organisations they mean something else.
        stands_for = words_match([subject])
        yield (
            "words",
            msgspec.structs.replace(
                stands_for, sql=f"kind IN ('series', 'indicator') AND {stands_for.sql}"
            ),
        )


def _identifier_keys(query: str) -> list[str]:
    """Return the identifiers that a query may be, or contain."""
    words = terms(query)
    numbers = [word for word in words if _NUMBER.fullmatch(word)]
    unlabelled = " ".join(word for word in words if word not in _LABELS)
    keys = dict.fromkeys((identifier_key(query), identifier_key(unlabelled), *numbers))
    return [key for key in keys if key]


def _with_key(condition: str, values: Sequence[str]) -> Condition:
    found = f"row_number IN (SELECT search_row FROM search_keys WHERE {condition})"
    return Condition(found, tuple(values))


def _select(
    file: FileReader, where: Sequence[Condition], limit: int | None, with_key: bool
) -> list[tuple[int, str]]:
    """Return the rows that meet every condition, in order, with the identifier that one found."""
    limited = "" if limit is None else f"LIMIT {limit:d}"
    conditions = " AND ".join(condition.sql for condition in where)
    statement = f"SELECT row_number FROM search WHERE {conditions} "
    values = [value for condition in where for value in condition.values]
    rows = file.run(f"{statement} ORDER BY row_number {limited}", values)
    if not with_key or not rows:
        return [(int(number), "") for (number,) in rows]
    keys = where[0].values
    places = ", ".join("?" * len(keys))
    found = file.query(
        "SELECT search_row, max(key) FROM search_keys "
        f"WHERE is_name = 0 AND key IN ({places}) GROUP BY search_row",
        *keys,
    )
    key_of = {int(number): str(key) for number, key in found}
    return [(int(number), key_of[number]) for (number,) in rows]


def _near(build: Build, file: FileReader, query: str, where: Sequence[Condition]) -> Iterator[Hit]:
    """Yield rows with names much like the query, or with some of its words, nearest first."""
    near = _near_words(file, query)
    # Those that fewest rows have select best.
    selecting = sorted(near, key=lambda word: (sum(near[word].uses.values()), word))
    groups = [sorted(near[word].likeness) for word in selecting[:_MOST_SELECTING]]
    compared: list[tuple[int, str]] = []
    for size in (2, 1):
        choices = list(combinations(groups, size))
        if choices and not compared:
            condition = words_match(choices)
            compared = _select(file, [condition, *where], _MOST_COMPARED, False)
    scores = _scores(build, file, [number for number, _ in compared], near)
    best = max(scores.values(), default=0.0)
    for number in sorted(scores, key=lambda number: (-scores[number], number)):
        if scores[number] >= _WORST * best:
            yield Hit(number, "near")


@dataclass(frozen=True)
class _NearWords:
    """The words like one of a query: how much each is like it, and how many rows have it."""

    likeness: Mapping[str, float]
    uses: Mapping[str, int]


def _near_words(file: FileReader, query: str) -> dict[str, _NearWords]:
    """Return, for each word of a query that says something, the known words like it."""
    found: dict[str, _NearWords] = {}
    common = max(_COMMON_FROM, _row_count(file) // 3)
    for word in name_terms(query):
        if word in FORM_WORDS or len(word) < _SHORTEST_NEAR:
            continue
        uses = {str(like): int(rows) for like, rows in similar_words(file, word, _NEAR)}
        likeness = {like: similarity(word, like) for like in uses}
        likeness = {
            like: share
            for like, share in likeness.items()
            if share >= _NEAR and uses[like] <= common
        }
        if likeness:
            found[word] = _NearWords(likeness, {like: uses[like] for like in likeness})
    return found


def _row_count(file: FileReader) -> int:
    (count,) = file.query("SELECT max(row_number) FROM search")[0]
    return int(count or 0)


def _scores(
    build: Build, file: FileReader, numbers: Sequence[int], near: Mapping[str, _NearWords]
) -> dict[int, float]:
    """Return how near rows are: the words that they have, by likeness and by how rare they are."""
    rows, scores = _rows(build, numbers), dict.fromkeys(numbers, 0.0)
    if not numbers:
        return scores
    in_names = {
        number: {word for name in _names(row) for word in name_terms(name)}
        for number, row in rows.items()
    }
    count = _row_count(file)
    for words in near.values():
        weights = {
            like: share * log(1 + count / words.uses[like])
            for like, share in words.likeness.items()
        }
        condition = words_match([[sorted(weights)]])
        for number, _ in _select(file, [one_of("row_number", numbers), condition], None, False):
            named = [weights[like] for like in weights if like in in_names[number]]
            scores[number] += max(named, default=_ABOUT * min(weights.values()))
    return scores


def _rows(build: Build, numbers: Sequence[int]) -> dict[int, Row]:
    """Return rows by number, decoded, with the members that are served."""
    rows: dict[int, Row] = {}
    for begin in range(0, len(numbers), _CHUNK):
        chunk = one_of("row_number", numbers[begin : begin + _CHUNK])
        found = fetch_rows(build, "row, row_number", "search", [chunk])
        rows |= {int(number): msgspec.json.decode(row) for row, number in found}
    return rows


def _names(row: Row) -> list[str]:
    return [name for name in (row["name"], *row["other_names"]) if name is not None]


def _matched(row: Row, hit: Hit, query: str) -> str | None:
    """Return the name or the identifier of a row that matched."""
    if hit.match == "identifier":
        return _matched_identifier(row, hit.key)
    names, key = _names(row), name_key(query)
    if hit.match == "exact":
        names = [name for name in names if name_key(name) == key]
    elif hit.match == "prefix":
        names = [name for name in names if name_key(name).startswith(key)]
    words = name_terms(query)
    # The first of those that have most of the words.
    return max(names, key=lambda name: _shared(words, name), default=None)


def _shared(words: Sequence[str], name: str) -> float:
    of_name = name_terms(name)
    return sum(max((similarity(word, other) for other in of_name), default=0.0) for word in words)


def _matched_identifier(row: Row, key: str) -> str:
    wanted = set(key.split())
    listings = [name for name in row["listings"] if wanted >= {*terms(name.partition(":")[2])}]
    if listings:
        # A ticker can be listed at several exchanges: the requested one, else the first.
        return str(max(listings, key=lambda name: len(wanted.intersection(terms(name)))))
    return str(row["id"]) if identifier_key(row["id"]) == key else key.upper()
