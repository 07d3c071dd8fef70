"""Read a name: normalise it, split it into words, find phrases and regions in it.

Start with ``fold`` and ``read_words``: every rule about names works on their output.
"""

import hmac
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import pycountry

from warehouse.names.word_lists import Phrase

# Names of parties in the one form in which they are compared.
#
# The form is frozen: keys of parties in the record are made from it.

_SEPARATORS = re.compile(r"[\W_]+")


@lru_cache(maxsize=1 << 16)
def plain_name(name: str) -> str:
    """Return a name without accents, punctuation and capitals."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name)
        name = "".join(char for char in name if not unicodedata.combining(char))
    return _SEPARATORS.sub(" ", name).strip().casefold()


def withheld_party_key(secret: bytes, source: str, base: str) -> str:
    """Return the key under which a party is stored without its name.

    ``base`` is what identifies the party in its source: its number, its own id, or its name.
    """
    # Keyed: names of people are few enough to be guessed from a plain hash.
    digest = hmac.digest(secret, f"{source}|{base}".encode(), "sha256")
    return f"withheld:{digest.hex()[:32]}"


# Abbreviations with dots or a slash: "S.A.", "P. T. Y.", "A/S".
_DOTTED = re.compile(
    r"(?<!\w)(?:(?:\w{1,2}\.)+\w{1,2}(?!\w)\.?|(?:\w\. )+\w\.(?!\w))"
    r"|\b[AIKaik]/[Ss]\b|\b[Ss]/[Aa]\b"
)
_WORD = re.compile(r"[^\W_]+·?")
_NON_LETTERS = re.compile(r"[\W_]")
_LIST_NUMBER = re.compile(r"^\(?\d{1,3}[.)]\s+")
_LINE_BREAKS = re.compile(r"[\t\n\r\v\f\x1c-\x1f\x85\u2028\u2029]")

# Characters that NFKD does not decompose, with their plain equivalents.
_PLAIN = str.maketrans(
    "⁄∕⧸╱‐‑‒―−⸺؛،、•·łŁøØđĐıħĦ’‘ʼ`",
    "////-----–;,,;.lLoOdDihH''''",
)
# Cyrillic, Greek and other letters that look Latin, as used to disguise a name.
_LOOKALIKES = str.maketrans(
    "АаВЕеЅѕІіЈјКМмНОоРрСсТтУуХхԁԛԜԝҮүһӀΑΒΕΖΗΙΚΜΝΟοΡΤΥΧνιɑցոѵϲ",
    "AaBEeSsIiJjKMmHOoPpCcTtYyXxdqWwYyhIABEZHIKMNOoPTYXviagnvc",
)


class Word(NamedTuple):
    """One word of a name, with the characters between it and the word before."""

    upper: str
    raw: str
    dotted: bool
    gap: str

    @property
    def is_parted(self) -> bool:
        """True if a comma or a dash comes before it."""
        return "," in self.gap or "–" in self.gap or " - " in self.gap

    @property
    def is_joined(self) -> bool:
        """True if "&" comes before it."""
        return "&" in self.gap

    @property
    def is_bracketed(self) -> bool:
        """True if a bracket opens before it."""
        return "(" in self.gap

    @property
    def is_glued(self) -> bool:
        """True if it is one word with the one before, as in "Smith-Jones" and "O'Neill"."""
        return self.gap in ("-", "'")


@lru_cache(maxsize=1 << 10)
def as_displayed(text: str) -> str:
    """Return a text as a reader sees it: no accents or zero-width characters, digits as 0 to 9."""
    # ASCII has no accents, no format characters and no other digits.
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text.translate(_PLAIN)).translate(_PLAIN)
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in text
        # Combining accents, and format characters such as zero-width joiners.
        if unicodedata.category(character) not in ("Mn", "Cf")
    )


@lru_cache(maxsize=1 << 10)
def fold(text: str) -> str:
    """Normalise a name for reading, without the number it has in a list.

    "S.A." becomes "SA·": one word, marked as having had dots.
    """
    text = _LINE_BREAKS.sub("\n", _LIST_NUMBER.sub("", as_displayed(text).strip()))
    return _DOTTED.sub(lambda match: _NON_LETTERS.sub("", match[0]) + "·", text)


def undisguise(text: str) -> str:
    """Return a folded text with letters that look Latin replaced by the Latin ones."""
    return text if text.isascii() else text.translate(_LOOKALIKES)


@lru_cache(maxsize=1 << 10)
def read_words(text: str) -> tuple[Word, ...]:
    """Split a folded name into words."""
    words: list[Word] = []
    end = 0
    for match in _WORD.finditer(text):
        raw = match[0].rstrip("·")
        words.append(Word(raw.upper(), raw, match[0] != raw, text[end : match.start()]))
        end = match.end()
    return tuple(words)


def phrases_in(
    upper: Sequence[str], phrases: frozenset[Phrase], first: int = 1
) -> Iterator[tuple[int, Phrase]]:
    """Yield phrases and where they start, from the left, the longest first at each position."""
    first_words = _first_words(phrases)
    for start in range(first, len(upper)):
        if upper[start] in first_words:
            for length in range(min(6, len(upper) - start), 0, -1):
                phrase = tuple(upper[start : start + length])
                if phrase in phrases:
                    yield start, phrase


def leading_phrase(upper: Sequence[str], phrases: frozenset[Phrase]) -> Phrase | None:
    """Return the longest phrase that the words begin with, or None."""
    if not upper or upper[0] not in _first_words(phrases):
        return None
    candidates = (tuple(upper[:length]) for length in range(5, 0, -1))
    return next((phrase for phrase in candidates if phrase in phrases), None)


@lru_cache(maxsize=64)
def _first_words(phrases: frozenset[Phrase]) -> frozenset[str]:
    return frozenset(phrase[0] for phrase in phrases if phrase)


def is_region(words: Sequence[str], country: str | None) -> bool:
    """Return whether the words name a country, or a subdivision of this one."""
    name = " ".join(words)
    return name in _countries() or (name in _subdivisions(country) if country else False)


@lru_cache(maxsize=1)
def _countries() -> frozenset[str]:
    return frozenset(_upper_words(country.name) for country in pycountry.countries)


@lru_cache(maxsize=256)
def _subdivisions(country: str) -> frozenset[str]:
    names = [
        _upper_words(division.name)
        for division in pycountry.subdivisions
        if division.country_code == country
    ]
    # "Distrito Capital de Bogotá" is also known as "Bogotá".
    short = [name.rsplit(" DE ", 1)[-1] for name in names if name.startswith("DISTRITO")]
    return frozenset([*names, *short])


def _upper_words(name: str) -> str:
    return " ".join(word.upper for word in read_words(fold(name)))
