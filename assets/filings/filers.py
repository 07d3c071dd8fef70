"""Filers of the SEC: their ids, their names, and the reports that make them issuers."""

from assets.entities.identifiers import cik_of, mint
from assets.parsing.strict import printable_text

# Including transition periods (10-KT) and discontinued forms (10-K405, 10-KSB).
_FORMS = ("10-K", "10-KT", "10-K405", "10-KT405", "10-KSB", "10-KSB40", "20-F", "20-FT", "40-F")
ANNUAL_REPORTS = frozenset(form + amendment for form in _FORMS for amendment in ("", "/A"))


def service_id_of(cik: object) -> str:
    """Return the service_id of a CIK: 1 and 0000000001 are one filer."""
    return mint("cik", cik_of(cik))


def folded_name(value: object) -> str:
    """Return a name with white space of any kind, such as no-break spaces, as single spaces."""
    return printable_text(" ".join(value.split()) if isinstance(value, str) else value)
