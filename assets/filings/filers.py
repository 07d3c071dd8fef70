"""Filers of the SEC: their ids, their names, and the reports that make them issuers."""

import re

from assets.entities.identifiers import mint
from assets.parsing.strict import printable_text

# Including transition periods (10-KT) and discontinued forms (10-K405, 10-KSB).
_FORMS = ("10-K", "10-KT", "10-K405", "10-KT405", "10-KSB", "10-KSB40", "20-F", "20-FT", "40-F")
ANNUAL_REPORTS = frozenset(form + amendment for form in _FORMS for amendment in ("", "/A"))

_CIK = re.compile(r"[0-9]{1,10}")


def cik_of(cik: object) -> str:
    """Return a CIK, which older files write as a number, in ten digits as EDGAR pads it."""
    digits = str(cik).strip()
    if isinstance(cik, bool) or not _CIK.fullmatch(digits):
        raise ValueError(f"{cik!r:.60} is not a CIK")
    return digits.zfill(10)


def service_id_of(cik: object) -> str:
    """Return the service_id of a CIK: 1 and 0000000001 are one filer."""
    return mint("cik", cik_of(cik))


def folded_name(value: object) -> str:
    """Return a name with white space of any kind, such as no-break spaces, as single spaces."""
    return printable_text(" ".join(value.split()) if isinstance(value, str) else value)
