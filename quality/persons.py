"""Whether a name is established to be an organisation's: positive evidence only.

A name without evidence is withheld, a real firm's too. A role or a shared id is no
evidence; whoever calls this leaves out a register number that another name bears as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from stdnum.pt import nif

from quality import legal_forms as known
from quality.names import Word, beginning, fold, is_place, phrases_in, read


@dataclass(frozen=True)
class Evidence:
    """Why a name is an organisation's: the rule, and what it found."""

    rule: str
    found: str

    def __str__(self) -> str:
        return f"{self.rule}:{self.found}"


@dataclass(frozen=True)
class Withheld:
    """Why a name is not served."""

    rule: str


Verdict = Evidence | Withheld


def established(
    name: str,
    *,
    country: str | None,
    scheme: str | None,
    identifier: str | None,
    lei_category: str | None = None,
) -> Verdict:
    """Say by which evidence a name is an organisation's, or why it is withheld.

    ``country`` is where the party is registered, ``scheme`` and ``identifier`` its register
    number, ``lei_category`` the EntityCategory of its LEI record: an LEI alone says nothing.
    """
    return _judged(name, country and country.upper(), scheme, identifier, lei_category)


@lru_cache(maxsize=1 << 16)
def _judged(
    name: str,
    country: str | None,
    scheme: str | None,
    identifier: str | None,
    lei_category: str | None,
) -> Verdict:
    words = read(name)
    if not words:
        return Withheld("no_name")
    if lei_category == "SOLE_PROPRIETOR":
        return Withheld("sole_proprietor")
    if veto := _veto(name, words):
        return Withheld(veto)
    if lei_category:
        return Evidence("lei", lei_category.lower())
    if number := _register(scheme, identifier):
        return number
    return _by_name(name, words, country)


def _by_name(name: str, words: Sequence[Word], country: str | None) -> Verdict:
    several = [each for each in _SEVERAL.split(name) if read(each)]
    if len(several) > 1:
        found = [_by_name(each, read(each), country) for each in several]
        alone = any(isinstance(each, Withheld) for each in found)
        return Withheld("several_names") if alone else found[0]
    form = _long_form(words) or _leading_form(words) or _short_form(words, country)
    if form:
        beside = _someone_beside(words)
        return Withheld("several_names") if beside else Evidence("legal_form", form)
    if body := _public(name, words, country):
        return Evidence("public_body", body)
    return Withheld("no_evidence")


def _phrase(text: str) -> str:
    loose = re.escape(text).replace("/", r"\s?[/\\]\s?").replace(r"\ ", r"\s+")
    return loose + ("" if text.endswith("/") else r"(?!\w)")


_SEVERAL = re.compile(r"[;|]|(?<!\bA)/|/(?!S\b)")
_SOLE = re.compile(rf"(?<!\w)(?:{'|'.join(_phrase(each) for each in known.SOLE_TRADER)})")
_IMPERSONAL = known.TRADE_WORDS | known.DEPARTMENTS
_PARTS = re.compile(r"[,;:()–—/]|\s-|-\s")


def _veto(name: str, words: Sequence[Word]) -> str | None:
    upper = [word.upper for word in words]
    if _SOLE.search(fold(name).upper()):
        return "sole_trader"
    named_after = beginning(upper, known.PUBLIC_BEGINNINGS)
    if not named_after and not known.TITLES.isdisjoint(upper):
        return "personal_title"
    if upper[0] in known.LOOSE_TITLES and not _long_form(words):
        return "personal_title"
    return None


def _register(scheme: str | None, identifier: str | None) -> Evidence | None:
    number = (identifier or "").strip().upper()
    shape = known.REGISTERS.get(scheme or "")
    if not shape or not re.fullmatch(shape, number) or not re.search("[1-9]", number):
        return None
    if scheme == "PT-NIPPC" and not nif.is_valid(number):
        return None
    return Evidence("register", str(scheme))


def _long_form(words: Sequence[Word]) -> str | None:
    upper = [word.upper for word in words]
    for start, form in phrases_in(upper, known.LONG_FORMS):
        if _named(upper[:start]) and _harmless(words[start + len(form) :], words[:start]):
            return " ".join(form).lower()
    return None


