"""Names compared and words searched for: normalised alike when a build is written and when read.

Free of Arrow and numpy, so that the surfaces can import it.
"""

import re
import unicodedata
from functools import lru_cache
from string import punctuation, whitespace

from warehouse.shared.data_files import csv_rows

# Legal names in comparable form: spelling, accents and the forms of companies do not matter.
#
# Only what is convention is folded: "Ltd" and "Limited", "S.A." and "Société Anonyme", "&" and
# "and", a leading "The". Two names are the same or they are not; nothing here measures likeness.

# How a form is spelled out, and its short form; both normalised.
SHORT_FORMS = {row["spelled_out"]: row["short"] for row in csv_rows(__name__, "legal_names")}
# Longest first, so that a form is not cut by a shorter one within it.
_SPELLED_OUT = re.compile(
    r"(?<!\S)(?:" + "|".join(sorted(SHORT_FORMS, key=lambda form: (-len(form), form))) + r")(?!\S)"
)
_INITIALS = re.compile(r"(?<!\w)(?:\w\.){2,}(?!\w)|(?<!\w)(?:\w\.)+\w(?!\w)")
# Single letters in a row, as in "s a".
_LETTERS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
_NO_WORD = re.compile(r"[^a-z0-9]+")
_DROPPED = dict.fromkeys(map(ord, "'’‘ʼ`´"))
# Marks from this class on are accents; those below are letters of their own in their script.
_ACCENT = 200


def normalise_name(name: str) -> str | None:
    """Return a name in comparable form; None if nothing of it is left."""
    # Apostrophes vanish rather than become blanks: "D'Ivoire" and "DIvoire" are one name.
    text = _unaccented(name).casefold().translate(_DROPPED).replace("&", " and ")
    text = _INITIALS.sub(_joined, text) if "." in text else text
    words = " ".join(_spaced(text).split())
    # "S A" and "S.A." are both "SA" to whoever writes them.
    words = _LETTERS.sub(lambda match: match[0].replace(" ", ""), words)
    words = _SPELLED_OUT.sub(lambda match: SHORT_FORMS[match[0]], words)
    # Registers of companies disregard the article, and the SEC's drops it.
    return words.removeprefix("the ") or None


def _joined(initials: re.Match[str]) -> str:
    return initials[0].replace(".", "") + " "


def _unaccented(name: str) -> str:
    if name.isascii():
        return name
    parts = unicodedata.normalize("NFKD", name)
    bare = "".join(char for char in parts if unicodedata.combining(char) < _ACCENT)
    return unicodedata.normalize("NFC", bare)


def _spaced(text: str) -> str:
    """Replace everything but letters, marks and digits by a blank."""
    if text.isascii():
        return _NO_WORD.sub(" ", text)
    return "".join(
        char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in text
    )


# First letters of the Unicode categories a word is made of: letters, numbers, marks.
_WORD_CATEGORIES = ("L", "N", "M")
# Sorts after every word with the same prefix: the last code point.
PREFIX_END = "\U0010ffff"


def words(text: str) -> list[str]:
    """Return the words of a text in order, normalised."""
    spaced = "".join(
        char if unicodedata.category(char)[0] in _WORD_CATEGORIES else " " for char in text
    )
    return [word for word in map(fold, spaced.split(" ")) if word]


@lru_cache(maxsize=1 << 14)
def fold(word: str) -> str:
    """Return a word without case and accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


# What SQLite's tokenizer takes for a word: letters and digits of ASCII, and everything beyond it.
_SEPARATORS = {ord(char): " " for char in punctuation + whitespace}
_TERM = re.compile("[a-z0-9\x80-\U0010ffff]+")
# Bounds of a word, of all words of a row, and of an indexed text: a hostile text is no large index.
_LONGEST_TERM, _MOST_TERMS, _LONGEST_KEY = 64, 2_000, 256
# Short forms of companies: they tell organisations apart less than any other word.
FORM_WORDS = frozenset(SHORT_FORMS.values())


def terms(text: str) -> list[str]:
    """Return the words under which a text is found, each once, in order."""
    # Split at ASCII separators, which is fast; a million texts have few distinct tokens.
    tokens = dict.fromkeys(text.lower().translate(_SEPARATORS).split())
    found = dict.fromkeys(term for token in tokens for term in _terms_of_token(token))
    return list(found)[:_MOST_TERMS]


@lru_cache(maxsize=1 << 16)
def _terms_of_token(token: str) -> tuple[str, ...]:
    # Twice: what is folded can contain what separates words, as "½" does.
    found = _TERM.findall(" ".join(words(" ".join(words(token)))))
    return tuple(term[:_LONGEST_TERM] for term in found)


@lru_cache(maxsize=1 << 14)
def name_terms(name: str) -> tuple[str, ...]:
    """Return the words of a name; the forms of companies are folded."""
    return tuple(terms(normalise_name(name) or ""))


def name_key(name: str) -> str:
    """Return a name as it is compared with a whole query."""
    return " ".join(name_terms(name))[:_LONGEST_KEY]


def identifier_key(identifier: str) -> str:
    """Return an identifier as it is compared: its parts in one order, so JSE:UFM is UFM JSE."""
    return " ".join(sorted(terms(identifier)))[:_LONGEST_KEY]


def padded(word: str) -> str:
    """Return a word as it is cut into trigrams: its beginning counts more than its end."""
    return f"  {word} "


def trigrams(word: str) -> frozenset[str]:
    """Return every three neighbouring characters of a word."""
    text = padded(word)
    return frozenset(text[begin : begin + 3] for begin in range(len(text) - 2))


def similarity(first: str, second: str) -> float:
    """Return the share of the trigrams of two words that both have, between 0 and 1."""
    of_first, of_second = trigrams(first), trigrams(second)
    return len(of_first & of_second) / len(of_first | of_second)
