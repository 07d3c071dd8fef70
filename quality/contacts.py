"""Contacts: what they look like, whether a name has one, and how they are removed from free text.

Patterns say what a contact looks like; a filter before them spares most text the search for one.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from warehouse.names.legal_forms import FIRM_WORDS
from warehouse.names.reading import as_displayed
from warehouse.names.word_lists import IMPERSONAL_WORDS, word_set

# What a contact looks like in free text, as regular expressions.
#
# A name in a sentence without a title or a word for a contact is not recognised. A pattern added
# here needs its first words in the filter below too.

_TITLE = (
    r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Adv|Eng|Engr|Sr|Sra|Dra|Srta|Mme|Mlle|Monsieur|Madame"
    r"|Señora?|Senhora?)"
)

# Each begins at the start of a word, so that no other position is tried.
_AT = r"[(\[{]\s?(?:at|arroba|arobase)\s?[)\]}]"
_DOT = r"\s?(?:\.|[(\[{]\s?(?:dot|punto|ponto|point)\s?[)\]}])\s?[a-z][\w-]*"
_EMAIL = (
    # Possessive quantifiers (*+, ++) never backtrack: a portal's text must not make a search take
    # minutes.
    r"(?<![^\s@])[^\s@]*+@[^\s@]+|@[^\s@]+"
    r"|(?<![\w.+-])[\w.+-]++(?:\s?[@＠﹫]\s?[\w-]+(?:" + _DOT + r")+|[＠﹫][\w.-]+"
    r"|\s?" + _AT + r"\s?[\w-]+(?:" + _DOT + r")*"
    r"|\s(?:at|arroba|arobase)\s[\w-]+(?:\s(?:dot|punto|ponto|point)\s[a-z][\w-]*)+)"
)

# What announces a contact. It ends with the sentence, the line or a semicolon; a full stop after a
# title or an initial does not end a sentence.
_ANNOUNCED = (
    r"\b(?:(?:contact|liaison)\s+(?:person|persons|people|officer|details|name|number|no)s?\b"
    r"|(?:technical |general |bid |scm |all |any )*(?:enquir(?:y|ies)|inquir(?:y|ies)|queries)"
    r"(?:\s+(?:must|may|can|should) be (?:directed|addressed|sent|made) to\b"
    r"|\s*(?=:|-|–|(?:to|with)\b|" + _TITLE + r"\b|(?:[^\W\d]+[\s,.]+){1,4}[+(]?\d{3}))"
    r"|(?:for )?attention\s*(?=:|-|–)|attn\b|att\s*(?=:)|contacts?\s*(?=:|-|–|" + _TITLE + r"\b)"
    r"|(?:contacto|contato|consultas|responsable|persona de contacto|pessoa de conta(?:c)?to"
    r"|personne (?:a|à) contacter|personne de contact|atenci[óo]n|aten[çc][ãa]o|a/c|respons[áa]vel"
    r"|esclarecimentos|renseignements|interlocuteur|encargad[oa])\s*(?=:|-\s|–)"
    r"|(?:(?:\w*اتصال)|الشخص المسؤول|المسؤول|هاتف|جوال)\s*(?=:))"
)
_CONTACT = _ANNOUNCED + r"(?:(?:\b(?:" + _TITLE[3:-1] + r"|\w)\.)|[^\n;.]|\.(?=\S))*"

# A name, unless it is that of a street, a body or a program that includes a title.
_NO_NAME = (
    r"(?i:District|Local|Metropolitan|Municipality|Hospital|Clinic|School|Street|Road|Drive|Avenue"
    r"|Ave|Ltd|Limited|Nig|Co|Company|Office|Word|Excel|Access|Project|SQL|Teams|Windows)\b"
)
_NAME = r"(?:\s+(?!" + _NO_NAME + r")(?:[A-Z]\.?|[^\W\d_a-z][\w'’-]+)(?![\w]))"
_NO_BODY = r"(?!\s" + _NO_NAME + r")"
_NO_STREET = (
    r"(?<!Rua )(?<!Avenida )(?<!Av\. )(?<!Escola )(?<!Maternidade )(?<!Hospital )(?<!Street )"
    r"(?<!Largo )(?<!Calle )(?<!Rue )"
)
_PERSON = (
    r"\b(?:Mr|Mrs|Ms|Miss|MR|MRS|MS)\b\.?(?:" + _NAME + r")++"
    r"|\b"
    + _NO_STREET
    + r"(?:Dr|DR|Prof|PROF|Adv|ADV|Engr|ENGR|Mme|MME|Mlle|Monsieur|Madame|Sr|Sra|Srta|Dra"
    r"|Señora?|Senhora?)\b\.?(?:" + _NAME + r")++" + _NO_BODY + r"|\b[Cc]ontact(?:" + _NAME + r")++"
    r"(?=,?\s+(?:at|on|via|by|tel|e-?mail|[\d+(]|\S+@))"
    r"|(?:\b[Ff]or(?:\sthe)?\s|\bl['’])[Aa]ttention(?:\s(?:of|de))?(?:" + _NAME + r"){2,4}+"
    r"|\bA[Tt][Tt]\.(?:" + _NAME + r"){2,4}+"
    r"|\b(?:[Pp]repared by|[Cc]ompiled by|[Aa]pproved by|[Mm]anager|[Ll]eader|[Ss]upervisor"
    r"|[Uu]ser|[Bb]uyer)\s?:(?:" + _NAME + r"){2,4}+(?!\s+(?:of|de|do|da|for)\b)"
)

# A labelled number, an international one, or a local one that begins with 0 and is grouped like a
# telephone number. A number within a reference, a date or an amount is not one.
_LABELLED = (
    r"\b(?:tel(?:ephone|efone|éfono|efono)?|t[ée]l(?:[ée]phone)?|phone|cell(?:phone)?|mobile|fax"
    r"|whatsapp|celular|cel|m[óo]vil|telefax|pbx|ligar|ligue|llamar|llame|appeler"
    r"|appelez)\b\.?\s*(?:fijo|le|al|para|m[óo]vil)?\b\s*"
    r"(?:no\b|nos\b|number\b|n[úu]mero\b|n[º°])?[.:\s-]*\+?\(?\d[\d\s()./-]{5,}\d"
    r"|\bwa\.me/\+?\d+"
)
# Tender numbers look like telephone numbers: one after such a word stays in the text.
_NO_REFERENCE = (
    r"(?<!no )(?<!no\. )(?<!ref )(?<!ref\. )(?<!rfq )(?<!bid )(?<!ref: )(?<!no: )(?<!rfp )(?<!-)"
)
_ABROAD = (
    r"(?<![\w+])" + _NO_REFERENCE + r"(?:\+|00)\s?[1-9]\d{0,2}[\s()./-]{0,3}"
    r"(?:\d[\s()./-]{0,2}){6,11}\d(?!\w)"
)
_LOCAL = (
    r"(?<![\w/.,-])" + _NO_REFERENCE + r"(?:\(0\d{1,4}\)\s?\d{3,4}[\s-]?\d{3,4}"
    r"|0\d{2,3}[\s.-]\d{3,4}[\s.-]?\d{3,4}|0\d{9,10}|0\d(?:[ .]\d{2}){4}"
    r"|\([1-9]\d\)\s?9?\d{4}-\d{4})(?![\w/]|[.,]\d|-\d)"
)

# A Colombian mobile number is ten digits on their own; an amount ends in zeros or has a currency
# sign.
_MOBILE = (
    r"(?<![\w/.,$-])(?<![$€£] )" + _NO_REFERENCE + r"(?<!cop )(?<!cod )(?<!cod: )"
    r"3(?:0[0-5]|1\d|2[0-4]|33|5[01])(?:\d{3}(?!0000)\d{4}|[\s-]\d{3}[\s-]?\d{4})"
    r"(?![\w/]|[.,]\d|-\d)"
)

CONTACT = re.compile(_CONTACT, re.IGNORECASE)
PERSON = re.compile(_PERSON)
EMAIL = re.compile(_EMAIL, re.IGNORECASE)
LABELLED = re.compile(_LABELLED, re.IGNORECASE)
ABROAD = re.compile(_ABROAD, re.IGNORECASE)
LOCAL = re.compile(_LOCAL, re.IGNORECASE)
MOBILE = re.compile(_MOBILE, re.IGNORECASE)


# Rule out text without contacts cheaply, before any contact pattern is run.
#
# Most text has no contact, and searching for whole contacts takes fifty times as long as looking
# for what they begin with. ``may_have_contact`` looks for those beginnings in one text, on its
# UTF-8 bytes decoded as Latin-1 (one character per byte), in which substring search is fastest.
# ``texts_with_contact`` first runs one automaton over many texts. Neither may miss a contact that
# a pattern would match.


def _as_bytes(*words: str) -> tuple[str, ...]:
    return tuple(word.encode().decode("latin-1") for word in words)


# What announces a contact before a colon. Lower-casing bytes leaves capitals with accents as they
# are, so those are listed too.
_LABELS = _as_bytes(
    *("manager", "leader", "supervisor", "user", "buyer", "prepared by", "compiled by"),
    *("approved by", "atencion", "atención", "atenciÓn", "atencao", "atenção", "atenÇÃo", "a/c"),
    *("responsavel", "responsável", "responsÁvel", "esclarecimentos", "renseignements"),
    *("interlocuteur", "encargado", "encargada", "att"),
)
_WIDE_AT = _as_bytes("＠", "﹫")
_ARABIC = _as_bytes("تصال", "مسؤول", "هاتف", "جوال")
(_SENOR,) = _as_bytes("eñor")

# Translation table: digits become "0", as do all bytes of other scripts, which may be digits too;
# anything else becomes "a", and characters that may come between digits are deleted. A number
# long enough for a telephone then shows as a run of zeros.
_DIGITS = bytes(48 if byte in b"0123456789" or byte >= 0x80 else 97 for byte in range(256))
_BETWEEN_DIGITS = b"()./- \t\n\r\v\f\x1c\x1d\x1e\x1f"
_DIGIT_RUN = b"0" * 6
LONG_NUMBER = re.compile(r"\d[\d\s()./-]{5,}\d")
# Translation table: a blank for every punctuation character, since a title is a word by itself,
# and "m" for "d" and "s", so that Mr, Dr and Sr take one search: "miss" becomes "mimm".
_LETTERS = bytes(
    109 if byte in b"ds" else byte if byte >= 0x80 or chr(byte).isalnum() else 32
    for byte in range(256)
)
_SHORT_TITLES = (" mr ", " mrm ", " mra ", " mrta ")
_MS = re.compile(r"\bms\b")

# The automaton of ``texts_with_contact``: RE2 here knows no letters but ASCII, so a text with any
# other character always passes.
_POSSIBLE = (
    r"[^\x00-\x7f]|@|conta|liaison|attention|attn|consultas|responsable|nquir|queries"
    r"|[(\[{]at[)\]}]|arroba| dot |(?:^|[^a-z0-9])(?:mrs?|ms|miss|dra?|sra?|srta|prof|adv|engr|att)"
    r"(?:[^a-z0-9]|$)|(?:manager|leader|supervisor|user|buyer|by|atencion|atencao|a/c|responsavel"
    r"|esclarecimentos|renseignements|interlocuteur|encargad[oa]|att)[\s\x0b\x1c-\x1f]*:"
    r"|\d[\d\s\x0b\x1c-\x1f()./-]{5,}\d"
)


def texts_with_contact(texts: list[str]) -> list[int]:
    """Return the indices of the texts that may contain a contact."""
    # RE2 runs over the whole column without the interpreter, and cannot backtrack.
    possible = pc.match_substring_regex(pa.array(texts, pa.string()), _POSSIBLE, ignore_case=True)
    indices: list[int] = pc.indices_nonzero(possible).to_pylist()
    return [index for index in indices if may_have_contact(texts[index])]


def may_have_contact(text: str) -> bool:
    """Return whether any contact can begin in a text; in most text none can."""
    # JSON can escape a lone surrogate, which strict UTF-8 refuses to encode.
    raw = text.encode("utf-8", "surrogatepass")
    if _DIGIT_RUN in raw.translate(_DIGITS, _BETWEEN_DIGITS) and LONG_NUMBER.search(text):
        return True
    raw = raw.lower()
    lower = raw.decode("latin-1")
    words = f" {raw.translate(_LETTERS).decode('latin-1')} "
    if announces_contact(lower, words) or has_title(lower, words) or has_address(lower, words):
        return True
    # Longer in bytes than in characters: the text is not ASCII.
    return len(raw) > len(text) and has_foreign_mark(lower, words)


def searchable(text: str) -> tuple[str, str]:
    """Return the two forms the predicates below search: lower case, and words between blanks."""
    raw = text.encode("utf-8", "surrogatepass").lower()
    return raw.decode("latin-1"), f" {raw.translate(_LETTERS).decode('latin-1')} "


def announces_contact(lower: str, words: str) -> bool:
    """Return whether a text contains a word that announces a contact."""
    if "conta" in lower or "consultas" in lower or "responsable" in lower or "liaison" in lower:
        return True
    if "q" in lower and ("nquir" in lower or "queries" in lower):
        return True
    if " att" in words and (" attention " in words or " attn " in words or " att " in words):
        return True
    return ":" in lower and any(part.rstrip().endswith(_LABELS) for part in lower.split(":")[:-1])


def has_title(lower: str, words: str) -> bool:
    """Return whether a text contains a personal title."""
    if " mr" in words and any(map(words.__contains__, _SHORT_TITLES)):
        return True
    if " mm " in words and "ms" in lower and _MS.search(lower):
        return True
    return " mimm " in words or " prof " in words or " amv " in words or " engr " in words


def has_address(lower: str, words: str) -> bool:
    """Return whether a text contains an e-mail address, as it is or spelled out."""
    if "@" in lower or "arroba" in lower or (" mot " in words and " dot " in lower):
        return True
    if "(" in lower and "(at)" in lower:
        return True
    return ("[" in lower and "[at]" in lower) or ("{" in lower and "{at}" in lower)


def has_foreign_mark(lower: str, words: str) -> bool:
    """Return whether a text contains an at sign, title or announcement that is not ASCII."""
    if "\xef" in lower and any(map(lower.__contains__, _WIDE_AT)):
        return True
    if "\xd9" in lower and any(map(lower.__contains__, _ARABIC)):
        return True
    if " mme " in words or " monmieur " in words:
        return True
    return _SENOR in lower or " menhor" in words or "arobas" in lower


# Detect a contact in a name: an e-mail address, a telephone number or a contact's name.
#
# "Jane Doe 082 555 1234 Acme (Pty) Ltd" ends in a legal form and still names a person. A number
# given by a register is no telephone number: it comes first ("1234567 Ontario Inc"), is one word
# with a letter ("K2013123456 (South Africa) (Pty) Ltd") or follows its label ("NIT 900123456").

_CONTACT_PATTERNS = (CONTACT, EMAIL, LABELLED, ABROAD, LOCAL, MOBILE)
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
    return any(_ANNOUNCEMENT.match(match[0]) for match in PERSON.finditer(text))


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


_NUMBER_LABELS = tuple(
    word.encode().decode("latin-1")
    for word in (
        *("tel", "tél", "phone", "cel", "mobile", "fax", "whatsapp", "movil", "móvil", "pbx"),
        *("call", "dial", "lig", "llam", "appel", "wa.me"),
    )
)
# What a contact is recognised by, anywhere in a text and as a word of its own (in the second form
# of ``searchable``), and how much of the contact can come before that.
_ANYWHERE = (
    *("conta", "consultas", "responsable", "liaison", "nquir", "queries", ":", "@", "arroba"),
    *(" dot ", "(at)", "[at]", "{at}"),
)
_AS_WORD = (" att", " mr", " mm ", " mimm ", " prof ", " amv ", " engr ")
_MAX_BEFORE = 128
_BLANKS = re.compile(r"[ \t]{2,}")
_BLANKS_BEFORE_PUNCTUATION = re.compile(r" +(?=[.,;:)\n])")
# Zero-width characters, with which an address can be hidden from the patterns.
_ZERO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def remove_contacts(text: str) -> str:
    """Return the text without contacts; text that has none is returned unchanged."""
    if not may_have_contact(text):
        return text
    # Invisible characters must not split an address into harmless parts.
    visible = text if text.isascii() else _ZERO_WIDTH.sub("", text)
    start = _search_start(visible)
    before, rest = visible[:start], visible[start:]
    # Removing one contact can join the parts of another: repeat until nothing changes.
    while True:
        shorter = _remove_once(rest)
        if shorter == rest:
            break
        rest = _squeeze_blanks(shorter)
    if rest == visible[start:]:
        return text
    # A sentence that began with a contact now begins with its punctuation.
    return (before + _squeeze_blanks(rest)).strip().lstrip(".,;: ")


def _search_start(text: str) -> int:
    """Return where the search starts: well before the first thing a contact begins with.

    Positions in bytes are positions in the text only if it is ASCII; other text is searched whole.
    """
    if not text.isascii():
        return 0
    lower, words = searchable(text)
    positions = [at for mark in _ANYWHERE if (at := lower.find(mark)) >= 0]
    positions += [at for mark in _AS_WORD if (at := words.find(mark)) >= 0]
    if number := LONG_NUMBER.search(text):
        positions.append(number.start())
    first = min(positions, default=0)
    return max(text.rfind(" ", 0, max(first - _MAX_BEFORE, 0)), 0)


def _remove_once(text: str) -> str:
    """Remove what the patterns match, running only those that can match."""
    lower, words = searchable(text)
    foreign = not text.isascii() and has_foreign_mark(lower, words)
    announced = foreign or announces_contact(lower, words)
    if announced:
        text = CONTACT.sub(" ", text)
    if announced or has_title(lower, words):
        text = PERSON.sub(" ", text)
    if foreign or has_address(lower, words):
        text = EMAIL.sub(" ", text)
    # Again, since removing contacts may have removed the only number.
    if not LONG_NUMBER.search(text):
        return text
    if any(map(lower.__contains__, _NUMBER_LABELS)):
        text = LABELLED.sub(" ", text)
    if "+" in lower or "00" in lower:
        text = ABROAD.sub(" ", text)
    text = LOCAL.sub(" ", text)
    return MOBILE.sub(" ", text) if "3" in lower else text


def _squeeze_blanks(text: str) -> str:
    if "  " in text or "\t" in text:
        text = _BLANKS.sub(" ", text)
    return _BLANKS_BEFORE_PUNCTUATION.sub("", text)
