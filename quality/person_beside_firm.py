"""Detect a person's name next to a firm's in one field.

"Smith & Jones Ltd" is one firm, "John Smith & Acme Ltd" a person and a firm. Nothing in the
letters distinguishes "Price Waterhouse and Coopers Inc" from "John Smith and Acme Inc" except
that John is a given name. Unless the name has a form of partners, two plain words are enough to
withhold it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from warehouse.names import word_lists
from warehouse.names.legal_forms import (
    FIRM_WORDS,
    LEADING_FORMS,
    LONG_FORM_WORDS,
    PARTNERS_FORMS,
    PROFESSIONS_FORMS,
    SHORT_FORM_WORDS,
    legal_form,
)
from warehouse.names.public_bodies import BODY_FIRST, BODY_LAST, SUBJECTS
from warehouse.names.reading import Word, is_region, leading_phrase, read_words

# "24/7" is one word, and so are "M/s" before a firm's name and "P/L" after it.
_NAME_SEPARATORS = re.compile(
    r"[;|]|\s\+\s|(?<!\bM)(?<!\d)/(?!GTE)|(?<=\d)/(?!\d)|(?<=\bM)/(?!S\b)", re.IGNORECASE
)
_SEGMENT_BREAKS = re.compile(r"[,&():\n]|–|\s-|-\s")
_LOOSE_BREAKS = frozenset(["OF", "FOR", "AT", "FROM", "BY", "VIA", "PER"])
_MAX_NAME_WORDS = 5
_PUBLIC_WORDS = (
    frozenset(word for phrase in BODY_FIRST | BODY_LAST for word in phrase) - word_lists.PARTICLES
)
_NOT_PERSONAL = (
    FIRM_WORDS | word_lists.IMPERSONAL_WORDS | word_lists.FAMILY_WORDS | SUBJECTS | _PUBLIC_WORDS
)
# Attorneys and the like have firms of their own name; their profession is no office.
_OFFICES = word_lists.OFFICE_HOLDERS - word_lists.word_set(
    "ATTORNEY ADVOCATE NOTARY PRINCIPAL CHIEF STAFF FISCAL"
)


class Segment(NamedTuple):
    """The words between two breaks, and what kind of break precedes them."""

    words: tuple[Word, ...]
    is_bracketed: bool
    after_comma: bool
    after_loose_break: bool


def split_names(text: str) -> list[str]:
    """Split a folded name at characters that can only separate two names."""
    return [name for name in _NAME_SEPARATORS.split(text) if read_words(name)]


def has_person_beside_firm(
    words: Sequence[Word], country: str | None, *, is_listed: bool = False
) -> bool:
    """Return whether a firm's name has a person's name next to it.

    Of an issuer that its regulator or exchange lists, two plain words alone prove none:
    "Goodyear Tire & Rubber".
    """
    # "Messrs" announces a firm, and is part of no person's name.
    segments = _segments([word for word in words if word.upper != "MESSRS"])
    upper = {word.upper for word in words}
    of_partners = not upper.isdisjoint(PARTNERS_FORMS)
    of_profession = not upper.isdisjoint(PROFESSIONS_FORMS)
    for index, segment in enumerate(segments):
        following = segments[index + 1] if index + 1 < len(segments) else None
        if segment.is_bracketed and is_personal_name(segment.words, country):
            return True
        if following is None or not _has_own_name(following, country):
            continue
        if _are_initials(segment) or (
            index and segment.after_comma and _is_lone_given_name(segment)
        ):
            return True
        if may_be_person(segment.words, country):
            firm_inside = following.is_bracketed and (
                following.words[-1].upper in LONG_FORM_WORDS
                or legal_form(following.words, country) is not None
                or _opens_inside(segments[index + 2 : index + 3])
            )
            doubtful = following.after_loose_break or (following.is_bracketed and not firm_inside)
            # A given name decides; initials do where neither the break nor a profession, whose
            # firms bear initials, speaks against it.
            sure = _has_given_name(segment.words) or (
                not doubtful and not of_profession and _begins_with_initial(segment.words)
            )
            if sure or not (of_partners or doubtful or is_listed):
                return True
    return False


def _opens_inside(segments: Sequence[Segment]) -> bool:
    """Return whether a bracket opens before the one before it closes: "(Acme (Pty) Ltd"."""
    return any(
        "(" in segment.words[0].gap and ")" not in segment.words[0].gap for segment in segments
    )


def is_personal_name(words: Sequence[Word], country: str | None) -> bool:
    """Return whether the words may be a full name and include a well-known given name."""
    return may_be_person(words, country) and _has_given_name(words)


def may_be_given_name(words: Sequence[Word]) -> bool:
    """Return whether the words may be a given name alone, well-known or not."""
    names = [word for word in words if not (word.raw.isdigit() or word.is_glued)]
    return len(names) == 1 and names[0].raw.isalpha() and _may_be_personal(names[0])


def is_given_name(words: Sequence[Word]) -> bool:
    """Return whether the words are a well-known given name alone."""
    return may_be_given_name(words) and _has_given_name(words)


def names_office_holder(words: Sequence[Word]) -> bool:
    """Return whether the name is an office holder's: an office together with a given name."""
    upper = {word.upper for word in words}
    return not upper.isdisjoint(_OFFICES) and not upper.isdisjoint(word_lists.GIVEN_NAMES)


