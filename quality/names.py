"""How a name is read: its words, the phrases in them, the places among them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import pycountry

from quality.name_words import Phrase

_DOTS = re.compile(
    r"(?<!\w)(?:(?:\w{1,2}\.)+\w{1,2}(?!\w)\.?|(?:\w\. )+\w\.(?!\w))"
    r"|\b[AIKaik]/[Ss]\b|\b[Ss]/[Aa]\b"
)
_WORD = re.compile(r"[^\W_]+·?")
_NO_LETTER = re.compile(r"[\W_]")
_NUMBERED = re.compile(r"^\(?\d{1,3}[.)]\s+")
_LINES = re.compile(r"[\t\n\r\v\f\x1c-\x1f\x85\u2028\u2029]")

# Signs and letters that Unicode does not take apart, each as it is written in plain text.
_PLAIN = str.maketrans(
    "⁄∕⧸╱‐‑‒―−⸺؛،、•·łŁøØđĐıħĦ’‘ʼ`",
    "////-----–;,,;.lLoOdDihH''''",
)
_LOOKALIKES = str.maketrans(
    "АаВЕеЅѕІіЈјКМмНОоРрСсТтУуХхԁԛԜԝҮүһӀΑΒΕΖΗΙΚΜΝΟοΡΤΥΧνιɑցոѵϲ",
    "AaBEeSsIiJjKMmHOoPpCcTtYyXxdqWwYyhIABEZHIKMNOoPTYXviagnvc",
)


class Word(NamedTuple):
    """One word of a name, and the signs before it."""

    upper: str
    raw: str
    dotted: bool
    gap: str

    @property
    def parted(self) -> bool:
        """Tell whether a comma or a dash stands before it."""
        return "," in self.gap or "–" in self.gap or " - " in self.gap

    @property
    def joined(self) -> bool:
        """Tell whether "&" stands before it."""
        return "&" in self.gap

    @property
    def bracketed(self) -> bool:
        """Tell whether a bracket opens before it."""
        return "(" in self.gap

    @property
    def glued(self) -> bool:
        """Tell whether it is one word with that before it, as in "Smith-Jones" and "O'Neill"."""
        return self.gap in ("-", "'")


@lru_cache(maxsize=1 << 10)
def seen(text: str) -> str:
    """Give a text as a reader sees it: without accents and signs of no width, digits as 0 to 9."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text.translate(_PLAIN)).translate(_PLAIN)
    return "".join(
        str(unicodedata.decimal(each)) if each.isdecimal() else each
        for each in text
        if unicodedata.category(each) not in ("Mn", "Cf")
    )


@lru_cache(maxsize=1 << 10)
def fold(text: str) -> str:
    """Give a text as a reader sees it.

    "S.A." is "SA·", one word that is known to have had dots; a place in a list is left out.
    """
    text = _LINES.sub("\n", _NUMBERED.sub("", seen(text).strip()))
    return _DOTS.sub(lambda hit: _NO_LETTER.sub("", hit[0]) + "·", text)


def skeleton(text: str) -> str:
    """Give a folded text whose letters look Latin: what a reader takes it for."""
    return text if text.isascii() else text.translate(_LOOKALIKES)


@lru_cache(maxsize=1 << 10)
def read(text: str) -> tuple[Word, ...]:
    """Read the words of a folded name."""
    words: list[Word] = []
    end = 0
    for hit in _WORD.finditer(text):
        found = hit[0]
        raw = found.rstrip("·")
        words.append(Word(raw.upper(), raw, found != raw, text[end : hit.start()]))
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
    """Tell whether the words are the name of a country, or of a part of this one."""
    name = " ".join(part)
    return name in _countries() or (name in _places(country) if country else False)


@lru_cache(maxsize=1)
def _countries() -> frozenset[str]:
    return frozenset(_plain(each.name) for each in pycountry.countries)


@lru_cache(maxsize=256)
def _places(country: str) -> frozenset[str]:
    divisions = [each.name for each in pycountry.subdivisions if each.country_code == country]
    names = [_plain(each) for each in divisions]
    last = [name.rsplit(" DE ", 1)[-1] for name in names if name.startswith("DISTRITO")]
    return frozenset([*names, *last])


def _plain(name: str) -> str:
    return " ".join(word.upper for word in read(fold(name)))
