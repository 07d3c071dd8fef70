"""Remove contacts from free text: e-mail addresses, telephone numbers, "contact person" parts.

What a contact looks like is in ``contact_patterns``; ``contact_prefilter`` spares most text the
search for one.
"""

import re

from quality import contact_patterns as patterns
from quality.contact_prefilter import (
    LONG_NUMBER,
    announces_contact,
    has_address,
    has_foreign_mark,
    has_title,
    may_have_contact,
    searchable,
)

_NUMBER_LABELS = tuple(
    word.encode().decode("latin-1")
    for word in (
        *("tel", "tél", "phone", "cel", "mobile", "fax", "whatsapp", "movil", "móvil", "pbx"),
        *("call", "dial", "lig", "llam", "appel", "wa.me"),
    )
)
# What a contact is recognised by, anywhere in a text and as a word of its own (in the second form
# of ``searchable``), and how much of the contact can stand before that.
_ANYWHERE = (
    *("conta", "consultas", "responsable", "liaison", "nquir", "queries", ":", "@", "arroba"),
    *(" dot ", "(at)", "[at]", "{at}"),
)
_AS_WORD = (" att", " mr", " mm ", " mimm ", " prof ", " amv ", " engr ")
_MAX_BEFORE = 128
_BLANKS = re.compile(r"[ \t]{2,}")
_BLANKS_BEFORE_PUNCTUATION = re.compile(r" +(?=[.,;:)\n])")
# Zero-width characters, with which an address can be hidden from the patterns.
_ZERO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def remove_contacts(text: str) -> str:
    """Return the text without contacts; text that has none is returned unchanged."""
    if not may_have_contact(text):
        return text
    # Characters that nobody sees must not split an address into harmless parts.
    visible = text if text.isascii() else _ZERO_WIDTH.sub("", text)
    start = _search_start(visible)
    before, rest = visible[:start], visible[start:]
    # Removing one contact can join the parts of another: repeat until nothing changes.
    while True:
        shorter = _remove_once(rest)
        if shorter == rest:
            break
        rest = _squeeze_blanks(shorter)
    if rest == visible[start:]:
        return text
    # A sentence that began with a contact now begins with its punctuation.
    return (before + _squeeze_blanks(rest)).strip().lstrip(".,;: ")


def _search_start(text: str) -> int:
    """Return where the search starts: well before the first thing a contact begins with.

    Positions in bytes are positions in the text only if it is ASCII; other text is searched whole.
    """
    if not text.isascii():
        return 0
    lower, words = searchable(text)
    positions = [at for mark in _ANYWHERE if (at := lower.find(mark)) >= 0]
    positions += [at for mark in _AS_WORD if (at := words.find(mark)) >= 0]
    if number := LONG_NUMBER.search(text):
        positions.append(number.start())
    first = min(positions, default=0)
    return max(text.rfind(" ", 0, max(first - _MAX_BEFORE, 0)), 0)


def _remove_once(text: str) -> str:
    """Remove what the patterns match, running only those that can match."""
    lower, words = searchable(text)
    foreign = not text.isascii() and has_foreign_mark(lower, words)
    announced = foreign or announces_contact(lower, words)
    if announced:
        text = patterns.CONTACT.sub(" ", text)
    if announced or has_title(lower, words):
        text = patterns.PERSON.sub(" ", text)
    if foreign or has_address(lower, words):
        text = patterns.EMAIL.sub(" ", text)
    # Again, since removing contacts may have removed the only number.
    if not LONG_NUMBER.search(text):
        return text
    if any(map(lower.__contains__, _NUMBER_LABELS)):
        text = patterns.LABELLED.sub(" ", text)
    if "+" in lower or "00" in lower:
        text = patterns.ABROAD.sub(" ", text)
    text = patterns.LOCAL.sub(" ", text)
    return patterns.MOBILE.sub(" ", text) if "3" in lower else text


def _squeeze_blanks(text: str) -> str:
    if "  " in text or "\t" in text:
        text = _BLANKS.sub(" ", text)
    return _BLANKS_BEFORE_PUNCTUATION.sub("", text)
