"""Made-up daily indexes of EDGAR, by form."""

Line = tuple[str, str, str]

# Four lines with a blank follow the header.
_HEADER = """Description:           Daily Index of EDGAR Dissemination Feed by Form Type
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
    text = _HEADER + _BLANK_LINES + head + _RULE + "".join(lines)
    return text.encode("latin-1")


def _file(cik: str) -> str:
    return f"edgar/data/{cik}/0001193125-26-000001.txt"
