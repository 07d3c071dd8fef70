"""Decide whether a name belongs to an organisation, on positive evidence only.

A name without evidence is withheld, even if it is a real firm's. A role or a shared id is no
evidence; callers leave out a register number that another name carries too. Start with
``judge_name``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from stdnum.pt import nif
from stdnum.ua import edrpou

from quality.contacts import has_contact
from quality.person_beside_firm import (
    has_person_beside_firm,
    is_given_name,
    is_personal_name,
    may_be_given_name,
    may_be_person,
    names_office_holder,
    split_names,
)
from warehouse.names import word_lists
from warehouse.names.legal_forms import LONG_FORM_WORDS, SHORT_FORM_WORDS, legal_form, long_form
from warehouse.names.public_bodies import NAMED_AFTER_PEOPLE, public_body
from warehouse.names.reading import Word, fold, leading_phrase, read_words, undisguise
from warehouse.shared.data_files import csv_rows

# Split a cell that lists several firms into their names.
#
# "A (Pty) Ltd / B CC", "A Ltd; B Ltd" and "A Ltd and B Ltd JV" are two firms each. Semicolons,
# line breaks and numbers of a list separate names wherever they occur. A slash, a comma, "and"
# and the like are parts of names too: they separate only behind a legal form, and words such as
# "and" only if a form follows as well. Nothing is established here: every part is judged by
# itself.

_SURE = re.compile(r"\s*[;|\n\r•]+\s*")
# "1. A Ltd 2. B Ltd": the number comes first or behind a space, a bracket or a letter.
_NUMBER = re.compile(r"(?:^|(?<=[\s)\].a-z]))\(?(\d{1,2})[.)]\s*(?=[^\W\d_])")
_JOINT = r"(?:joint\s+venture|j\.?\s?v\.?|j/v|consortium)"
# Words and signs between two firms; the first group needs a form on both sides.
_DOUBTFUL = re.compile(
    r"(?P<both>\s*,\s*(?:and\s+)?|\s+(?:and|y|et|e|und|ve)\s+|\s*&\s*)"
    rf"|(?<!\s\w)\s*/\s*(?!\w\b)|\s+\+\s+|\s+(?:y/o|and/or|et/ou|e/ou)\s+"
    rf"|\s+(?:in\s+(?:a\s+)?)?{_JOINT}\s+(?:with\s+)?(?=\w)",
    re.IGNORECASE,
)
_LEADING_JOINT = re.compile(rf"^{_JOINT}\s*(?:of|between|:|-)\s*", re.IGNORECASE)
_TRAILING_JOINT = re.compile(rf"[\s,–-]*[(\[]?\b(?:in\s+)?{_JOINT}[)\]]?[.\s]*$", re.IGNORECASE)
_FORM_WORDS = LONG_FORM_WORDS | SHORT_FORM_WORDS
# Longer cells are documents.
_MAX_LIST_LENGTH = 4000


@lru_cache(maxsize=1 << 14)
def listed_names(name: str, country: str | None) -> tuple[str, ...]:
    """Return the names that a cell lists; only the cell itself if it is one name."""
    if len(name) > _MAX_LIST_LENGTH:
        return (name,)
    pieces = [piece for part in _SURE.split(name) for piece in _numbered(part)]
    names = [part for piece in pieces for part in _firms(piece, country)]
    names = [stripped for part in names if (stripped := part.strip(" ,;·-–"))]
    if len(names) < 2:
        return (name,)
    first, *others, last = names
    named = (_LEADING_JOINT.sub("", first), *others, _TRAILING_JOINT.sub("", last))
    return tuple(dict.fromkeys(part for part in named if part)) or (name,)


def _numbered(text: str) -> list[str]:
    """Split at the numbers of a list, if they count from 1."""
    numbers = list(_NUMBER.finditer(text))
    if [int(number[1]) for number in numbers] != list(range(1, len(numbers) + 1)):
        return [text]
    if len(numbers) < 2 or text[: numbers[0].start()].strip():
        return [text]
    ends = [number.start() for number in numbers[1:]] + [len(text)]
    return [text[number.end() : end] for number, end in zip(numbers, ends, strict=True)]


def _firms(text: str, country: str | None) -> Iterator[str]:
    """Yield the firms of a text without sure separators."""
    start = 0
    for mark in _DOUBTFUL.finditer(text):
        before, after = text[start : mark.start()], text[mark.end() :]
        if _is_bracketed(before) or not _ends_with_form(before, country):
            continue
        if mark["both"] is not None and not _begins_with_firm(after, country):
            continue
        if read_words(fold(after)):
            yield before
            start = mark.end()
    yield text[start:]


def _is_bracketed(text: str) -> bool:
    return text.count("(") > text.count(")") or text.count("[") > text.count("]")


def _ends_with_form(text: str, country: str | None) -> bool:
    words = [word for word in read_words(fold(text)) if not word.raw.isdigit()]
    # "Ltd JV": the form of the firm comes before the word for the venture.
    if words and words[-1].upper == "JV":
        words.pop()
    return bool(words) and words[-1].upper in _FORM_WORDS and bool(legal_form(words, country))


def _begins_with_firm(text: str, country: str | None) -> bool:
    """Return whether a text begins with a firm that has a name of its own and a form."""
    mark = _DOUBTFUL.search(text)
    ends = [mark.start()] if mark else []
    # "B, S.A." is one name: without a form before the first mark, the whole text counts.
    for end in (*ends, len(text)):
        words = read_words(fold(text[:end]))
        own_name = words and words[0].upper not in word_lists.FAMILY_WORDS | _FORM_WORDS
        if own_name and legal_form(words, country):
            return True
    return False


# Register numbers: those only organisations have, and those only natural persons have.
#
# Registers of business names (Botswana, Ghana, Tanzania, Uganda, Zambia), tax numbers and
# suppliers' lists include sole traders and prove nothing; in Nigeria and Kenya the letters before
# the number distinguish companies from business names (BN).

# A person's are numbers in the format of a natural person's, or of a register that lists no one
# else. Of UA-EDR, eight digits are a legal entity's, and ten the tax number of an entrepreneur.

_ORGANISATION_NUMBERS, _PERSONAL_NUMBERS = (
    {
        row["scheme"]: row["pattern"]
        for row in csv_rows(__name__, "register_numbers")
        if row["of"] == of
    }
    for of in ("organisation", "person")
)


def is_organisation_number(scheme: str | None, identifier: str | None) -> bool:
    """Return whether the number is in a register that lists organisations only."""
    number = _normalised(identifier)
    pattern = _ORGANISATION_NUMBERS.get(scheme or "")
    # A number of nothing but zeros is a placeholder.
    if not pattern or not re.fullmatch(pattern, number) or not re.search("[1-9]", number):
        return False
    # A few digits alone prove little: the check digit must fit, too.
    is_valid = {"PT-NIPPC": nif.is_valid, "UA-EDR": edrpou.is_valid}.get(scheme or "")
    return is_valid is None or is_valid(number)


def is_personal_number(scheme: str | None, identifier: str | None) -> bool:
    """Return whether the number can only be a natural person's."""
    pattern = _PERSONAL_NUMBERS.get((scheme or "").upper())
    return bool(pattern and re.fullmatch(pattern, _normalised(identifier)))