def _leading_form(words: Sequence[Word]) -> str | None:
    upper = [word.upper for word in words]
    form = beginning(upper, known.LEADING_FORMS)
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
        if start > 0 and _harmless(rest, words[:start]) and _speaks(short, words, start, country):
            return " ".join(short.form).lower()
    return None


def _speaks(short: known.ShortForm, words: Sequence[Word], start: int, country: str | None) -> bool:
    """Say whether a short form is one here, and not a surname or initials."""
    mark, before = words[start], words[:start]
    own = country in short.countries
    traded = _traded(before) or (not short.surname and any(word.joined for word in before))
    if mark.raw.istitle() and 1 < len(mark.raw) < 5 and not mark.dotted:
        return traded and own and not short.surname
    if short.surname and not own:
        return traded and (country is None or mark.dotted)
    if traded or not own:
        return traded
    if short.surname:
        return mark.dotted or mark.parted
    if country in known.INITIALS_CUSTOM:
        return len([word for word in before if word.upper not in known.PARTICLES]) > 1
    return mark.raw.isupper()


def _traded(before: Sequence[Word]) -> bool:
    return any(word.upper in known.TRADE_WORDS or word.raw.isdigit() for word in before)


def _public(name: str, words: Sequence[Word], country: str | None) -> str | None:
    upper = [word.upper for word in words]
    if tuple(upper) in known.PUBLIC_BODIES.get(country or "", ()):
        return "list"
    office = upper[:2] == ["OFFICE", "OF"]
    if not office and not known.OFFICE_HOLDERS.isdisjoint(upper):
        return None
    parts = [[word.upper for word in read(part)] for part in _PARTS.split(fold(name))]
    parts = [part for part in parts if part]
    found = next((body for part in parts if (body := _body(part))), None)
    found = found or _department(parts, country)
    harmless = all(len(part) == 1 or _impersonal(part, country) for part in parts)
    return found if harmless else None


def _body(part: Sequence[str]) -> str | None:
    anywhere = next(phrases_in(part, known.PUBLIC_WORDS, first=0), None)
    if anywhere:
        return " ".join(anywhere[1]).lower()
    begins = beginning(part, known.PUBLIC_BEGINNINGS)
    return " ".join(begins).lower() if begins and len(part) > len(begins) else None


def _department(parts: Sequence[Sequence[str]], country: str | None) -> str | None:
    if len(parts) < 2 or not is_place(parts[0], country):
        return None
    named = [word for word in parts[1] if word in known.DEPARTMENTS]
    return named[0].lower() if named else None


def _impersonal(part: Sequence[str], country: str | None) -> bool:
    if _body(part) or is_place(part, country):
        return True
    return not _IMPERSONAL.isdisjoint(part)


_FORM_WORDS = frozenset(word for form in known.LONG_FORMS for word in form)


_FINE = known.TRADE_WORDS | _FORM_WORDS | known.AFTER_FORMS


_NO_NAMES = _FINE | known.NOBODY


def _someone_beside(words: Sequence[Word]) -> bool:
    """Say whether what is joined to a firm by "and" may be the name of a person.

    Two to four words, none of them of trade, and after the "and" a name of its own.
    """
    at = next((at for at, word in enumerate(words) if word.upper in known.AND), 0)
    left, right = words[:at], words[at + 1 :]
    if not 1 < len(left) < 5 or not right:
        return False
    plain = all(each.raw.isalpha() and each.upper not in _NO_NAMES for each in left)
    return plain and _named_itself(right)


def _named_itself(words: Sequence[Word]) -> bool:
    own = [word for word in words if word.upper not in _FINE and word.upper not in known.KIN]
    return bool(own) and own[0] is words[0]


def _named(before: Sequence[str]) -> bool:
    return any(word not in _FORM_WORDS for word in before)


def _harmless(rest: Sequence[Word], before: Sequence[Word]) -> bool:
    return all(word.upper in _FINE or word.raw.isdigit() or _acronym(word, before) for word in rest)


def _acronym(word: Word, before: Sequence[Word]) -> bool:
    """Say whether "(AMSLT)" stands for the words before it."""
    letters = iter("".join(each.upper for each in before))
    if not word.bracketed or not word.raw.isupper() or word.upper[0] != before[0].upper[0]:
        return False
    return all(letter in letters for letter in word.upper)
