"""Search a finished build for names that were withheld, in every spelling.

What must be found nowhere:

- A name that an operator withheld: in any text of any file.
- A name of a party that was not established to be an organisation: in the rows of its contracting
  process, except that only some words of it may be in the name of another party there, which is
  how names are taken out (``warehouse.names.redaction``).
- The same name, with every word of it, in texts that belong to no process and are made from
  tenders: panels, the catalogue, quality, the search index, what pages show. People have
  namesakes: a name that is part of the name of a published organisation, or that a published
  release of another process has, is no finding there.

Files are immutable. Those that were searched are remembered with the processes they have, and a
later publication searches them only for names that are new.
"""

import hashlib
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import ahocorasick
import msgspec
import numpy as np
import numpy.typing as npt

from warehouse.names.spellings import NameFinder, Words, fold, search_words
from warehouse.serve.finished_files import FinishedFile, Row, Value, ocid_of
from warehouse.shared.code_version import code_hash
from warehouse.shared.files import move_into_place

# Texts and words for the search of many names in many texts: folded, and with their strings.

_NOT_LETTERS = re.compile(r"[\W\d_]+")
# Words that may be written letter by letter, as initials are.
SPELLED = 4
# How a text begins that is JSON with strings in it.
JSON = ("{", "[")


class WordSearch:
    """Finds the few names, of any number, that a text may have: an Aho-Corasick automaton."""

    def __init__(self, names: Iterable[Words], *, every_word: bool = False) -> None:
        # A single word is a name only where it is all there is; outside its process it is none.
        self._names = [name for name in names if len(name) > 1 or not every_word]
        self._every_word = every_word
        self._by_word: dict[str, list[Words]] = {}
        for name in self._names:
            for word in name if every_word else search_words(name):
                self._by_word.setdefault(word, []).append(name)
        self._has_short = any(len(word) <= SPELLED for word in self._by_word)
        self._automaton = ahocorasick.Automaton()
        for word in self._by_word:
            self._automaton.add_word(word, word)
        if self._by_word:
            self._automaton.make_automaton()

    def __bool__(self) -> bool:
        """Return whether there is any name to search for."""
        return bool(self._by_word)

    def names_in(self, text: str) -> set[Words]:
        """Return the names that a text may have."""
        folded = fold(decoded(text))
        words = {word for _, word in self._automaton.iter(folded)}
        if self._has_short and not self._every_word:
            letters = _NOT_LETTERS.sub("", folded)
            words.update(word for _, word in self._automaton.iter(letters) if len(word) <= SPELLED)
        found = {name for word in words for name in self._by_word[word]}
        if self._every_word:
            return {name for name in found if words.issuperset(name)}
        return found


def decoded(text: str) -> str:
    """Return a text, and once more without percent signs that hide letters."""
    return f"{text}\n{unquote(text)}" if "%" in text else text