def _normalised(identifier: str | None) -> str:
    return (identifier or "").strip().upper()


# Anything longer is a document, not a name.
_MAX_LENGTH = 1000


@dataclass(frozen=True)
class Evidence:
    """Why a name is an organisation's: the rule, and what it matched."""

    rule: str
    match: str

    def __str__(self) -> str:
        return f"{self.rule}:{self.match}"


@dataclass(frozen=True)
class Withheld:
    """Why a name is not served."""

    rule: str


Verdict = Evidence | Withheld


# The same buyers and suppliers recur in many releases.
@lru_cache(maxsize=1 << 16)
def judge_name(
    name: str, *, country: str | None, scheme: str | None, identifier: str | None
) -> Verdict:
    """Return the evidence that a name is an organisation's, or why it is withheld.

    ``country`` is where the party is registered, ``scheme`` and ``identifier`` its register number.
    """
    verdict = _by_evidence(name, country and country.upper(), scheme, identifier)
    # A name that is withheld anyway needs no second reason.
    if isinstance(verdict, Evidence) and has_contact(name):
        return Withheld("contact_in_name")
    return verdict


@lru_cache(maxsize=1 << 16)
def party_names(name: str, country: str | None) -> tuple[str, ...]:
    """Return the names that a cell with a party's name holds, each to be judged by itself.

    Lists of firms are split. Of "Acme Ltd t/a Jane Doe" only the company remains, since what it
    trades as may be a person's name.
    """
    region = country and country.upper()
    return tuple(_without_trade_name(part, region) for part in listed_names(name, region))


