"""Free text without contacts: e-mails, telephone numbers and "contact person" parts are cut.

Most text holds none: it is looked through once for what a contact begins with. That is done on
its UTF-8 bytes, each as one character, in which looking for a word is fastest.
"""

import re

from quality import contact_patterns as patterns


def _bytes_of(*words: str) -> tuple[str, ...]:
    return tuple(word.encode().decode("latin-1") for word in words)


# What announces a contact before a colon; bytes in lower case keep capital letters with accents.
_LABELS = _bytes_of(
    *("manager", "leader", "supervisor", "user", "buyer", "prepared by", "compiled by"),
    *("approved by", "atencion", "atención", "atenciÓn", "atencao", "atenção", "atenÇÃo", "a/c"),
    *("responsavel", "responsável", "responsÁvel", "esclarecimentos", "renseignements"),
    *("interlocuteur", "encargado", "encargada", "att"),
)
_WIDE = _bytes_of("＠", "﹫")
_ARABIC = _bytes_of("تصال", "مسؤول", "هاتف", "جوال")
(_SENOR,) = _bytes_of("eñor")
_NUMBER_LABELS = _bytes_of(
    *("tel", "tél", "phone", "cel", "mobile", "fax", "whatsapp", "movil", "móvil", "pbx", "call"),
    *("dial", "lig", "llam", "appel", "wa.me"),
)

# Digits of any script made one, signs that may stand between them left out, the rest letters.
_DIGITS = bytes(48 if each in b"0123456789" or each >= 0x80 else 97 for each in range(256))
_BETWEEN = b"()./- \t\n\r\v\f\x1c\x1d\x1e\x1f"
_RUN = b"0" * 6
_NUMBER = re.compile(r"\d[\d\s()./-]{5,}\d")
# A blank for every sign, since a title is a word by itself, and m for d and s, so that Mr, Dr and
# Sr are looked for at once: "miss" is "mimm".
_LETTERS = bytes(
    109 if each in b"ds" else each if each >= 0x80 or chr(each).isalnum() else 32
    for each in range(256)
)
_SHORT_TITLES = (" mr ", " mrm ", " mra ", " mrta ")
_MS = re.compile(r"\bms\b")
# What a contact is known by, anywhere and as a word of its own (as in ``words``), and how much
# of it can stand before that.
_ANYWHERE = (
    *("conta", "consultas", "responsable", "liaison", "nquir", "queries", ":", "@", "arroba"),
    *(" dot ", "(at)", "[at]", "{at}"),
)
_ALONE = (" att", " mr", " mm ", " mimm ", " prof ", " amv ", " engr ")
_BEFORE = 128
_BLANKS = re.compile(r"[ \t]{2,}")
_BEFORE_SIGN = re.compile(r" +(?=[.,;:)\n])")
# Signs of no width, with which an address can be kept from being recognised.
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def suspect(text: str) -> bool:
    """Tell whether any of the cuts can begin: in most text none can."""
    raw = text.encode("utf-8", "surrogatepass")
    if _RUN in raw.translate(_DIGITS, _BETWEEN) and _NUMBER.search(text):
        return True
    raw = raw.lower()
    lower = raw.decode("latin-1")
    words = f" {raw.translate(_LETTERS).decode('latin-1')} "
    if _announced(lower, words) or _titled(lower, words) or _addressed(lower, words):
        return True
    return len(raw) > len(text) and _foreign(lower, words)


def _announced(lower: str, words: str) -> bool:
    """Tell whether a word stands in a text that announces a contact."""
    if "conta" in lower or "consultas" in lower or "responsable" in lower or "liaison" in lower:
        return True
    if "q" in lower and ("nquir" in lower or "queries" in lower):
        return True
    if " att" in words and (" attention " in words or " attn " in words or " att " in words):
        return True
    return ":" in lower and any(part.rstrip().endswith(_LABELS) for part in lower.split(":")[:-1])


def _titled(lower: str, words: str) -> bool:
    """Tell whether a title stands in a text."""
    if " mr" in words and any(map(words.__contains__, _SHORT_TITLES)):
        return True
    if " mm " in words and "ms" in lower and _MS.search(lower):
        return True
    return " mimm " in words or " prof " in words or " amv " in words or " engr " in words


def _addressed(lower: str, words: str) -> bool:
    """Tell whether an e-mail address stands in a text, as it is or written out."""
    if "@" in lower or "arroba" in lower or (" mot " in words and " dot " in lower):
        return True
    if "(" in lower and "(at)" in lower:
        return True
    return ("[" in lower and "[at]" in lower) or ("{" in lower and "{at}" in lower)


def _foreign(lower: str, words: str) -> bool:
    """Tell whether a sign, a title or an announcement of other languages stands in a text."""
    if "\xef" in lower and any(map(lower.__contains__, _WIDE)):
        return True
    if "\xd9" in lower and any(map(lower.__contains__, _ARABIC)):
        return True
    if " mme " in words or " monmieur " in words:
        return True
    return _SENOR in lower or " menhor" in words or "arobas" in lower


def _looked_at(text: str) -> tuple[str, str]:
    raw = text.encode("utf-8", "surrogatepass").lower()
    return raw.decode("latin-1"), f" {raw.translate(_LETTERS).decode('latin-1')} "


def clean(text: str) -> str:
    """Give the text without contacts; text that holds none comes back as it was."""
    if not suspect(text):
        return text
    seen = text if text.isascii() else _UNSEEN.sub("", text)
    start = _first(seen)
    before, rest = seen[:start], seen[start:]
    while True:
        shorter = _cut(rest)
        if shorter == rest:
            break
        rest = _squeezed(shorter)
    if rest == seen[start:]:
        return text
    return (before + _squeezed(rest)).strip().lstrip(".,;: ")


def _first(text: str) -> int:
    """Say from where on a text is searched: well before the first that a contact begins with.

    Searching for whole contacts takes fifty times as long as looking for what they begin
    with. Bytes are places only where each is a letter; other text is searched whole.
    """
    if not text.isascii():
        return 0
    lower, words = _looked_at(text)
    places = [at for each in _ANYWHERE if (at := lower.find(each)) >= 0]
    places += [at for each in _ALONE if (at := words.find(each)) >= 0]
    if number := _NUMBER.search(text):
        places.append(number.start())
    first = min(places, default=0)
    return max(text.rfind(" ", 0, max(first - _BEFORE, 0)), 0)


def _cut(text: str) -> str:
    lower, words = _looked_at(text)
    foreign = not text.isascii() and _foreign(lower, words)
    announced = foreign or _announced(lower, words)
    if announced:
        text = patterns.CONTACT.sub(" ", text)
    if announced or _titled(lower, words):
        text = patterns.PERSON.sub(" ", text)
    if foreign or _addressed(lower, words):
        text = patterns.EMAIL.sub(" ", text)
    if not _NUMBER.search(text):
        return text
    if any(map(lower.__contains__, _NUMBER_LABELS)):
        text = patterns.LABELLED.sub(" ", text)
    if "+" in lower or "00" in lower:
        text = patterns.ABROAD.sub(" ", text)
    text = patterns.LOCAL.sub(" ", text)
    return patterns.MOBILE.sub(" ", text) if "3" in lower else text


def _squeezed(text: str) -> str:
    if "  " in text or "\t" in text:
        text = _BLANKS.sub(" ", text)
    return _BEFORE_SIGN.sub("", text)
