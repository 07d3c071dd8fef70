"""The number formats of inline XBRL: how a report for people writes a number.

The formats of the registries of XBRL International that state a number; others, such as words for
numbers, are not read, and a fact in one of them is rejected.
"""

import re

_REGISTRY = re.compile(r"http://www\.xbrl\.org/(?:2008/)?inlineXBRL/transformation(?:/[0-9-]+)?")
# Blanks between digits, as they occur in pages.
_BLANKS = " \u00a0\u2009\u202f"
_DOT_DECIMAL = (f",'`´’′{_BLANKS}", ".")
_COMMA_DECIMAL = (f".'`´’′{_BLANKS}", ",")
# By the name of a format without dashes: the characters between groups, and the decimal sign. The
# first registry names both; from the second on a format accepts every separator of its kind.
_GROUPED = {
    "numdotdecimal": _DOT_DECIMAL,
    "numdotdecimalapos": _DOT_DECIMAL,
    "numdotdecimalin": _DOT_DECIMAL,
    "numcommadecimal": _COMMA_DECIMAL,
    "numcommadecimalapos": _COMMA_DECIMAL,
    "numcommadot": (",", "."),
    "numdotcomma": (".", ","),
    "numspacedot": (_BLANKS, "."),
    "numspacecomma": (_BLANKS, ","),
    "numcomma": ("", ","),
}
_ZERO = frozenset({"fixedzero", "zerodash", "numdash"})
_DASHES = frozenset("-‐‑‒–—―−﹣－")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


def plain_number(text: str, namespace: str, local: str) -> str:
    """Return digits with a decimal point; ValueError if the text is not in the format."""
    name = local.replace("-", "").lower()
    if not _REGISTRY.fullmatch(namespace) or name not in {*_GROUPED, *_ZERO}:
        raise ValueError(f"the format {local!r:.40} of {namespace!r:.80} is not read")
    text = text.strip()
    if name in _ZERO:
        if name != "fixedzero" and text not in _DASHES:
            raise ValueError(f"{text!r:.40} is no dash, as the format {local} writes zero")
        return "0"
    groups, decimal = _GROUPED[name]
    digits = text.translate({ord(sign): None for sign in groups}).replace(decimal, ".")
    if not _NUMBER.fullmatch(digits):
        raise ValueError(f"{text!r:.40} is no number of the format {local}")
    return digits
