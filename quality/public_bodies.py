"""How a public body is read in a name: where its word stands, and that nobody stands beside it."""

import re
from collections.abc import Sequence

from quality import public_words as known
from quality.names import Word, beginning, is_place, phrases_in, read
from quality.person_words import GIVEN_NAMES, OFFICE_HOLDERS
from quality.trade_words import NOBODY, PARTICLES, TRADE_WORDS

_PARTS = re.compile(r"[,;:()–—/]|\s-|-\s")
_ARTICLES = frozenset(["THE", "LA", "EL", "LE", "O", "A", "L"])
_AFTER_LAST = frozenset(["OF", "FOR", "IN", "AT", "ON", "AND", "DE", "D"])
_OPEN = PARTICLES | frozenset(["OF", "FOR", "THE", "PARA", "FEDERAL"])
_IMPERSONAL = TRADE_WORDS | known.DEPARTMENTS
_KNOWN = _IMPERSONAL | NOBODY | known.SUBJECTS | known.QUALIFIERS | PARTICLES

Part = Sequence[str]


def public_body(text: str, words: Sequence[Word], country: str | None) -> str | None:
    """Give the word by which a name is a public body's."""
    upper = [word.upper for word in words]
    if tuple(upper) in known.PUBLIC_BODIES.get(country or "", ()):
        return "list"
    office = upper[:2] == ["OFFICE", "OF"]
    if not office and not OFFICE_HOLDERS.isdisjoint(upper):
        return None
    parts = [[word.upper for word in read(part)] for part in _PARTS.split(text)]
    parts = [part for part in parts if part]
    bodies = (body for part in parts if (body := _body(part, country)))
    found = next(bodies, None) or _department(parts, country)
    harmless = (_harmless(parts, at, country) for at in range(len(parts)))
    return found if found and all(harmless) else None


def _body(part: Part, country: str | None) -> str | None:
    """Give the phrase by which one part of a name is a public body's."""
    bare = _without_place(part, country)
    begins = beginning(bare, known.FIRST)
    if (
        begins
        and (len(bare) > len(begins) or begins[-1] not in _OPEN)
        and _nobody_follows(bare, begins)
    ):
        return " ".join(begins).lower()
    for start, phrase in phrases_in(part, known.BEFORE_OF, first=0):
        after = part[start + len(phrase) :]
        if _qualifies(part[:start], country) and after and _subject(after, country):
            return " ".join(phrase).lower()
    for start, phrase in phrases_in(part, known.LAST, first=0):
        if _ends(part[:start], part[start + len(phrase) :], country):
            return " ".join(phrase).lower()
    for start, phrase in phrases_in(part, known.LAST_IN_COMPANY, first=0):
        before, after = part[:start], part[start + len(phrase) :]
        if _ends(before, after, country) and _in_company([*before, *after], country):
            return " ".join(phrase).lower()
    return None


def _nobody_follows(part: Part, begins: Part) -> bool:
    named_after = beginning(part, known.NAMED_AFTER_SOMEONE) and begins[0] != "OFFICE"
    return bool(named_after) or GIVEN_NAMES.isdisjoint(part[len(begins) :])


def _ends(before: Part, after: Part, country: str | None) -> bool:
    """Tell whether a body's word stands last, or only what it is for follows."""
    if after and after[0] in _AFTER_LAST:
        alone = not before or _qualifies(before, country) or _subject(after[1:], country)
        return alone and GIVEN_NAMES.isdisjoint(after)
    return not after or all(word in _KNOWN or word.isdigit() for word in after)


def _subject(after: Part, country: str | None) -> bool:
    """Tell whether words say what a body is for, with no name of a person at their end."""
    unknown = [word not in _KNOWN for word in after]
    if is_place(after, country) or not any(unknown[-2:]):
        return GIVEN_NAMES.isdisjoint(after)
    named = len(after) > 1 and all(unknown[-2:])
    of_a_place = named and len(after) > 2 and after[-3] in ("OF", "DE")
    return GIVEN_NAMES.isdisjoint(after) and (not named or len(after) == 2 or of_a_place)


def _qualifies(before: Part, country: str | None) -> bool:
    place = [word for word in before if word not in known.QUALIFIERS]
    return not place or is_place(place, country) or is_place(before, country)


def _without_place(part: Part, country: str | None) -> Part:
    lengths = range(min(4, len(part) - 1), 0, -1)
    start = next((each for each in lengths if is_place(part[:each], country)), 0)
    return part[start + 1 :] if part[start] in _ARTICLES and len(part) > start + 1 else part[start:]


def _department(parts: Sequence[Part], country: str | None) -> str | None:
    if len(parts) < 2 or not is_place(parts[0], country):
        return None
    named = [word for word in parts[1] if word in known.DEPARTMENTS]
    return named[0].lower() if named else None


def _harmless(parts: Sequence[Part], at: int, country: str | None) -> bool:
    """Tell whether one part of the name cannot be a person's name."""
    part = parts[at]
    if _body(part, country) or is_place(part, country):
        return True
    if len(part) == 1:
        somewhere = at > 0 and is_place(parts[0], country)
        known_word = somewhere or part[0] in _KNOWN or _acronym(part[0], parts[:at])
        return known_word and part[0] not in GIVEN_NAMES
    return _impersonal(part, country) and GIVEN_NAMES.isdisjoint(part)


def _acronym(word: str, before: Sequence[Part]) -> bool:
    """Tell whether "DANE" stands for the words before it."""
    letters = iter("".join(each for part in before for each in part))
    begins = any(each[0] == word[0] for part in before for each in part)
    return begins and all(letter in letters for letter in word)


def _in_company(company: Part, country: str | None) -> bool:
    subjects = (NOBODY | known.SUBJECTS) - _OPEN - _AFTER_LAST
    return not subjects.isdisjoint(company) or _impersonal(company, country)


def _impersonal(part: Part, country: str | None) -> bool:
    if not _IMPERSONAL.isdisjoint(part):
        return True
    pairs = [part[at : at + length] for length in (1, 2) for at in range(len(part) - length + 1)]
    return any(is_place(each, country) for each in pairs)
