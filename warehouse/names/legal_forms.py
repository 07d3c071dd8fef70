"""Recognise a legal form in a name: the forms (ISO 20275 and African registries) and the rules.

Long forms count anywhere; a short form is often a surname or initials too, so it counts only
where the law of the country knows it or a word of trade precedes it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from warehouse.names import word_lists
from warehouse.names.reading import Word, is_region, leading_phrase, phrases_in
from warehouse.shared.data_files import csv_rows


@dataclass(frozen=True)
class ShortForm:
    """A form of two or three letters: elsewhere a surname, or someone's initials.

    It counts by itself only in ``countries``, whose law knows it. If it ``is_surname`` there too,
    it needs dots or a comma before it; in the countries ``sure_in``, capitals are enough. At least
    ``min_words_before`` words must precede it. ``in_any_case``: written like a name ("Cc"), it is
    none either.
    """

    form: tuple[str, ...]
    countries: frozenset[str]
    is_surname: bool = False
    min_words_before: int = 1
    sure_in: frozenset[str] = frozenset()
    in_any_case: bool = False


# Neither a surname nor initials: evidence at the end of a name, anywhere.
LONG_FORMS = word_lists.listed_phrases("long_forms")

# Forms that come before the name.
LEADING_FORMS = word_lists.listed_phrases("leading_forms")

# Countries that share a legal tradition, by the name that the tables of forms have for them.
_COUNTRIES = {
    row["tradition"]: row["countries"].split() for row in csv_rows(__name__, "legal_traditions")
}


def _countries(text: str) -> frozenset[str]:
    return frozenset(code for word in text.split() for code in _COUNTRIES.get(word, (word,)))


SHORT_FORMS = tuple(
    ShortForm(
        tuple(row["form"].split()),
        _countries(row["countries"]),
        row["is_surname"] == "yes",
        int(row["min_words_before"] or 1),
        _countries(row["sure_in"]),
        row["in_any_case"] == "yes",
    )
    for row in csv_rows(__name__, "short_forms")
)

# Forms of two or three letters that come before the name where the law knows them.
# "IP" is no evidence in Moldova: a public institution or, from the Russian, a sole trader.
LEADING_SHORT: dict[str, set[word_lists.Phrase]] = defaultdict(set)
for _row in csv_rows(__name__, "leading_short_forms"):
    for _country in _countries(_row["countries"]):
        LEADING_SHORT[_country].add(tuple(_row["form"].split()))

# Firms of partners are named by several surnames, those of a profession with initials; elsewhere
# two plain words next to a firm are a person.
PROFESSIONS_FORMS = word_lists.word_set("LLP LLLP PLLC PC ATTORNEYS ADVOCATES")
PARTNERS_FORMS = PROFESSIONS_FORMS | word_lists.word_set("INC INCORPORATED LLC")

# Where people are listed as "Surname Initials": one word and two letters prove nothing.
INITIALS_CUSTOM = word_lists.word_set(
    "ZA NA LS SZ BW ZW ZM MW KE UG TZ RW NG GH SL LR GM MU IN GB IE NL FI"
)

LONG_FORM_WORDS = frozenset(word for form in LONG_FORMS for word in form)
# Words of forms that name nothing by themselves.
_NAMELESS = LONG_FORM_WORDS - word_lists.word_set(
    "COMPANY TRUST NATIONAL COMMUNITY CREDIT UNION SHARE"
)
SHORT_FORM_WORDS = frozenset(word for short in SHORT_FORMS for word in short.form)
# Words of firms: none of them can be the name of a person next to a form.
FIRM_WORDS = word_lists.TRADE_WORDS | LONG_FORM_WORDS | word_lists.WORDS_AFTER_FORMS
# A registration number may follow a form; a longer number may be a telephone number.
_MAX_DIGITS_AFTER = 6


def legal_form(words: Sequence[Word], country: str | None) -> str | None:
    """Return the legal form in a name, or None."""
    return long_form(words, country) or _leading_form(words, country) or _short_form(words, country)


def long_form(words: Sequence[Word], country: str | None = None) -> str | None:
    """Return the long form in a name, which is never a surname or initials, or None."""
    upper = [word.upper for word in words]
    for start, form in phrases_in(upper, LONG_FORMS):
        # "Limited" or "Pty Ltd" alone is a form without a firm.
        has_name = any(word not in _NAMELESS for word in upper[:start])
        if has_name and _is_harmless(words[start + len(form) :], words[:start], country):
            return " ".join(form).lower()
    return None


def _leading_form(words: Sequence[Word], country: str | None) -> str | None:
    upper = [word.upper for word in words]
    form = leading_phrase(upper, LEADING_FORMS)
    # Written like a name ("Sci", "Pt"), a short form may be one.
    if not form and words[0].raw.isupper():
        form = leading_phrase(upper, frozenset(LEADING_SHORT.get(country or "", ())))
        form = form if len(upper) - len(form or ()) > 1 else None
    return " ".join(form).lower() if form and len(upper) > len(form) else None


def _short_form(words: Sequence[Word], country: str | None) -> str | None:
    upper = [word.upper for word in words]
    for short in SHORT_FORMS:
        if short.form[0] not in upper:
            continue
        # The last occurrence: a form ends a name.
        start = len(upper) - len(short.form)
        while start > 0 and tuple(upper[start : start + len(short.form)]) != short.form:
            start -= 1
        rest = words[start + len(short.form) :]
        before = words[:start]
        if before and _is_harmless(rest, before, country) and _counts(short, words, start, country):
            return " ".join(short.form).lower()
    return None


def _counts(short: ShortForm, words: Sequence[Word], start: int, country: str | None) -> bool:
    """Return whether a short form at ``start`` is a form, and not a surname or initials."""
    form, before = words[start], words[:start]
    at_home = country in short.countries
    own_words = [w for w in before if w.upper not in word_lists.PARTICLES and not w.is_glued]
    lone_given_name = len(own_words) == 1 and not word_lists.GIVEN_NAMES.isdisjoint(
        w.upper for w in before
    )
    # "Peter SA" may be a person whose surname is Sa.
    if form.is_glued or lone_given_name or len(own_words) < short.min_words_before:
        return False
    of_firm = has_trade_word(before) or (
        at_home and not short.is_surname and _names_partners(before)
    )
    # "Sa" written like a name needs a word of trade, at home, and must not be a surname there.
    is_like_name = form.raw.istitle() and 1 < len(form.raw) < 5 and not form.dotted
    if is_like_name and not short.in_any_case:
        return of_firm and at_home and not short.is_surname
    if short.is_surname and not at_home:
        return of_firm and (country is None or form.dotted)
    if of_firm or not at_home:
        return of_firm
    if short.is_surname:
        sure = country in short.sure_in and form.raw.isupper()
        return sure or form.dotted or form.is_parted or _is_mixed_case(form)
    if country in INITIALS_CUSTOM:
        return len(own_words) > 1
    return form.raw.isupper() or form.dotted or form.is_parted or _is_mixed_case(form)


def _names_partners(before: Sequence[Word]) -> bool:
    has_given_name = any(word.upper in word_lists.GIVEN_NAMES for word in before)
    return not has_given_name and any(word.is_joined for word in before)


def has_trade_word(words: Sequence[Word]) -> bool:
    """Return whether the words include a word of trade, or a number after the first word."""
    for index, word in enumerate(words):
        if word.upper in word_lists.TRADE_WORDS or (index and word.raw.isdigit()):
            return True
        if (
            index
            and word.upper in word_lists.TRADE_SURNAMES
            and not _precedes_surname(words[index - 1])
        ):
            return True
    return False


def _is_mixed_case(word: Word) -> bool:
    """Return whether a form is written as no name is: "eG", "SpA"."""
    return not (word.raw.isupper() or word.raw.islower() or word.raw.istitle())


def _precedes_surname(word: Word) -> bool:
    return word.upper in word_lists.PARTICLES or word.upper in word_lists.GIVEN_NAMES


def _is_harmless(rest: Sequence[Word], before: Sequence[Word], country: str | None) -> bool:
    """Return whether what follows a form can be neither a telephone number nor a name."""
    if sum(len(word.raw) for word in rest if word.raw.isdigit()) > _MAX_DIGITS_AFTER:
        return False
    names = [
        word.upper
        for word in rest
        if not (word.upper in FIRM_WORDS or word.raw.isdigit() or _is_acronym(word, before))
    ]
    return not names or is_region(names, country)


def _is_acronym(word: Word, before: Sequence[Word]) -> bool:
    """Return whether a bracketed word such as "(AMSLT)" abbreviates the words before it."""
    letters = iter("".join(earlier.upper for earlier in before))
    if not word.is_bracketed or not word.raw.isalpha() or word.upper[0] != before[0].upper[0]:
        return False
    # "Productos de Seguridad S.A. (Prodeseg)"; a short word in small letters may be a name.
    if not word.raw.isupper() and (len(word.raw) < 6 or word.upper in word_lists.GIVEN_NAMES):
        return False
    # ``in`` consumes the iterator: the letters must occur in this order.
    return all(letter in letters for letter in word.upper)
