"""Filers of the SEC: their ids, names and filings, and the reports that make them issuers."""

import re

from assets.entities.identifiers import cik_of, mint
from assets.parsing.strict import printable_text

# Including transition periods (10-KT) and discontinued forms (10-K405, 10-KSB).
_FORMS = ("10-K", "10-KT", "10-K405", "10-KT405", "10-KSB", "10-KSB40", "20-F", "20-FT", "40-F")
ANNUAL_REPORTS = frozenset(form + amendment for form in _FORMS for amendment in ("", "/A"))
_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")


def service_id_of(cik: object) -> str:
    """Return the service_id of a CIK: 1 and 0000000001 are one filer."""
    return mint("cik", cik_of(cik))


def folded_name(value: object) -> str:
    """Return a name with white space of any kind, such as no-break spaces, as single spaces."""
    return printable_text(" ".join(value.split()) if isinstance(value, str) else value)


def accession_number(value: object) -> str:
    """Return the number of a filing; raise if it is none."""
    if not isinstance(value, str) or not _ACCESSION.fullmatch(value):
        raise ValueError(f"{value!r:.60} is not an accession number")
    return value
