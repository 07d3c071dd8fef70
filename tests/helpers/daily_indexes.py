"""Made-up daily indexes of EDGAR, in the three forms in which it publishes them."""

from collections.abc import Sequence

Line = tuple[str, str, str]

# Four lines with a blank follow the header.
_HEADER = """Description:           Daily Index of EDGAR Dissemination Feed by {kind}
Last Data Received:    Nov 10, 2026
Comments:              webmaster@sec.gov
Anonymous FTP:         ftp://ftp.sec.gov/edgar/
"""
_BLANK_LINES = " \n" * 4
_RULE = "-" * 141 + "\n"


def form_index(*filings: Line, day: str = "20261110") -> bytes:
    """Return an index by form, of forms, names and CIKs."""
    head = f"{'Form Type':12}{'Company Name':62}{'CIK':12}{'Date Filed':12}File Name\n"
    lines = [f"{form:12}{name:62}{cik:12}{day:12}{_file(cik):52}\n" for form, name, cik in filings]
    return _index("Form Type", head, lines)


def company_index(*filings: Line, day: str = "20261110") -> bytes:
    """Return an index by company, whose header is broken over two lines."""
    head = f"{'Company Name':62}{'Form Type':12}{'CIK':12}\n{'Date Filed':12}File Name\n"
    lines = [f"{name:62}{form:12}{cik:12}{day:12}{_file(cik):52}\n" for form, name, cik in filings]
    return _index("Company Name", head, lines)


def master_index(*filings: Line, day: str = "20261110") -> bytes:
    """Return the master index, with bars between its columns."""
    head = "CIK|Company Name|Form Type|Date Filed|File Name\n"
    lines = [f"{cik}|{name}|{form}|{day}|{_file(cik)}\n" for form, name, cik in filings]
    return _index("CIK", head, lines)


def _file(cik: str) -> str:
    return f"edgar/data/{cik}/0001193125-26-000001.txt"


def _index(kind: str, head: str, lines: Sequence[str]) -> bytes:
    return (_HEADER.format(kind=kind) + _BLANK_LINES + head + _RULE + "".join(lines)).encode(
        "latin-1"
    )
