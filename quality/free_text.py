"""Free text without contacts: e-mails, telephone numbers and "contact person" parts are cut.

A name that stands in a sentence without a title or a contact word is not recognised here.
"""

import re

_TITLE = r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Adv|Eng|Sr|Sra|Dra|Srta|Mme|Mlle)"

_EMAIL = (
    r"[^\s@]*@[^\s@]+"
    r"|[\w.+-]+\s?(?:@|\(at\)|\[at\])\s?[\w-]+(?:\s?(?:\.|\(dot\)|\[dot\])\s?[a-z][\w-]*)+"
)

# What a contact is announced by; the part ends with its sentence, its line or a semicolon.
# A full stop after a title or an initial ends no sentence.
_ANNOUNCED = (
    r"(?:\b(?:contact|liaison)\s+(?:person|persons|people|officer|details|name|number|no)s?\b"
    r"|\b(?:technical |general |bid |scm |all |any )*(?:enquir(?:y|ies)|inquir(?:y|ies)|queries)"
    r"(?:\s+(?:to|(?:must|may|can|should) be directed to))?"
    r"\s*(?=:|-|–|(?:to|with)\b|" + _TITLE + r"\b)"
    r"|\b(?:for )?attention\s*(?=:|-|–)|\battn\b|\bcontacts?\s*(?=:|-|–|" + _TITLE + r"\b)"
    r"|\b(?:contacto|contato|consultas|responsable|persona de contacto|pessoa de contacto"
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

_CUTS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (_CONTACT, re.IGNORECASE),
        (_PERSON, 0),
        (_EMAIL, re.IGNORECASE),
        (_LABELLED, re.IGNORECASE),
        (_ABROAD, re.IGNORECASE),
        (_LOCAL, re.IGNORECASE),
    )
)

# Text in which none of the cuts can begin: most of it.
_SUSPECT = re.compile(
    r"[@+]|\[at\]|\(at\)|contact|contato|liaison|quir|queries|attention|attn|consultas|responsable"
    r"|\d[\d\s()./-]{6,}\d|\b(?:mr|mrs|ms|miss)\b",
    re.IGNORECASE,
)


def clean(text: str) -> str:
    """Give the text without contacts; text that holds none comes back as it was."""
    while _SUSPECT.search(text):
        shorter = text
        for cut in _CUTS:
            shorter = cut.sub(" ", shorter)
        if shorter == text:
            break
        text = _tidied(shorter)
    return text


def _tidied(text: str) -> str:
    text = re.sub(r"[ \t]{2,}", " ", text)
    text = re.sub(r" +(?=[.,;:)\n])", "", text)
    return text.strip().lstrip(".,;: ")
