"""Free text without contacts: e-mails, telephone numbers and "contact person" parts are cut.

A name that stands in a sentence without a title or a contact word is not recognised here.
"""

import re
from dataclasses import dataclass

_TITLE = r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Adv|Eng|Sr|Sra|Dra|Srta|Mme|Mlle)"

# Each begins where its word does: no start within a word is tried.
_EMAIL = (
    r"(?<![^\s@])[^\s@]*+@[^\s@]+|@[^\s@]+"
    r"|(?<![\w.+-])[\w.+-]++\s?(?:@|\(at\)|\[at\])"
    r"\s?[\w-]+(?:\s?(?:\.|\(dot\)|\[dot\])\s?[a-z][\w-]*)+"
)

# What a contact is announced by; the part ends with its sentence, its line or a semicolon.
# A full stop after a title or an initial ends no sentence.
_ANNOUNCED = (
    r"\b(?:(?:contact|liaison)\s+(?:person|persons|people|officer|details|name|number|no)s?\b"
    r"|(?:technical |general |bid |scm |all |any )*(?:enquir(?:y|ies)|inquir(?:y|ies)|queries)"
    r"(?:\s+(?:to|(?:must|may|can|should) be directed to))?"
    r"\s*(?=:|-|–|(?:to|with)\b|" + _TITLE + r"\b)"
    r"|(?:for )?attention\s*(?=:|-|–)|attn\b|contacts?\s*(?=:|-|–|" + _TITLE + r"\b)"
    r"|(?:contacto|contato|consultas|responsable|persona de contacto|pessoa de contacto"
    r"|personne (?:a|à) contacter|personne de contact)\s*(?=:|-|–))"
)
_CONTACT = _ANNOUNCED + r"(?:(?:\b(?:" + _TITLE[3:-1] + r"|\w)\.)|[^\n;.]|\.(?=\S))*"

_NAME = r"(?:\s+(?:[A-Z]\.?|[A-Z][\w'’-]+)(?![\w]))+"
_PERSON = (
    r"\b(?:Mr|Mrs|Ms|Miss|MR|MRS|MS)\b\.?"
    + _NAME
    + r"|\b[Cc]ontact"
    + _NAME
    + r"(?=,?\s+(?:at|on|via|by|tel|e-?mail|[\d+(]|\S+@))"
)

# A labelled number, an international one, a local one that begins with 0 and is grouped as
# telephone numbers are. A number inside a reference, a date or an amount is none.
_LABELLED = (
    r"\b(?:tel(?:ephone|efone|éfono|efono)?|t[ée]l(?:[ée]phone)?|phone|cell(?:phone)?|mobile|fax"
    r"|whatsapp|celular|m[óo]vil|telefax)\b\.?\s*(?:no|nos|number|n[úu]mero)?\b[.:\s-]*"
    r"\+?\(?\d[\d\s()./-]{5,}\d"
)
_ABROAD = r"(?<![\w+])(?:\+|00)\s?[1-9]\d{0,2}[\s()./-]{0,3}(?:\d[\s()./-]{0,2}){6,11}\d(?!\w)"
_LOCAL = (
    r"(?<![\w/.,-])(?<!no )(?<!no\. )(?<!ref )(?<!rfq )(?<!bid )(?<!ref: )(?<!no: )"
    r"(?:\(0\d{1,4}\)\s?\d{3,4}[\s-]?\d{3,4}|0\d{2,3}[\s-]\d{3,4}[\s-]?\d{3,4}|0\d{9,10}"
    r"|0\d(?:[ .]\d{2}){4})"
    r"(?![\w/]|[.,]\d|-\d)"
)

# A Colombian mobile number stands alone, ten digits; an amount ends in zeros or has a sign.
_MOBILE = (
    r"(?<![\w/.,$-])(?<![$€£] )(?<!no )(?<!no\. )(?<!ref )(?<!rfq )(?<!bid )(?<!ref: )(?<!no: )"
    r"(?<!cop )(?<!cod )(?<!cod: )"
    r"3(?:0[0-5]|1\d|2[0-4]|33|5[01])(?:\d{3}(?!0000)\d{4}|[\s-]\d{3}[\s-]?\d{4})"
    r"(?![\w/]|[.,]\d|-\d)"
)