def _segments(words: Sequence[Word]) -> list[Segment]:
    segments: list[Segment] = []
    run: list[Word] = []
    is_bracketed = after_comma = after_loose_break = False
    for index, word in enumerate(words):
        # "A & B" between single letters is one pair of initials.
        if word.is_joined and run and len(word.upper) == len(words[index - 1].upper) == 1:
            run.append(word)
            continue
        is_break_word = word.upper in word_lists.CONJUNCTIONS or word.upper in _LOOSE_BREAKS
        if (is_break_word or _SEGMENT_BREAKS.search(word.gap)) and run:
            segments.append(Segment(tuple(run), is_bracketed, after_comma, after_loose_break))
            run, is_bracketed, after_comma, after_loose_break = [], False, False, False
        if is_break_word:
            after_loose_break = word.upper in _LOOSE_BREAKS
        else:
            run.append(word)
            is_bracketed = is_bracketed or "(" in word.gap
            after_comma = after_comma or "," in word.gap
    if run:
        segments.append(Segment(tuple(run), is_bracketed, after_comma, after_loose_break))
    return segments


def may_be_person(words: Sequence[Word], country: str | None) -> bool:
    """Return whether the words may be a person's full name, well-known or not."""
    upper = [word.upper for word in words]
    names = [word for word in words if word.upper not in word_lists.PARTICLES]
    if len([word for word in names if not word.is_glued]) < 2 or len(names) > _MAX_NAME_WORDS:
        return False
    if is_region(upper, country) or leading_phrase(upper, LEADING_FORMS):
        return False
    return all(word.raw.isalpha() and _may_be_personal(word) for word in names)


def _may_be_personal(word: Word) -> bool:
    return word.upper not in _NOT_PERSONAL or len(word.upper) == 1


def _has_given_name(words: Sequence[Word]) -> bool:
    return any(word.upper in word_lists.GIVEN_NAMES for word in words)


def _begins_with_initial(words: Sequence[Word]) -> bool:
    return len(words[0].upper) == 1 or (words[0].dotted and len(words[0].upper) < 4)


def _are_initials(segment: Segment) -> bool:
    """Return whether the segment is initials after a comma, as in "Smith, J & Acme Ltd"."""
    return segment.after_comma and all(
        len(word.upper) == 1 or word.dotted for word in segment.words
    )


def _is_lone_given_name(segment: Segment) -> bool:
    return len(segment.words) == 1 and segment.words[0].upper in word_lists.GIVEN_NAMES


def _has_own_name(segment: Segment, country: str | None) -> bool:
    """Return whether a segment begins with a name, not with family, trade, a form or a region."""
    upper = [word.upper for word in segment.words]
    own = [word for word in upper if word not in FIRM_WORDS and word not in SHORT_FORM_WORDS]
    if not own or upper[0] in word_lists.FAMILY_WORDS or is_region(own, country):
        return False
    return own[0] == upper[0] or upper[0] in word_lists.TRADE_SURNAMES