def _without_trade_name(name: str, country: str | None) -> str:
    mark = _TRADING_AS.search(name.upper())
    # The upper case of a few letters is longer: then the mark is not where it was found.
    if mark is None or len(name.upper()) != len(name):
        return name
    company = name[: mark.start()].strip(" ,–-")
    # One word may be a given name, well-known or not.
    verdict = judge_name(name, country=country, scheme=None, identifier=None)
    trade_name = read_words(fold(name[mark.end() :]))
    if isinstance(verdict, Evidence) and not may_be_given_name(trade_name):
        return name
    verdict = judge_name(company, country=country, scheme=None, identifier=None)
    return company if verdict.rule == "legal_form" else name


def personal_name_rule(name: str, country: str | None, *, is_listed: bool = False) -> str | None:
    """Return the rule by which another name of an organisation is a person's, or None.

    Its register vouches for the organisation, so lack of evidence is no reason to drop a name.
    A former sole proprietor, or a person's name noted next to the organisation's own, is caught by
    a title, a sole trader's phrase, a contact, names side by side or a well-known given name. Of
    a listed issuer (``is_listed``), names side by side need such a given name too.
    """
    if len(name) > _MAX_LENGTH:
        return "too_long"
    text, country = fold(name), country and country.upper()
    if has_contact(name):
        return "contact_in_name"
    visible = _visible(text)
    if veto := _veto(text, visible, country):
        return veto
    company = trading_company(visible, country) or visible
    names = [read_words(part) for part in split_names(company)]
    if any(has_person_beside_firm(words, country, is_listed=is_listed) for words in names):
        return "several_names"
    if is_listed:
        names = [words for words in names if not legal_form(words, country)]
    if any(is_personal_name(words, country) for words in names):
        return "several_names" if len(names) > 1 else "personal_name"
    return None


def drop_personal_names(
    names: Iterable[str], country: str | None, jurisdiction: str | None
) -> tuple[list[str], list[str]]:
    """Return the other names that may be stored, and why each dropped one was, without the name."""
    accepted, reasons = [], []
    region = country or (jurisdiction or "")[:2] or None
    for name in names:
        if rule := personal_name_rule(name, region):
            words = rule.replace("_", " ")
            reasons.append(f"an other name is left out, since it may be a person's: {words}")
        else:
            accepted.append(name)
    return accepted, reasons


def _by_evidence(
    name: str, country: str | None, scheme: str | None, identifier: str | None
) -> Verdict:
    if len(name) > _MAX_LENGTH:
        return Withheld("too_long")
    text = fold(name)
    if not read_words(text):
        return Withheld("no_name")
    if is_personal_number(scheme, identifier):
        return Withheld("number_of_a_person")
    visible = _visible(text)
    # Vetoes come before evidence: "Mr J Smith t/a Acme Ltd" has a legal form too.
    if veto := _veto(text, visible, country):
        return Withheld(veto)
    # A company is established by its own name, not by the name under which it trades.
    if company := trading_company(visible, country):
        text = visible = company
    names = [read_words(part) for part in split_names(visible)]
    if is_organisation_number(scheme, identifier):
        # The number is the firm's; a second name may still be a person's.
        several = len(names) > 1 and any(is_personal_name(words, country) for words in names)
        return Withheld("several_names") if several else Evidence("register", str(scheme))
    if any(has_person_beside_firm(words, country) for words in names):
        return Withheld("several_names")
    verdict = _by_name(text, country)
    # Evidence found in a text with letters that only look Latin must also hold for what it looks
    # like; a name in another script as a whole is no disguise.
    if isinstance(verdict, Evidence) and visible != text:
        return _by_name(visible, country)
    return verdict


def _visible(text: str) -> str:
    """Return what a folded name looks like; one in another script as a whole is no disguise."""
    return undisguise(text) if _LATIN.search(text) else text


