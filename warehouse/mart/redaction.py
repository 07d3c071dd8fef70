"""Find and remove names in the JSON of releases: in organisations, and in free texts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from warehouse.names import name_words
from warehouse.record.store import sql_text

# What replaces a withheld name in a free text.
REPLACEMENT = "[withheld]"
# Members of a release that are organisations, or lists of them.
_ORGANISATIONS = frozenset({"buyer", "procuringEntity", "tenderers", "suppliers"})
# Of a single word no text is cleaned: it may be any word of the language.
_FEWEST_WORDS = 2
_LONGEST_INITIALS = 4
# Accents may be characters of their own.
_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*")
_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode

# The text of a release nearly as ``plain_name`` writes names.
_PLAIN = "replace(translate(strip_accents(lower(release)), 'ªº', 'ao'), 'ß', 'ss')"
# The same without anything between letters, where initials are one word.
_LETTERS = rf"regexp_replace({_PLAIN}, '(\\[nrt]|[^\p{{L}}\p{{N}}])+', '', 'g')"
# Escapes, ligatures, and letters in other forms, which only ``name_words`` reads.
_UNREADABLE = (
    r"regexp_matches(release, '\\u|[ſẞ\x{FB00}-\x{FB06}\x{FF01}-\x{FF5E}\x{1D400}-\x{1D7FF}]')"
)


def may_mention(names: Iterable[str]) -> str:
    """Return the SQL condition of releases that may have one of the names in a text.

    All that have it meet the condition; ``Redaction`` decides about those that do.
    """
    wanted = {words for words in map(name_words, names) if len(words) >= _FEWEST_WORDS}
    if not wanted:
        return "FALSE"
    return " OR ".join((_UNREADABLE, *map(_has_words, sorted(wanted))))


def _has_words(words: tuple[str, ...]) -> str:
    # A short word may stand letter by letter; the long ones are enough, and faster to find.
    long_words = [word for word in words if len(word) > _LONGEST_INITIALS]
    text = _PLAIN if long_words else _LETTERS
    found = [f"contains({text}, {sql_text(word)})" for word in dict.fromkeys(long_words or words)]
    return f"({' AND '.join(found)})"


def redacted_release(release: str, names: Iterable[str]) -> str:
    """Return a release without the organisations and the passages that bear one of the names."""
    return Redaction(names).release(release)


def _passage_lengths(words: tuple[str, ...]) -> range:
    """Return how many words a text can write a name with; none if it is a single word."""
    if len(words) < _FEWEST_WORDS:
        return range(0)
    # What may be initials can stand letter by letter.
    longest = sum(len(word) if len(word) <= _LONGEST_INITIALS else 1 for word in words)
    return range(len(words), longest + 1)


class Redaction:
    """Removes names from the JSON of releases."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name_words(name) for name in names}
        self._lengths = sorted(
            {length for name in self._names for length in _passage_lengths(name)}, reverse=True
        )

    def release(self, text: str) -> str:
        """Return a release without the organisations and the passages that bear a name.

        One without a name is returned as it is, text that is not JSON as an empty text.
        """
        try:
            value = _decode(text)
        except msgspec.DecodeError:
            # What cannot be cleaned must not be served: a rule leaves out what is not JSON.
            return ""
        kept = self._value(value)
        return text if kept == value else str(_encode(kept).decode())

    def _value(self, value: Any, member: str = "") -> Any:
        if isinstance(value, dict):
            return dict(self._members(value))
        if isinstance(value, list):
            return [self._value(item, member) for item in value if not self._drops(item, member)]
        return self._text(value) if isinstance(value, str) else value

    def _members(self, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, item in value.items():
            kept = None if self._drops(item, name) else self._value(item, name)
            # As the parser does: an object or a list of which nothing is left is left out.
            if not item or kept:
                yield name, kept if item else item

    def _drops(self, item: Any, member: str) -> bool:
        if member not in _ORGANISATIONS or not isinstance(item, dict):
            return False
        name = item.get("name")
        return isinstance(name, str) and name_words(name) in self._names

    def _text(self, text: str) -> str:
        """Return a text with every passage that is a name replaced."""
        for length in self._lengths:
            words = list(_WORD.finditer(text))
            # From the end: earlier positions stay valid.
            end = len(words)
            while end >= length:
                window = words[end - length : end]
                passage = text[window[0].start() : window[-1].end()]
                if name_words(passage) in self._names:
                    text = text[: window[0].start()] + REPLACEMENT + text[window[-1].end() :]
                    end -= length
                else:
                    end -= 1
        return text
