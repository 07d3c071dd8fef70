"""How legal forms are read in a name: long ones anywhere, short ones where the law knows them."""

from collections.abc import Sequence

from quality import legal_forms as known
from quality.names import Word, beginning, is_place, phrases_in
from quality.person_words import GIVEN_NAMES
from quality.trade_words import AFTER_FORMS, PARTICLES, SURNAMES_TOO, TRADE_WORDS

FORM_WORDS = frozenset(word for form in known.LONG_FORMS for word in form)
SHORT_WORDS = frozenset(word for short in known.SHORT_FORMS for word in short.form)
FINE = TRADE_WORDS | FORM_WORDS | AFTER_FORMS
# A registration number may follow a form; what is longer may be a telephone number.
_DIGITS_AFTER = 6


def legal_form(words: Sequence[Word], country: str | None) -> str | None:
    """Give the legal form that the name carries."""
    return long_form(words, country) or _leading_form(words, country) or _short_form(words, country)


def long_form(words: Sequence[Word], country: str | None = None) -> str | None:
    """Give the form that no surname and no initials can be."""
    upper = [word.upper for word in words]
    for start, form in phrases_in(upper, known.LONG_FORMS):
        if _named(upper[:start]) and _harmless(words[start + len(form) :], words[:start], country):
            return " ".join(form).lower()
    return None


def _leading_form(words: Sequence[Word], country: str | None) -> str | None:
    upper = [word.upper for word in words]
    form = beginning(upper, known.LEADING_FORMS)
    if not form and words[0].raw.isupper():
        form = beginning(upper, known.LEADING_SHORT.get(country or "", frozenset()))
        form = form if len(upper) - len(form or ()) > 1 else None
    return " ".join(form).lower() if form and len(upper) > len(form) else None


def _short_form(words: Sequence[Word], country: str | None) -> str | None:
    upper = [word.upper for word in words]
    for short in known.SHORT_FORMS:
        if short.form[0] not in upper:
            continue
        start = len(upper) - len(short.form)
        while start > 0 and tuple(upper[start : start + len(short.form)]) != short.form:
            start -= 1
        rest = words[start + len(short.form) :]
        before = words[:start]
        if before and _harmless(rest, before, country) and _speaks(short, words, start, country):
            return " ".join(short.form).lower()
    return None


def _speaks(short: known.ShortForm, words: Sequence[Word], start: int, country: str | None) -> bool:
    """Say whether a short form is one here, and not a surname or initials."""
    mark, before = words[start], words[:start]
    own = country in short.countries
    own_words = [w for w in before if w.upper not in PARTICLES and not w.glued]
    lone_given = len(own_words) == 1 and not GIVEN_NAMES.isdisjoint(w.upper for w in before)
    if mark.glued or lone_given or len(own_words) < short.least:
        return False
    traded = is_traded(before) or (own and not short.surname and _partners(before))
    if mark.raw.istitle() and 1 < len(mark.raw) < 5 and not mark.dotted:
        return traded and own and not short.surname
    if short.surname and not own:
        return traded and (country is None or mark.dotted)
    if traded or not own:
        return traded
    if short.surname:
        sure = country in short.sure and mark.raw.isupper()
        return sure or mark.dotted or mark.parted or _mixed(mark)
    if country in known.INITIALS_CUSTOM:
        return len(own_words) > 1
    return mark.raw.isupper() or mark.dotted or mark.parted or _mixed(mark)


def _partners(before: Sequence[Word]) -> bool:
    given = any(word.upper in GIVEN_NAMES for word in before)
    return not given and any(word.joined for word in before)


def is_traded(words: Sequence[Word]) -> bool:
    """Tell whether a word of trade is among the words, or a number after the first."""
    for at, word in enumerate(words):
        if word.upper in TRADE_WORDS or (at and word.raw.isdigit()):
            return True
        if at and word.upper in SURNAMES_TOO and not _family(words[at - 1]):
            return True
    return False


def _mixed(mark: Word) -> bool:
    """Tell whether a form is written as no name is: "eG", "SpA"."""
    return not (mark.raw.isupper() or mark.raw.islower() or mark.raw.istitle())


def _family(word: Word) -> bool:
    return word.upper in PARTICLES or word.upper in GIVEN_NAMES


def _named(before: Sequence[str]) -> bool:
    return any(word not in FORM_WORDS for word in before)


def _harmless(rest: Sequence[Word], before: Sequence[Word], country: str | None) -> bool:
    if sum(len(word.raw) for word in rest if word.raw.isdigit()) > _DIGITS_AFTER:
        return False
    names = [
        word.upper
        for word in rest
        if not (word.upper in FINE or word.raw.isdigit() or _acronym(word, before))
    ]
    return not names or is_place(names, country)


def _acronym(word: Word, before: Sequence[Word]) -> bool:
    """Say whether "(AMSLT)" stands for the words before it."""
    letters = iter("".join(each.upper for each in before))
    if not word.bracketed or not word.raw.isupper() or word.upper[0] != before[0].upper[0]:
        return False
    return all(letter in letters for letter in word.upper)
