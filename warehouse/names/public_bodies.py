"""Recognise a public body by its name: the words that mark one, and how they are read.

A marking word is evidence only at the right position, and only if nothing next to it can be a
person's name.
"""

import re
from collections.abc import Sequence

from warehouse.names import word_lists
from warehouse.names.reading import Word, is_region, leading_phrase, phrases_in, read_words

# The word comes last, as in "Theewater Municipality", or before "of".
BODY_LAST = word_lists.listed_phrases("body_last")

# Last as well, but there are people of that name: a region or a word of trade must be next to it.
BODY_LAST_IN_CONTEXT = word_lists.listed_phrases("body_last_in_context")

# First, or after a region and words such as "national"; what follows is what the body is for.
BODY_BEFORE_OF = word_lists.listed_phrases("body_before_of")

# First in its part of the name.
BODY_FIRST = word_lists.listed_phrases("body_first")

# Bodies that are named after people, including their titles.
NAMED_AFTER_PEOPLE = word_lists.listed_phrases("named_after_people")

# What may come before a department: "national", "provincial".
QUALIFIERS = word_lists.listed_words("qualifiers")

# What departments are for.
SUBJECTS = word_lists.listed_words("subjects")

# Bodies whose name contains none of these words, by country.
PUBLIC_BODIES = {
    "ZA": word_lists.listed_phrases("public_bodies_za"),
    "KE": word_lists.listed_phrases("public_bodies_ke"),
}

# What a department of a province is named after, as in "Eastern Cape - Agriculture".
DEPARTMENTS = word_lists.listed_words("departments")

_PART_BREAKS = re.compile(r"[,;:()–—/]|\s-|-\s")
_ARTICLES = frozenset(["THE", "LA", "EL", "LE", "O", "A", "L"])
_AFTER_LAST = frozenset(["OF", "FOR", "IN", "AT", "ON", "AND", "DE", "D"])
# A phrase that ends in one of these needs something after it.
_OPEN_ENDED = word_lists.PARTICLES | frozenset(["OF", "FOR", "THE", "PARA", "FEDERAL"])
_NEVER_PERSONAL = word_lists.TRADE_WORDS | DEPARTMENTS
_PLAIN_WORDS = (
    _NEVER_PERSONAL | word_lists.IMPERSONAL_WORDS | SUBJECTS | QUALIFIERS | word_lists.PARTICLES
)

# The upper-case words of one part of a name.
NamePart = Sequence[str]


def public_body(text: str, words: Sequence[Word], country: str | None) -> str | None:
    """Return the phrase that marks a name as a public body's, or None."""
    upper = [word.upper for word in words]
    if tuple(upper) in PUBLIC_BODIES.get(country or "", ()):
        return "list"
    is_office = upper[:2] == ["OFFICE", "OF"]
    if not is_office and not word_lists.OFFICE_HOLDERS.isdisjoint(upper):
        return None
    parts = [[word.upper for word in read_words(part)] for part in _PART_BREAKS.split(text)]
    parts = [part for part in parts if part]
    bodies = (body for part in parts if (body := _body_phrase(part, country)))
    body = next(bodies, None) or _department(parts, country)
    harmless = (_is_harmless(parts, index, country) for index in range(len(parts)))
    return body if body and all(harmless) else None


def _body_phrase(part: NamePart, country: str | None) -> str | None:
    """Return the phrase that marks one part of a name as a public body's, or None."""
    bare = _without_region(part, country)
    leading = leading_phrase(bare, BODY_FIRST)
    if (
        leading
        and (len(bare) > len(leading) or leading[-1] not in _OPEN_ENDED)
        and _nobody_follows(bare, leading)
    ):
        return " ".join(leading).lower()
    for start, phrase in phrases_in(part, BODY_BEFORE_OF, first=0):
        after = part[start + len(phrase) :]
        if _are_qualifiers(part[:start], country) and after and _is_subject(after, country):
            return " ".join(phrase).lower()
    for start, phrase in phrases_in(part, BODY_LAST, first=0):
        if _ends_name(part[:start], part[start + len(phrase) :], country):
            return " ".join(phrase).lower()
    for start, phrase in phrases_in(part, BODY_LAST_IN_CONTEXT, first=0):
        before, after = part[:start], part[start + len(phrase) :]
        if _ends_name(before, after, country) and _in_context([*before, *after], country):
            return " ".join(phrase).lower()
    return None