def _by_name(text: str, country: str | None) -> Verdict:
    verdicts = [_by_single_name(part, country) for part in split_names(text)]
    withheld = [verdict for verdict in verdicts if isinstance(verdict, Withheld)]
    if withheld and len(verdicts) > 1:
        return Withheld("several_names")
    return verdicts[0] if verdicts else Withheld("no_name")


def _by_single_name(text: str, country: str | None) -> Verdict:
    words = read_words(text)
    if form := legal_form(words, country):
        return Evidence("legal_form", form)
    if body := public_body(text, words, country):
        return Evidence("public_body", body)
    return Withheld("no_evidence")


def _phrase_pattern(text: str) -> str:
    loose = re.escape(text).replace("/", r"\s?[/\\]\s?").replace(r"\ ", r"\s+")
    return loose + ("" if text.endswith("/") else r"(?!\w)")


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(_phrase_pattern(text) for text in texts)})")


_SOLE_TRADER = _any_of(word_lists.SOLE_TRADER_PHRASES)
_EASTERN_SOLE_TRADER = _any_of(word_lists.EASTERN_SOLE_TRADER_PHRASES)
_REPRESENTATIVE = _any_of(word_lists.REPRESENTATIVE_PHRASES)
# Also glued to the form before it, with OCR errors, and "ta" between two names.
_TRADING_AS = re.compile(
    rf"{_any_of(word_lists.TRADING_AS_PHRASES).pattern}|(?<=LTD)T\s?/\s?A(?!\w)"
    r"|(?<!\w)TRA[DO]\w{2,4}[\s-]+A[S5](?!\w)|(?<=\w)\s+TA\s+(?=\w)"
)
_LATIN = re.compile("[A-Za-z]")


def trading_company(text: str, country: str | None) -> str | None:
    """Return the company in a folded "Company Ltd t/a Name"; None if it is not one.

    The part before must be established by its legal form, and the part after must be neither a
    possible full name of a person nor a well-known given name alone.
    """
    mark = _TRADING_AS.search(text.upper())
    if mark is None:
        return None
    company, trade_name = text[: mark.start()], text[mark.end() :]
    words, traded = read_words(company), read_words(trade_name)
    if not words or not legal_form(words, country) or has_person_beside_firm(words, country):
        return None
    is_personal = may_be_person(traded, country) or is_given_name(traded)
    is_doubtful = is_personal and not legal_form(traded, country)
    if not traded or is_doubtful or len(split_names(company)) > 1:
        return None
    is_vetoed = any(_veto(part, part, country) for part in (company, trade_name))
    return None if is_vetoed else company


def _veto(text: str, visible: str, country: str | None) -> str | None:
    """Return the rule by which a name is a person's whatever else it contains, or None.

    ``visible`` is what the folded ``text`` looks like.
    """
    upper, words = visible.upper(), read_words(visible)
    if _SOLE_TRADER.search(upper) or _EASTERN_SOLE_TRADER.search(text.upper()):
        return "sole_trader"
    if _TRADING_AS.search(upper) and not trading_company(visible, country):
        return "sole_trader"
    if _has_patronymic(read_words(text)):
        return "patronymic"
    if _REPRESENTATIVE.search(upper):
        return "acts_for_another"
    if _has_title(words):
        return "personal_title"
    return "office_holder" if names_office_holder(words) else None


def _has_patronymic(words: Sequence[Word]) -> bool:
    """Return whether a word is a patronymic, not an adjective as in "Верховна Рада"."""
    return any(
        word.upper.endswith(word_lists.PATRONYMIC_ENDINGS)
        and word.upper not in word_lists.NO_PATRONYMICS
        for word in words
    )


def _has_title(words: Sequence[Word]) -> bool:
    first = next((word.upper for word in words if not word.raw.isdigit()), "")
    titled = not word_lists.TITLES.isdisjoint(word.upper for word in words) and not _is_named_after(
        words
    )
    # "MS Traders Ltd" and "M y F Traders": initials of a firm, and a title only without a form.
    paired = len(words) > 2 and len(words[0].raw) == len(words[2].raw) == 1
    loosely_titled = first in word_lists.LOOSE_TITLES and not long_form(words) and not paired
    return titled or first in word_lists.FIRST_TITLES or loosely_titled


def _is_named_after(words: Sequence[Word]) -> bool:
    return leading_phrase([word.upper for word in words], NAMED_AFTER_PEOPLE) is not None
