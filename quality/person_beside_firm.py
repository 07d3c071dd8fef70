"""Whether one name is that of two: a firm's, and beside it a person's.

"Smith & Jones Ltd" is one firm, "John Smith & Acme Ltd" a person and a firm. Nothing in the
letters tells "Price Waterhouse and Coopers Inc" from "John Smith and Acme Inc" but that John
is a given name; where no form of partners is at hand, two plain words are enough to withhold.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from quality.legal_form_rules import FINE, FORM_WORDS, SHORT_WORDS
from quality.legal_forms import LEADING_FORMS, PARTNERS_FORMS, PROFESSIONS_FORMS
from quality.name_words import words as words_of
from quality.names import Word, beginning, is_place, read
from quality.person_words import GIVEN_NAMES, OFFICE_HOLDERS
from quality.public_words import FIRST, LAST, SUBJECTS
from quality.trade_words import AND, KIN, NOBODY, PARTICLES, SURNAMES_TOO

# "24/7" is one word, and so are "M/s" before a firm's name and "P/L" after it.
_SEVERAL = re.compile(
    r"[;|]|\s\+\s|(?<!\bM)(?<!\d)/(?!GTE)|(?<=\d)/(?!\d)|(?<=\bM)/(?!S\b)", re.IGNORECASE
)
_BREAKS = re.compile(r"[,&():\n]|–|\s-|-\s")
_LOOSE = frozenset(["OF", "FOR", "AT", "FROM", "BY", "VIA", "PER"])
_LONGEST = 5
_PUBLIC = frozenset(word for phrase in FIRST | LAST for word in phrase) - PARTICLES
_NO_NAMES = FINE | NOBODY | KIN | SUBJECTS | _PUBLIC
# Attorneys and the like have firms of their own name; their profession is no office.
_OFFICES = OFFICE_HOLDERS - words_of("ATTORNEY ADVOCATE NOTARY PRINCIPAL CHIEF STAFF FISCAL")


class Segment(NamedTuple):
    """Words between two breaks, what stood before them, and whether it was a loose break."""

    words: tuple[Word, ...]
    bracketed: bool
    listed: bool
    loose: bool


def parties(text: str) -> list[str]:
    """Split a folded name where a sign can only part two names."""
    return [each for each in _SEVERAL.split(text) if read(each)]


def someone_beside(words: Sequence[Word], country: str | None) -> bool:
    """Tell whether a name of a firm holds the name of a person beside it."""
    segments = _segments([word for word in words if word.upper != "MESSRS"])
    upper = {word.upper for word in words}
    partners = not upper.isdisjoint(PARTNERS_FORMS)
    profession = not upper.isdisjoint(PROFESSIONS_FORMS)
    for at, segment in enumerate(segments):
        following = segments[at + 1] if at + 1 < len(segments) else None
        if segment.bracketed and _person(segment.words, country) and _given(segment.words):
            return True
        if following is None or not _named_itself(following, country):
            continue
        if _initials(segment) or (at and segment.listed and _lone_given(segment)):
            return True
        if _person(segment.words, country):
            firm_inside = following.bracketed and following.words[-1].upper in FORM_WORDS
            doubtful = following.loose or (following.bracketed and not firm_inside)
            sure = _given(segment.words) or (
                not doubtful and not profession and _initialled(segment.words)
            )
            if sure or not (partners or doubtful):
                return True
    return False


def is_named_as_a_person(words: Sequence[Word], country: str | None) -> bool:
    """Tell whether the words are a full name with a given name that is known as one."""
    return _person(words, country) and _given(words)


def holds_an_office(words: Sequence[Word]) -> bool:
    """Tell whether the name is that of someone with an office: the office and a given name."""
    upper = {word.upper for word in words}
    return not upper.isdisjoint(_OFFICES) and not upper.isdisjoint(GIVEN_NAMES)


def _segments(words: Sequence[Word]) -> list[Segment]:
    found: list[Segment] = []
    run: list[Word] = []
    bracketed = listed = loose = False
    for at, word in enumerate(words):
        if word.joined and run and len(word.upper) == len(words[at - 1].upper) == 1:
            run.append(word)
            continue
        joins = word.upper in AND or word.upper in _LOOSE
        if (joins or _BREAKS.search(word.gap)) and run:
            found.append(Segment(tuple(run), bracketed, listed, loose))
            run, bracketed, listed, loose = [], False, False, False
        if joins:
            loose = word.upper in _LOOSE
        else:
            run.append(word)
            bracketed = bracketed or "(" in word.gap
            listed = listed or "," in word.gap
    return [*found, Segment(tuple(run), bracketed, listed, loose)] if run else found


def _person(words: Sequence[Word], country: str | None) -> bool:
    """Tell whether the words may be a person's full name."""
    upper = [word.upper for word in words]
    names = [word for word in words if word.upper not in PARTICLES]
    if len([word for word in names if not word.glued]) < 2 or len(names) > _LONGEST:
        return False
    if is_place(upper, country) or beginning(upper, LEADING_FORMS):
        return False
    return all(each.raw.isalpha() and _may_be_a_name(each) for each in names)


def _may_be_a_name(word: Word) -> bool:
    return word.upper not in _NO_NAMES or len(word.upper) == 1


def _given(words: Sequence[Word]) -> bool:
    return any(word.upper in GIVEN_NAMES for word in words)


def _initialled(words: Sequence[Word]) -> bool:
    return len(words[0].upper) == 1 or (words[0].dotted and len(words[0].upper) < 4)


def _initials(segment: Segment) -> bool:
    """Tell whether the segment is the initials after a comma, as in "Smith, J & Acme Ltd"."""
    return segment.listed and all(len(word.upper) == 1 or word.dotted for word in segment.words)


def _lone_given(segment: Segment) -> bool:
    return len(segment.words) == 1 and segment.words[0].upper in GIVEN_NAMES


def _named_itself(segment: Segment, country: str | None) -> bool:
    """Tell whether a segment begins with a name, and not with kin, trade, a form or a place."""
    upper = [word.upper for word in segment.words]
    own = [word for word in upper if word not in FINE and word not in SHORT_WORDS]
    if not own or upper[0] in KIN or is_place(own, country):
        return False
    return own[0] == upper[0] or upper[0] in SURNAMES_TOO
