"""Texts and words for the search of many names in many texts: folded, and with their strings."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

import ahocorasick
import msgspec

from warehouse.names.spellings import Words, fold, search_words

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


def collect(text: str, texts: set[str]) -> None:
    """Add every string of a text that is JSON: as ``strings``, which says the places too."""
    try:
        values = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        texts.add(text)
        return
    while values:
        value = values.pop()
        if isinstance(value, str):
            if value.startswith(JSON):
                collect(value, texts)
            else:
                texts.add(value)
        elif isinstance(value, dict):
            texts.update(value)
            values += value.values()
        elif isinstance(value, list):
            values += value


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