def strings(column: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the strings of a text with their places: a text that is JSON has several."""
    if text.startswith(JSON):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            yield from _members(column, value)
            return
    yield column, text


def _members(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, member in value.items():
            # The name of a member can be a text of the publisher as well.
            yield path, name
            yield from _members(f"{path}.{name}" if name.isidentifier() else path, member)
    elif isinstance(value, list):
        for member in value:
            yield from _members(path, member)
    elif isinstance(value, str):
        if value.startswith(JSON):
            yield from strings(path, value)
        else:
            yield path, value


# Tables and exports with nothing of tenders in them; their names begin so.
_WITHOUT_TENDERS = (
    *("fundamentals", "filings", "elements", "macro", "entities", "identifiers", "universe"),
    *("same_as", "countries", "metrics", "screens", "af-fund", "af-macro"),
)
# What initials may be: up to four letters.
_SHORT_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,4}(?![^\W\d_])")
# What may be between letters that are written one by one.
_JOINT = "[. -]{0,2}"
# Escapes of JSON that hide letters from a search of the text as it is stored.
_ESCAPE = "\\u"
# Characters that are searched at a time: texts are many and short.
_CHUNK = 1 << 14
# A control character: no text that is served has one.
_SEPARATOR = "\x1e"
PARTY = "a party withheld in the process"
_MOST_SHOWN = 20
_FILE = "searched.msgpack"


@dataclass(frozen=True)
class Process:
    """A contracting process with withheld parties: their names, and those of published parties."""

    source: str
    names: frozenset[Words]
    parties: frozenset[str] = frozenset()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What every text that has one of the names has: one of these words, folded."""
        words = {word for name in self.names for word in search_words(name)}
        return re.compile("|".join(map(_spelled, sorted(words))))


def _spelled(word: str) -> str:
    """Return a pattern of a word; a short one may be written letter by letter."""
    return re.escape(word) if len(word) > SPELLED else _JOINT.join(map(re.escape, word))


@dataclass(frozen=True)
class WithheldNames:
    """The names that a build must not have, and where.

    ``everywhere`` has the id of the tombstone of each; ``processes`` are by ocid as it is served;
    ``elsewhere`` are names for texts of no process.
    """

    everywhere: Mapping[Words, str] = field(default_factory=dict)
    processes: Mapping[str, Process] = field(default_factory=dict)
    elsewhere: frozenset[Words] = frozenset()

    def items(self, secret: bytes) -> npt.NDArray[np.uint64]:
        """Return keyed hashes of every name with the place where it is looked for, sorted."""
        places: dict[str, Collection[Words]] = {"*": self.everywhere, "-": self.elsewhere}
        places |= {ocid: process.names for ocid, process in self.processes.items()}
        hashes = {_hash(secret, place, name) for place, names in places.items() for name in names}
        return np.array(sorted(hashes), np.uint64)

    def without(self, known: npt.NDArray[np.uint64], secret: bytes) -> "WithheldNames":
        """Return the names that are not among those known by their hashes."""
        seen = set(known.tolist())

        def new(place: str, names: Iterable[Words]) -> frozenset[Words]:
            return frozenset(name for name in names if _hash(secret, place, name) not in seen)

        processes = {
            ocid: replace(process, names=new(ocid, process.names))
            for ocid, process in self.processes.items()
        }
        return WithheldNames(
            {name: self.everywhere[name] for name in new("*", self.everywhere)},
            {ocid: process for ocid, process in processes.items() if process.names},
            new("-", self.elsewhere),
        )

    @cached_property
    def search_everywhere(self) -> "WordSearch":
        """Finds which names of ``everywhere`` a text may have."""
        return WordSearch(self.everywhere)

    @cached_property
    def search_elsewhere(self) -> "WordSearch":
        """Finds which names of ``elsewhere`` a text may have."""
        return WordSearch(self.elsewhere, every_word=True)


def _hash(secret: bytes, scope: str, name: Words) -> int:
    text = f"{scope}|{' '.join(name)}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8, key=_key(secret)).digest())


@lru_cache(maxsize=4)
def _key(secret: bytes) -> bytes:
    return hashlib.sha256(b"searched names|" + secret).digest()


@lru_cache(maxsize=1 << 10)
def _finder(names: frozenset[Words]) -> NameFinder:
    return NameFinder(names)


@dataclass(frozen=True)
class Finding:
    """A place in a build that has a withheld name."""

    file: str
    table: str
    column: str
    row: str
    source: str
    withheld: str
    name: Words = field(repr=False)
    # A name of a withheld party outside its process: it may be that of somebody else.
    is_doubtful: bool = False

    def __str__(self) -> str:
        parts = (
            self.file,
            f"table {self.table}" if self.table else "",
            f"column {self.column}" if self.column else "",
            f"row {self.row}" if self.row else "",
            f"source {self.source}" if self.source else "",
        )
        return f"{', '.join(filter(None, parts))}: {self.withheld}"


def described(findings: Collection[Finding]) -> str:
    """Return findings for people, one a line: the places, and never the names."""
    lines = sorted({str(finding) for finding in findings})
    more = [f"and {len(lines) - _MOST_SHOWN:,} more"] if len(lines) > _MOST_SHOWN else []
    return "\n".join([*lines[:_MOST_SHOWN], *more])


class Searched(msgspec.Struct, frozen=True):
    """What a publication searched: hashes of names, and its files with those of processes."""

    version: str
    items: bytes
    files: dict[str, bytes]


@dataclass
class BuildSearch:
    """Searches the files of a build for names; remembers in a folder what was searched.

    ``read`` are the files that were read, for whoever wants to know what it cost.
    """

    names: WithheldNames
    secret: bytes
    work: Path | None = None
    read: list[str] = field(default_factory=list)
    _files: dict[str, bytes] = field(default_factory=dict)

    def findings(self, files: Iterable[FinishedFile]) -> Iterator[Finding]:
        """Yield every place that has a name."""
        before = self._before()
        known = np.frombuffer(before.items, np.uint64)
        new = self.names.without(known, self.secret)
        for file in files:
            key = file.key
            stored = before.files.get(key)
            if stored is None:
                ocids = file.processes()
                self._files[key] = np.array(sorted(map(_number, ocids)), np.uint32).tobytes()
                yield from self._search(file, self.names, self.names.processes.keys() & ocids)
            else:
                self._files[key] = stored
                numbers = set(np.frombuffer(stored, np.uint32).tolist())
                ocids = {ocid for ocid in new.processes if _number(ocid) in numbers}
                yield from self._search(file, new, ocids)

    def _search(
        self, file: FinishedFile, names: WithheldNames, concerned: Collection[str]
    ) -> Iterator[Finding]:
        is_of_tenders = not file.table.startswith(_WITHOUT_TENDERS)
        # The rows of processes are searched for the names of their own.
        has_processes = bool(self._files[file.key])
        elsewhere = names.elsewhere if is_of_tenders and not has_processes else frozenset[Words]()
        if not (concerned or names.everywhere or elsewhere):
            return
        self.read.append(file.name)
        for row in file.rows(concerned) if concerned else ():
            yield from _in_row(file, row, names.processes[row.ocid])
        if names.everywhere:
            yield from _in_values(file, names.search_everywhere, names.everywhere)
        if elsewhere:
            yield from _in_values(file, names.search_elsewhere, None)
        yield from _in_index(file, names, concerned, elsewhere)

    def remember(self) -> None:
        """Remember that all files were searched and nothing was found."""
        if self.work is not None:
            searched = Searched(_version(), self.names.items(self.secret).tobytes(), self._files)
            partial = self.work / f"{_FILE}.partial"
            partial.write_bytes(msgspec.msgpack.encode(searched))
            move_into_place(partial, self.work / _FILE)

    def _before(self) -> Searched:
        nothing = Searched("", b"", {})
        if self.work is None or not (self.work / _FILE).exists():
            return nothing
        try:
            body = (self.work / _FILE).read_bytes()
            searched = msgspec.msgpack.decode(body, type=Searched)
        except msgspec.MsgspecError:
            # What is not remembered is searched again.
            return nothing
        return searched if searched.version == _version() else nothing


@lru_cache(maxsize=1)
def _version() -> str:
    return code_hash(__name__)[:16]


def _number(ocid: str) -> int:
    return zlib.crc32(ocid.encode())


def _in_row(file: FinishedFile, row: Row, process: Process) -> Iterator[Finding]:
    texts: set[str] = set()
    for text in row.texts.values():
        if not text.startswith(JSON):
            texts.add(text)
        elif _ESCAPE in text or "%" in text or process.pattern.search(fold(text)):
            texts.update(string for _, string in strings("", text))
    named = {
        text
        for text in _with_word(list(texts), process.pattern)
        if _names_in(text, process.names, text in process.parties)
    }
    # Most rows end here: only of the others is it worked out where the names are.
    for column, text in row.texts.items() if named else ():
        for path, string in strings(column, text):
            names = process.names if string in named else frozenset[Words]()
            for name in _names_in(string, names, string in process.parties):
                source = row.source or process.source
                shown = _shown(path, column, name)
                yield Finding(file.name, file.table, shown, row.id, source, PARTY, name)


def _with_word(texts: list[str], pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the texts that have a word: folded together, since they are many and short."""
    whole = _SEPARATOR.join(texts)
    if "%" in whole or whole.count(_SEPARATOR) >= len(texts):
        whole = _SEPARATOR.join(decoded(text).replace(_SEPARATOR, " ") for text in texts)
    for text, folded in zip(texts, fold(whole).split(_SEPARATOR), strict=True):
        if pattern.search(folded):
            yield text


def _shown(path: str, column: str, name: Words) -> str:
    """Return the place in a column, unless that has the name itself."""
    return column if _exact(path, [name], complete=False) else path


def _is_possible(text: str, name: Words) -> bool:
    """Return whether a text has two words of a name, or one and what may be an initial."""
    folded = fold(decoded(text))
    found = [word for word in name if _patterns(word)[0].search(folded)]
    if len(found) != 1 or len(name) == 1:
        return bool(found)
    short = _SHORT_WORD.findall(decoded(text))
    return _patterns(found[0])[1].search(folded) is not None or any(
        len(word) == 1 or word.isupper() for word in short
    )


@lru_cache(maxsize=1 << 12)
def _patterns(word: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a word, and of the word inside of a longer one."""
    spelled = _spelled(word)
    return re.compile(spelled), re.compile(rf"[^\W\d_]{spelled}|{spelled}[^\W\d_]")


# The same strings are in many rows, and in the mart as well as in the exports.
@lru_cache(maxsize=1 << 16)
def _names_in(text: str, names: frozenset[Words], is_party: bool) -> frozenset[Words]:
    if not any(_is_possible(text, name) for name in names):
        return frozenset()
    # As in the redaction: a party with only some words of the name is another one.
    return frozenset(
        passage.name
        for form in ({text, unquote(text)} if "%" in text else (text,))
        for passage in _finder(names).passages(form)
        if passage.is_whole or not is_party
    )


def _in_values(
    file: FinishedFile, search: WordSearch, tombstones: Mapping[Words, str] | None
) -> Iterator[Finding]:
    """Yield the texts of a file that have a name; those without tombstones must be complete."""
    for value in _candidates(file.values(), search):
        for path, string in strings(value.column, value.text):
            for name in _exact(string, search.names_in(string), complete=tombstones is None):
                row, source = file.row_of(value)
                withheld = PARTY if tombstones is None else f"tombstone {tombstones[name]}"
                shown = _shown(path, value.column, name)
                yield Finding(
                    file.name, file.table, shown, row, source, withheld, name, tombstones is None
                )


def _candidates(values: Iterable[Value], search: WordSearch) -> Iterator[Value]:
    """Yield the texts that may have a name: many are searched at once, since few do."""
    chunk: list[Value] = []
    size = 0
    for value in values:
        chunk.append(value)
        size += len(value.text)
        if size >= _CHUNK:
            yield from _of_chunk(chunk, search)
            chunk, size = [], 0
    yield from _of_chunk(chunk, search)


def _of_chunk(chunk: list[Value], search: WordSearch) -> Iterator[Value]:
    text = "\n".join(value.text for value in chunk)
    if _ESCAPE in text or search.names_in(text):
        yield from (each for each in chunk if _ESCAPE in each.text or search.names_in(each.text))


def names_complete_in(text: str, search: WordSearch) -> set[Words]:
    """Return the names that a text has with every word."""
    return _exact(text, search.names_in(text), complete=True)


def _exact(text: str, names: Collection[Words], *, complete: bool) -> set[Words]:
    if not names:
        return set()
    found: set[Words] = set()
    for form in {text, unquote(text)} if "%" in text else (text,):
        for passage in _finder(frozenset(names)).passages(form):
            folded = fold(form[passage.start : passage.end])
            if not complete or all(word in folded for word in passage.name):
                found.add(passage.name)
    return found


def _in_index(
    file: FinishedFile,
    names: WithheldNames,
    ocids: Collection[str],
    elsewhere: Collection[Words],
) -> Iterator[Finding]:
    """Yield the rows that the index of words finds by a name that the row itself does not have."""
    of_processes = {name for ocid in ocids for name in names.processes[ocid].names}
    wanted = {name for name in (*names.everywhere, *elsewhere, *of_processes) if len(name) > 1}
    rows = file.rows_with_words({word for name in wanted for word in name})
    indexed: dict[int, list[Words]] = {}
    for name in wanted if rows else ():
        for number in set.intersection(*(rows[word] for word in name)):
            indexed.setdefault(number, []).append(name)
    for number, text in file.row_texts(indexed).items():
        process = names.processes.get(ocid_of(text) or "")
        of_row = process.names if process else frozenset()
        own = fold(text)
        for name in indexed[number]:
            # Words that the row has were searched where they are.
            if all(word in own for word in name):
                continue
            if name in names.everywhere or name in elsewhere or name in of_row:
                id_ = names.everywhere.get(name)
                withheld = PARTY if id_ is None else f"tombstone {id_}"
                yield Finding(
                    *(file.name, file.table, "words", str(number), "", withheld, name),
                    is_doubtful=id_ is None and name not in of_row,
                )