@dataclass(frozen=True)
class _Cut:
    """What is cut, and what a text must hold for it to begin: one of the words, a number."""

    pattern: re.Pattern[str]
    words: tuple[str, ...]
    number: bool = False

    def of(self, text: str) -> str:
        """Give the text without it."""
        begins = any(map(text.casefold().__contains__, self.words))
        if not begins or (self.number and _number(text) is None):
            return text
        return self.pattern.sub(" ", text)


_ANNOUNCERS = (
    *("contact", "contato", "liaison", "nquir", "queries", "attention", "attn"),
    *("consultas", "responsable"),
)
_LABELS = (
    *("tel", "tél", "phone", "cell", "mobile", "fax", "whatsapp", "celular", "movil", "móvil"),
)
_MARKS = ("@", "(at)", "[at]")
_CUTS = (
    _Cut(re.compile(_CONTACT, re.IGNORECASE), _ANNOUNCERS),
    _Cut(re.compile(_PERSON), ("mr", "ms", "miss", "contact")),
    _Cut(re.compile(_EMAIL, re.IGNORECASE), _MARKS),
    _Cut(re.compile(_LABELLED, re.IGNORECASE), _LABELS, number=True),
    _Cut(re.compile(_ABROAD, re.IGNORECASE), ("+", "00"), number=True),
    _Cut(re.compile(_LOCAL, re.IGNORECASE), ("0",), number=True),
    _Cut(re.compile(_MOBILE, re.IGNORECASE), ("3",), number=True),
)
_BEGINNINGS = (*_ANNOUNCERS, *_MARKS)
# What can stand between the beginning of a cut and the word that it is known by.
_BEFORE = 64

# The beginnings that the words above share, so that fewer are looked for in all text.
_ANYWHERE = ("conta", "liaison", "attention", "attn", "consultas", "responsable")
_TITLED = re.compile(r"m(?<!\wm)(?:rs?|s|iss)\b")

# Digits, all made one, and what may stand between them; bytes of other scripts may be either.
_DIGITS = bytes(48 if each in b"0123456789" or each >= 0x80 else 97 for each in range(256))
_BETWEEN = b"()./- \t\n\r\v\f\x1c\x1d\x1e\x1f"
_RUN = b"0" * 6
_NUMBER = re.compile(r"\d[\d\s()./-]{5,}\d")


def clean(text: str) -> str:
    """Give the text without contacts; text that holds none comes back as it was."""
    if not suspect(text):
        return text
    start = _first(text)
    before, rest = text[:start], text[start:]
    while suspect(rest):
        shorter = rest
        for cut in _CUTS:
            shorter = cut.of(shorter)
        if shorter == rest:
            break
        rest = _squeezed(shorter)
    return text if before + rest == text else _tidied(before + rest)


def _first(text: str) -> int:
    """Say from where on a text is searched: well before the first that a cut begins with."""
    folded, number = text.casefold(), _number(text)
    titled = _TITLED.search(folded)
    places = [at for word in _BEGINNINGS if (at := folded.find(word)) >= 0]
    places += [] if number is None else [number]
    places += [titled.start()] if titled else []
    # casefold may lengthen a text, and then its places are not those of the text
    first = min(places) if places and len(folded) == len(text) else 0
    return max(text.rfind(" ", 0, max(first - _BEFORE, 0)), 0)


def suspect(text: str) -> bool:
    """Tell whether any of the cuts can begin: in most text none can."""
    folded = text.casefold()
    if "@" in folded or _number(text) is not None or any(map(folded.__contains__, _ANYWHERE)):
        return True
    if "q" in folded and ("nquir" in folded or "queries" in folded):
        return True
    if ("(" in folded and "(at)" in folded) or ("[" in folded and "[at]" in folded):
        return True
    titled = "ms" in folded or "mr" in folded or "miss" in folded
    return titled and _TITLED.search(folded) is not None


def _number(text: str) -> int | None:
    """Say where the first run of digits stands that is long enough for a telephone number."""
    if _RUN not in text.encode("utf-8", "surrogatepass").translate(_DIGITS, _BETWEEN):
        return None
    found = _NUMBER.search(text)
    return found.start() if found else None


def _tidied(text: str) -> str:
    return _squeezed(text).strip().lstrip(".,;: ")


def _squeezed(text: str) -> str:
    return re.sub(r" +(?=[.,;:)\n])", "", re.sub(r"[ \t]{2,}", " ", text))
