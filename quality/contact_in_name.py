"""Detect a contact in a name: an e-mail address, a telephone number or a contact's name.

"Jane Doe 082 555 1234 Acme (Pty) Ltd" ends in a legal form and still names a person. A number
given by a register is no telephone number: it stands first ("1234567 Ontario Inc"), is one word
with a letter ("K2013123456 (South Africa) (Pty) Ltd") or follows its label ("NIT 900123456").
"""

import re

from quality import contact_patterns as patterns
from quality.contact_prefilter import may_have_contact
from warehouse.names.legal_forms import FIRM_WORDS
from warehouse.names.reading import as_displayed
from warehouse.names.word_lists import IMPERSONAL_WORDS, word_set

_CONTACT_PATTERNS = (
    *(patterns.CONTACT, patterns.EMAIL, patterns.LABELLED, patterns.ABROAD, patterns.LOCAL),
    patterns.MOBILE,
)
_SPELLED_ADDRESS = re.compile(r"\sat\s+[\w-]+\.[a-z]{2,}", re.IGNORECASE)
# What announces a person. Titles are not among them: the check of names knows better which of
# them are a firm's initials, as in "MS Fictional Traders Ltd".
_ANNOUNCEMENT = re.compile(
    r"contact|for|l['’]|att|prepared|compiled|approved|manager|leader|supervisor|user|buyer",
    re.IGNORECASE,
)

_LETTER_FOR_ZERO = re.compile(r"\b[Oo](?=\d)")
_SEVEN_DIGITS = re.compile(r"(?:\d\D{0,3}){7}")
_NUMBER = re.compile(r"(?<!\w)(?<!\d/)\d(?:[\s.()–—*-]{0,3}\d){6,}(?!\w|/\d)")
_SLASHED_NUMBER = re.compile(r"(?<![\w/])0\d{1,3}/\d{3,4}[/\s-]?\d{3,4}(?![\w/])")
# "2019/2020" or "2019 - 2020" is a fiscal year, though it has as many digits as a telephone number.
_TWO_YEARS = re.compile(r"(?:19|20)\d\d\D+(?:19|20)\d\d")
# Numbered companies, and the Canadian jurisdictions that give companies a number for a name.
_NUMBERED_COMPANY = re.compile(r"(?:0?\d{6}|[1-9]\d{6,9}|\d{4}-\d{4})\W+(\w+)")
_NUMBERING_JURISDICTIONS = word_set(
    "ONTARIO QUEBEC ALBERTA CANADA BC B BRITISH MANITOBA SASKATCHEWAN NOVA NEW NEWFOUNDLAND YUKON"
    " NUNAVUT NORTHWEST PRINCE"
)
_AFTER_COMPANY_NUMBER = FIRM_WORDS | IMPERSONAL_WORDS | _NUMBERING_JURISDICTIONS
_REGISTER_LABEL = re.compile(
    r"(?:\b(?:no|nr|nos|number|reg|rc|rcs|nit|ruc|rut|rfc|cnpj|nif|nipc|nuit|cuit|vat|siren|erf"
    r"|trust|npo|npc|pbo|ck|ontario|alberta|canada|manitoba|b\W?c)\b|n[º°o]|#)[\s.:#]*$",
    re.IGNORECASE,
)


def has_contact(name: str) -> bool:
    """Return whether a name contains an address, a telephone number or a word for a contact."""
    # "O82 555 1234", as it is typed or recognised by OCR.
    text = _LETTER_FOR_ZERO.sub("0", as_displayed(name))
    if "@" in text or _SPELLED_ADDRESS.search(text):
        return True
    if may_have_contact(text) and (_matches_contact(text) or _announces_person(text)):
        return True
    return bool(_SEVEN_DIGITS.search(text)) and _has_telephone(text)


def _matches_contact(text: str) -> bool:
    return any(
        not _is_register_number(match, text)
        for pattern in _CONTACT_PATTERNS
        for match in pattern.finditer(text)
    )


def _announces_person(text: str) -> bool:
    return any(_ANNOUNCEMENT.match(match[0]) for match in patterns.PERSON.finditer(text))


def _has_telephone(text: str) -> bool:
    numbers = [*_NUMBER.finditer(text), *_SLASHED_NUMBER.finditer(text)]
    return any(
        not _TWO_YEARS.fullmatch(number[0]) and not _is_register_number(number, text)
        for number in numbers
    )


def _is_register_number(match: re.Match[str], text: str) -> bool:
    """Return whether a number is a firm's: alone at the beginning, or after its label."""
    if not match[0][0].isdigit():
        return False
    # The word after it decides: "0825551234 Smith" begins with a number too, and that is a
    # person's.
    if match.start() == 0:
        company = _NUMBERED_COMPANY.match(text)
        return bool(
            company
            and company.start(1) > match.end()
            and company[1].upper() in _AFTER_COMPANY_NUMBER
        )
    return _REGISTER_LABEL.search(text, 0, match.start()) is not None
