"""Rule out text without contacts cheaply, before any contact pattern is run.

Most text has no contact, and searching for whole contacts takes fifty times as long as looking
for what they begin with. ``may_have_contact`` looks for those beginnings in one text, on its
UTF-8 bytes decoded as Latin-1 (one character per byte), in which substring search is fastest.
``texts_with_contact`` first runs one automaton over many texts. Neither may miss a contact that
a pattern of ``contact_patterns`` would match.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc


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
# anything else becomes "a", and characters that may stand between digits are deleted. A number
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
