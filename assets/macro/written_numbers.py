"""Numbers as tables write them, with marks of thousands and either decimal mark."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from assets.parsing.strict import number_from_text

DecimalMark = Literal[".", ","]

_THOUSANDS = {
    ".": re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?"),
    ",": re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?"),
}
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


def written_number(text: str, mark: DecimalMark) -> Decimal:
    """Read a number digit for digit; marks of thousands are no part of it."""
    if _THOUSANDS[mark].fullmatch(text):
        text = text.replace("," if mark == "." else ".", "")
    return number_from_text(text.replace(",", ".") if mark == "," else text)


def decimal_mark_of(texts: Iterable[str]) -> DecimalMark:
    """Return the decimal mark of a file that should have points; raise if it could be either.

    A program of another country may have saved it again with commas. A single ``1,234`` does not
    tell, but ``-6,24`` and ``1101,445`` do.
    """
    points = commas = undecided = 0
    for text in texts:
        by_point = "," not in text or _THOUSANDS["."].fullmatch(text) is not None
        by_comma = _DECIMAL_COMMA.fullmatch(text) or _THOUSANDS[","].fullmatch(text)
        points += by_point and "." in text
        commas += not by_point and by_comma is not None
        undecided += by_point and "," in text and by_comma is not None
    if points and commas:
        raise ValueError("some values have a decimal point and others a decimal comma")
    if undecided and not points and not commas:
        raise ValueError("the commas of the values could be decimal marks or marks of thousands")
    return "," if commas else "."
