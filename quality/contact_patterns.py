"""What a contact looks like in free text, as regular expressions.

A name in a sentence without a title or a word for a contact is not recognised. A pattern added here
needs its first words in ``contact_prefilter`` too.
"""

import re

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
