"""Whether a name holds a way to reach someone: an e-mail address, a telephone number, a contact.

"Jane Doe 082 555 1234 Acme (Pty) Ltd" ends in a legal form and still names a person. A number
that a register gave is no telephone's: it stands first ("1234567 Ontario Inc"), is one word with
a letter ("K2013123456 (South Africa) (Pty) Ltd") or comes after the word for it ("NIT 900123456").
"""

import re

from quality import contact_patterns as patterns
from quality.free_text import suspect
from quality.legal_form_rules import FINE
from quality.name_words import words
from quality.names import seen
from quality.trade_words import NOBODY

_CUTS = (
    *(patterns.CONTACT, patterns.EMAIL, patterns.LABELLED, patterns.ABROAD, patterns.LOCAL),
    patterns.MOBILE,
)
_PLAIN_ADDRESS = re.compile(r"\sat\s+[\w-]+\.[a-z]{2,}", re.IGNORECASE)
# What announces a person. Titles are not of these: the check of names knows better which of them
# are a firm's initials, as in "MS Fictional Traders Ltd".
_ANNOUNCED = re.compile(
    r"contact|for|l['’]|att|prepared|compiled|approved|manager|leader|supervisor|user|buyer",
    re.IGNORECASE,
)

_LETTER_FOR_ZERO = re.compile(r"\b[Oo](?=\d)")
_ENOUGH_DIGITS = re.compile(r"(?:\d\D{0,3}){7}")
_NUMBER = re.compile(r"(?<!\w)(?<!\d/)\d(?:[\s.()–—*-]{0,3}\d){6,}(?!\w|/\d)")
_SLASHED = re.compile(r"(?<![\w/])0\d{1,3}/\d{3,4}[/\s-]?\d{3,4}(?![\w/])")
_YEARS = re.compile(r"(?:19|20)\d\d\D+(?:19|20)\d\d")
# A firm that has a number for a name, and the places that give such names.
_NUMBERED_FIRM = re.compile(r"(?:0?\d{6}|[1-9]\d{6,9}|\d{4}-\d{4})\W+(\w+)")
_NUMBERING = words(
    "ONTARIO QUEBEC ALBERTA CANADA BC B BRITISH MANITOBA SASKATCHEWAN NOVA NEW NEWFOUNDLAND YUKON"
    " NUNAVUT NORTHWEST PRINCE"
)
_AFTER_A_NUMBER = FINE | NOBODY | _NUMBERING
_REGISTERED = re.compile(
    r"(?:\b(?:no|nr|nos|number|reg|rc|rcs|nit|ruc|rut|rfc|cnpj|nif|nipc|nuit|cuit|vat|siren|erf"
    r"|trust|npo|npc|pbo|ck|ontario|alberta|canada|manitoba|b\W?c)\b|n[º°o]|#)[\s.:#]*$",
    re.IGNORECASE,
)


def reaches_someone(name: str) -> bool:
    """Tell whether a name holds an address, a telephone number or the word for a contact."""
    text = _LETTER_FOR_ZERO.sub("0", seen(name))
    if "@" in text or _PLAIN_ADDRESS.search(text):
        return True
    if suspect(text) and (_cut(text) or _announced(text)):
        return True
    return bool(_ENOUGH_DIGITS.search(text)) and _telephone(text)


def _cut(text: str) -> bool:
    return any(_telling(each, text) for each in _CUTS)


def _telling(cut: re.Pattern[str], text: str) -> bool:
    return any(not _of_a_register(hit, text) for hit in cut.finditer(text))


def _announced(text: str) -> bool:
    return any(_ANNOUNCED.match(hit[0]) for hit in patterns.PERSON.finditer(text))


def _telephone(text: str) -> bool:
    hits = [*_NUMBER.finditer(text), *_SLASHED.finditer(text)]
    return any(not _YEARS.fullmatch(hit[0]) and not _of_a_register(hit, text) for hit in hits)


def _of_a_register(hit: re.Match[str], text: str) -> bool:
    """Tell whether a number is one of a firm's: alone at the beginning, or after its word."""
    if not hit[0][0].isdigit():
        return False
    if hit.start() == 0:
        first = _NUMBERED_FIRM.match(text)
        return bool(first and first.start(1) > hit.end() and first[1].upper() in _AFTER_A_NUMBER)
    return _REGISTERED.search(text, 0, hit.start()) is not None
