"""Whether a text is an identifier as its standard writes it, check digits included."""

import re

from stdnum import figi as figis
from stdnum import isin as isins
from stdnum import lei as leis

_LEI = re.compile("[A-Z0-9]{18}[0-9]{2}")
_ISIN = re.compile("[A-Z]{2}[A-Z0-9]{9}[0-9]")
_FIGI = re.compile("[A-Z0-9]{11}[0-9]")


def is_lei(text: str) -> bool:
    """Say whether a text is an LEI (ISO 17442); one with blanks or dashes in it is none."""
    return _LEI.fullmatch(text) is not None and leis.is_valid(text)


def is_isin(text: str) -> bool:
    """Say whether a text is an ISIN (ISO 6166)."""
    return _ISIN.fullmatch(text) is not None and isins.is_valid(text)


def is_figi(text: str) -> bool:
    """Say whether a text is a FIGI."""
    return _FIGI.fullmatch(text) is not None and figis.is_valid(text)
