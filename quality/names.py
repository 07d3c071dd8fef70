"""How a name is read: its words, the phrases in them, the places among them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import pycountry

Phrase = tuple[str, ...]

_DOTS = re.compile(r"(?<!\w)(?:(?:\w{1,2}\.)+\w{1,2}(?!\w)\.?|(?:\w\. )+\w\.(?!\w))|\bA/S\b")
_WORD = re.compile(r"[^\W_]+·?")
_NO_LETTER = re.compile(r"[\W_]")


class Word(NamedTuple):
    """One word of a name, and the signs before it."""

    upper: str
    raw: str
    dotted: bool
    parted: bool
    joined: bool
    bracketed: bool


def fold(text: str) -> str:
    """Give a text without accents; "S.A." is "SA·", one word that is known to have had dots."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(each for each in text if not unicodedata.combining(each))
    return _DOTS.sub(lambda hit: _NO_LETTER.sub("", hit[0]) + "·", text)


@lru_cache(maxsize=1 << 10)
def read(name: str) -> tuple[Word, ...]:
    """Read the words of a name."""
    text = fold(name)
    words: list[Word] = []
    end = 0
    for hit in _WORD.finditer(text):
        found = hit[0]
        raw = found.rstrip("·")
        between = text[end : hit.start()]
        if between in ("", " "):
            parted = joined = bracketed = False
        else:
            parted = "," in between or "–" in between or " - " in between
            joined, bracketed = "&" in between, "(" in between
        words.append(Word(raw.upper(), raw, found != raw, parted, joined, bracketed))
        end = hit.end()
    return tuple(words)


def phrases_in(
    upper: Sequence[str], phrases: frozenset[Phrase], first: int = 1
) -> Iterator[tuple[int, Phrase]]:
    """Find phrases from the left, the longest first at each place."""
    firsts = _firsts(phrases)
    for start in range(first, len(upper)):
        if upper[start] in firsts:
            for length in range(min(6, len(upper) - start), 0, -1):
                phrase = tuple(upper[start : start + length])
                if phrase in phrases:
                    yield start, phrase


def beginning(upper: Sequence[str], phrases: frozenset[Phrase]) -> Phrase | None:
    """Give the longest phrase with which the words begin."""
    if not upper or upper[0] not in _firsts(phrases):
        return None
    begun = (tuple(upper[:length]) for length in range(5, 0, -1))
    return next((phrase for phrase in begun if phrase in phrases), None)


@lru_cache(maxsize=64)
def _firsts(phrases: frozenset[Phrase]) -> frozenset[str]:
    return frozenset(phrase[0] for phrase in phrases if phrase)


def is_place(part: Sequence[str], country: str | None) -> bool:
    """Tell whether the words are the name of a part of the country."""
    return " ".join(part) in _places(country) if country else False


@lru_cache(maxsize=256)
def _places(country: str) -> frozenset[str]:
    divisions = [each.name for each in pycountry.subdivisions if each.country_code == country]
    names = [" ".join(word.upper for word in read(each)) for each in divisions]
    last = [name.rsplit(" DE ", 1)[-1] for name in names if name.startswith("DISTRITO")]
    return frozenset([*names, *last])
