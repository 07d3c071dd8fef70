"""Legal names in comparable form: spelling, accents and the forms of companies do not matter.

Only what is convention is folded: "Ltd" and "Limited", "S.A." and "Société Anonyme", "&" and "and",
a leading "The". Two names are the same or they are not; nothing here measures likeness.
"""

import re
import unicodedata

from warehouse.shared.data_files import csv_rows

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
    return "".join(char if char.isalnum() or _is_mark(char) else " " for char in text)


def _is_mark(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] == "M"