def _nobody_follows(part: NamePart, leading: NamePart) -> bool:
    named_after = leading_phrase(part, NAMED_AFTER_PEOPLE) and leading[0] != "OFFICE"
    return bool(named_after) or word_lists.GIVEN_NAMES.isdisjoint(part[len(leading) :])


def _ends_name(before: NamePart, after: NamePart, country: str | None) -> bool:
    """Return whether a body's word comes last, or is followed only by what the body is for."""
    if after and after[0] in _AFTER_LAST:
        unnamed = not before or _are_qualifiers(before, country) or _is_subject(after[1:], country)
        return unnamed and word_lists.GIVEN_NAMES.isdisjoint(after)
    return not after or all(word in _PLAIN_WORDS or word.isdigit() for word in after)


def _is_subject(after: NamePart, country: str | None) -> bool:
    """Return whether words say what a body is for, without a person's name at their end."""
    unusual = [word not in _PLAIN_WORDS for word in after]
    if is_region(after, country) or not any(unusual[-2:]):
        return word_lists.GIVEN_NAMES.isdisjoint(after)
    # Two unusual words at the end read like a full name, unless they are all there is or "of"
    # before them makes them a region.
    ends_like_name = len(after) > 1 and all(unusual[-2:])
    of_region = ends_like_name and len(after) > 2 and after[-3] in ("OF", "DE")
    return word_lists.GIVEN_NAMES.isdisjoint(after) and (
        not ends_like_name or len(after) == 2 or of_region
    )


def _are_qualifiers(before: NamePart, country: str | None) -> bool:
    rest = [word for word in before if word not in QUALIFIERS]
    return not rest or is_region(rest, country) or is_region(before, country)


def _without_region(part: NamePart, country: str | None) -> NamePart:
    lengths = range(min(4, len(part) - 1), 0, -1)
    start = next((length for length in lengths if is_region(part[:length], country)), 0)
    return part[start + 1 :] if part[start] in _ARTICLES and len(part) > start + 1 else part[start:]


def _department(parts: Sequence[NamePart], country: str | None) -> str | None:
    if len(parts) < 2 or not is_region(parts[0], country):
        return None
    departments = [word for word in parts[1] if word in DEPARTMENTS]
    return departments[0].lower() if departments else None


def _is_harmless(parts: Sequence[NamePart], index: int, country: str | None) -> bool:
    """Return whether one part of the name cannot be a person's name."""
    part = parts[index]
    if _body_phrase(part, country) or is_region(part, country):
        return True
    if len(part) == 1:
        after_region = index > 0 and is_region(parts[0], country)
        plain = after_region or part[0] in _PLAIN_WORDS or _is_acronym(part[0], parts[:index])
        return plain and part[0] not in word_lists.GIVEN_NAMES
    return _is_impersonal(part, country) and word_lists.GIVEN_NAMES.isdisjoint(part)


def _is_acronym(word: str, before: Sequence[NamePart]) -> bool:
    """Return whether a word such as "DANE" abbreviates the words before it."""
    words = [earlier for part in before for earlier in part]
    letters = iter("".join(words))
    same_first = any(earlier[0] == word[0] for earlier in words)
    # ``in`` consumes the iterator: the letters must occur in this order.
    return same_first and all(letter in letters for letter in word)


def _in_context(neighbours: NamePart, country: str | None) -> bool:
    subjects = (word_lists.IMPERSONAL_WORDS | SUBJECTS) - _OPEN_ENDED - _AFTER_LAST
    return not subjects.isdisjoint(neighbours) or _is_impersonal(neighbours, country)


def _is_impersonal(part: NamePart, country: str | None) -> bool:
    if not _NEVER_PERSONAL.isdisjoint(part):
        return True
    runs = [
        part[start : start + length] for length in (1, 2) for start in range(len(part) - length + 1)
    ]
    return any(is_region(run, country) for run in runs)
