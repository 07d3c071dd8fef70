"""Whether a name is established to be an organisation's: positive evidence only.

A name without evidence is withheld, a real firm's too. A role or a shared id is no
evidence; whoever calls this leaves out a register number that another name bears as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from quality import registers
from quality.contact_in_name import reaches_someone
from quality.legal_form_rules import legal_form, long_form
from quality.names import Word, beginning, fold, read, skeleton
from quality.person_beside_firm import (
    holds_an_office,
    is_named_as_a_person,
    parties,
    someone_beside,
)
from quality.person_words import ACTS_FOR, FIRST_TITLES, LOOSE_TITLES, SOLE_TRADER, TITLES
from quality.public_bodies import public_body
from quality.public_words import NAMED_AFTER_SOMEONE

# The categories of an LEI record that are no natural person's.
_CATEGORIES = frozenset(
    ["GENERAL", "FUND", "BRANCH", "RESIDENT_GOVERNMENT_ENTITY", "INTERNATIONAL_ORGANIZATION"]
)

# What is longer is a document, not a name.
_LONGEST = 1000


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
    verdict = _by_evidence(name, country, scheme, identifier, lei_category)
    if isinstance(verdict, Evidence) and reaches_someone(name):
        return Withheld("contact_in_name")
    return verdict


def named_person(name: str, country: str | None) -> str | None:
    """Say by which rule another name of an organisation is a person's; None where it is not.

    Its register vouches for the organisation, so a name without evidence is no fault. One that
    was a sole proprietor before, or has a person's name noted beside its own, is caught by a
    title, a trade of one's own, a contact, names side by side or a known given name.
    """
    if len(name) > _LONGEST:
        return "too_long"
    text, country = fold(name), country and country.upper()
    if reaches_someone(name):
        return "contact_in_name"
    shown = skeleton(text)
    if veto := _veto(shown):
        return veto
    words = [read(each) for each in parties(shown)]
    if any(someone_beside(each, country) for each in words):
        return "several_names"
    if any(is_named_as_a_person(each, country) for each in words):
        return "several_names" if len(words) > 1 else "personal_name"
    return None


def _by_evidence(
    name: str,
    country: str | None,
    scheme: str | None,
    identifier: str | None,
    lei_category: str | None,
) -> Verdict:
    if len(name) > _LONGEST:
        return Withheld("too_long")
    text = fold(name)
    if not read(text):
        return Withheld("no_name")
    category = (lei_category or "").strip().upper()
    if category == "SOLE_PROPRIETOR":
        return Withheld("sole_proprietor")
    if registers.of_a_person(scheme, identifier):
        return Withheld("number_of_a_person")
    seen = skeleton(text)
    if veto := _veto(seen):
        return Withheld(veto)
    if category in _CATEGORIES:
        return Evidence("lei", category.lower())
    names = [read(each) for each in parties(seen)]
    if registers.of_organisations(scheme, identifier):
        several = len(names) > 1 and any(is_named_as_a_person(each, country) for each in names)
        return Withheld("several_names") if several else Evidence("register", str(scheme))
    if any(someone_beside(each, country) for each in names):
        return Withheld("several_names")
    verdict = _by_name(text, country)
    disguised = seen != text and re.search("[A-Za-z]", text)
    if isinstance(verdict, Evidence) and disguised:
        return _by_name(seen, country)
    return verdict


def _by_name(text: str, country: str | None) -> Verdict:
    verdicts = [_by_one_name(each, country) for each in parties(text)]
    withheld = [each for each in verdicts if isinstance(each, Withheld)]
    if withheld and len(verdicts) > 1:
        return Withheld("several_names")
    return verdicts[0] if verdicts else Withheld("no_name")


def _by_one_name(text: str, country: str | None) -> Verdict:
    words = read(text)
    if form := legal_form(words, country):
        return Evidence("legal_form", form)
    if body := public_body(text, words, country):
        return Evidence("public_body", body)
    return Withheld("no_evidence")


def _phrase(text: str) -> str:
    loose = re.escape(text).replace("/", r"\s?[/\\]\s?").replace(r"\ ", r"\s+")
    return loose + ("" if text.endswith("/") else r"(?!\w)")


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(_phrase(each) for each in texts)})")


_SOLE = _any_of(SOLE_TRADER)
_ACTS = _any_of(ACTS_FOR)
# Scanned "trading as", and "ta" between two names.
_TRADING = re.compile(r"(?<!\w)TRA[DO]\w{2,4}[\s-]+A[S5](?!\w)|\w\s+TA\s+\w")


def _veto(text: str) -> str | None:
    """Say what in a name speaks of a person, whatever else it holds."""
    upper, words = text.upper(), read(text)
    if _SOLE.search(upper) or _TRADING.search(upper):
        return "sole_trader"
    if _ACTS.search(upper):
        return "acts_for_another"
    if title := _title(words):
        return title
    return "office_holder" if holds_an_office(words) else None


def _title(words: Sequence[Word]) -> str | None:
    first = next((word.upper for word in words if not word.raw.isdigit()), "")
    titled = not TITLES.isdisjoint(word.upper for word in words) and not _named_after(words)
    titled = titled or first in FIRST_TITLES
    loose = first in LOOSE_TITLES and not long_form(words)
    return "personal_title" if titled or loose else None


def _named_after(words: Sequence[Word]) -> bool:
    return beginning([word.upper for word in words], NAMED_AFTER_SOMEONE) is not None
