"""Whether a name is established to be an organisation's: positive evidence only.

A name without evidence is withheld, a real firm's too. A role or a shared id is no
evidence; whoever calls this leaves out a register number that another name bears as well.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pycountry
from stdnum.pt import nif

from quality import legal_forms as known


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


@dataclass(frozen=True)
class _Word:
    upper: str
    raw: str
    dotted: bool
    parted: bool
    joined: bool
    bracketed: bool


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
    words = _read(name)
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


def _by_name(name: str, words: Sequence[_Word], country: str | None) -> Verdict:
    several = [each for each in _SEVERAL.split(name) if _read(each)]
    if len(several) > 1:
        found = [_by_name(each, _read(each), country) for each in several]
        alone = any(isinstance(each, Withheld) for each in found)
        return Withheld("several_names") if alone else found[0]
    form = _long_form(words) or _leading_form(words) or _short_form(words, country)
    if form:
        return Evidence("legal_form", form)
    if body := _public(name, words, country):
        return Evidence("public_body", body)
    return Withheld("no_evidence")


def _phrase(text: str) -> str:
    loose = re.escape(text).replace("/", r"\s?[/\\]\s?").replace(r"\ ", r"\s+")
    return rf"(?<!\w){loose}" + ("" if text.endswith("/") else r"(?!\w)")


_SEVERAL = re.compile(r"[;|]|(?<!\bA)/|/(?!S\b)")
_DOTS = re.compile(r"(?<!\w)(?:(?:\w{1,2}\.)+\w{1,2}(?!\w)\.?|(?:\w\. )+\w\.(?!\w))|\bA/S\b")
_WORD = re.compile(r"[^\W_]+·?")
_SOLE = re.compile("|".join(_phrase(each) for each in known.SOLE_TRADER))
_PARTS = re.compile(r"[,;:()–—/]|\s-|-\s")


def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    bare = "".join(each for each in plain if not unicodedata.combining(each))
    return _DOTS.sub(lambda hit: re.sub(r"[\W_]", "", hit[0]) + "·", bare)


def _read(name: str) -> tuple[_Word, ...]:
    """Read the words of a name; "S.A." is one word, and is known to have had dots."""
    text = _fold(name)
    words: list[_Word] = []
    end = 0
    for hit in _WORD.finditer(text):
        raw = hit[0].rstrip("·")
        between = text[end : hit.start()]
        parted = "," in between or "–" in between or " - " in between
        joined, bracketed = "&" in between, "(" in between
        words.append(_Word(raw.upper(), raw, hit[0] != raw, parted, joined, bracketed))
        end = hit.end()
    return tuple(words)


def _veto(name: str, words: Sequence[_Word]) -> str | None:
    upper = [word.upper for word in words]
    if _SOLE.search(_fold(name).upper()):
        return "sole_trader"
    named_after = _begins(upper, known.PUBLIC_BEGINNINGS)
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


def _long_form(words: Sequence[_Word]) -> str | None:
    upper = [word.upper for word in words]
    for start, form in _found(upper, known.LONG_FORMS):
        if _named(upper[:start]) and _harmless(words[start + len(form) :], words[:start]):
            return " ".join(form).lower()
    return None


def _leading_form(words: Sequence[_Word]) -> str | None:
    upper = [word.upper for word in words]
    form = _begins(upper, known.LEADING_FORMS)
    return " ".join(form).lower() if form and len(upper) > len(form) else None


def _short_form(words: Sequence[_Word], country: str | None) -> str | None:
    upper = [word.upper for word in words]
    for short in known.SHORT_FORMS:
        start = len(upper) - len(short.form)
        while start > 0 and tuple(upper[start : start + len(short.form)]) != short.form:
            start -= 1
        rest = words[start + len(short.form) :]
        if start > 0 and _harmless(rest, words[:start]) and _speaks(short, words, start, country):
            return " ".join(short.form).lower()
    return None


def _speaks(
    short: known.ShortForm, words: Sequence[_Word], start: int, country: str | None
) -> bool:
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


def _traded(before: Sequence[_Word]) -> bool:
    return any(word.upper in known.TRADE_WORDS or word.raw.isdigit() for word in before)


def _public(name: str, words: Sequence[_Word], country: str | None) -> str | None:
    upper = [word.upper for word in words]
    if tuple(upper) in known.PUBLIC_BODIES.get(country or "", ()):
        return "list"
    office = upper[:2] == ["OFFICE", "OF"]
    if not office and not known.OFFICE_HOLDERS.isdisjoint(upper):
        return None
    parts = [[word.upper for word in _read(part)] for part in _PARTS.split(_fold(name))]
    parts = [part for part in parts if part]
    found = next((body for part in parts if (body := _body(part))), None)
    found = found or _department(parts, country)
    harmless = all(len(part) == 1 or _impersonal(part, country) for part in parts)
    return found if harmless else None


def _body(part: Sequence[str]) -> str | None:
    anywhere = next(_found(part, known.PUBLIC_WORDS, first=0), None)
    if anywhere:
        return " ".join(anywhere[1]).lower()
    begins = _begins(part, known.PUBLIC_BEGINNINGS)
    return " ".join(begins).lower() if begins and len(part) > len(begins) else None


def _department(parts: Sequence[Sequence[str]], country: str | None) -> str | None:
    if len(parts) < 2 or not _is_place(parts[0], country):
        return None
    named = [word for word in parts[1] if word in known.DEPARTMENTS]
    return named[0].lower() if named else None


def _impersonal(part: Sequence[str], country: str | None) -> bool:
    if _body(part) or _is_place(part, country):
        return True
    return not (known.TRADE_WORDS | known.DEPARTMENTS).isdisjoint(part)


def _is_place(part: Sequence[str], country: str | None) -> bool:
    return " ".join(part) in _places(country) if country else False


@lru_cache(maxsize=256)
def _places(country: str) -> frozenset[str]:
    found = [each.name for each in pycountry.subdivisions if each.country_code == country]
    names = [" ".join(word.upper for word in _read(each)) for each in found]
    last = [name.rsplit(" DE ", 1)[-1] for name in names if name.startswith("DISTRITO")]
    return frozenset([*names, *last])


def _found(
    upper: Sequence[str], phrases: frozenset[tuple[str, ...]], first: int = 1
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Find phrases from the left, the longest first at each place."""
    for start in range(first, len(upper)):
        for length in range(min(6, len(upper) - start), 0, -1):
            phrase = tuple(upper[start : start + length])
            if phrase in phrases:
                yield start, phrase


def _begins(upper: Sequence[str], phrases: frozenset[tuple[str, ...]]) -> tuple[str, ...] | None:
    begun = (tuple(upper[:length]) for length in range(5, 0, -1))
    return next((phrase for phrase in begun if phrase in phrases), None)


_FORM_WORDS = frozenset(word for form in known.LONG_FORMS for word in form)


_FINE = known.TRADE_WORDS | _FORM_WORDS | known.AFTER_FORMS


def _named(before: Sequence[str]) -> bool:
    return any(word not in _FORM_WORDS for word in before)


def _harmless(rest: Sequence[_Word], before: Sequence[_Word]) -> bool:
    return all(word.upper in _FINE or word.raw.isdigit() or _acronym(word, before) for word in rest)


def _acronym(word: _Word, before: Sequence[_Word]) -> bool:
    """Say whether "(AMSLT)" stands for the words before it."""
    letters = iter("".join(each.upper for each in before))
    if not word.bracketed or not word.raw.isupper() or word.upper[0] != before[0].upper[0]:
        return False
    return all(letter in letters for letter in word.upper)
