"""EDGAR's daily indexes: who filed which form on a day.

The form and the company index have columns of fixed width, the master index has bars between them.
Long names push the columns of a line to the right, and the header of the company index is broken
over two lines: a line is therefore read from its end, where number, day and file always stand.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from assets.entities.identifiers import cik_of
from assets.parsing.strict import calendar_day

_RULE = re.compile(r"-{20,}\s*")
_COLUMNS = re.compile(
    r"(?P<text>.*\S)\s+(?P<cik>[0-9]{1,10})\s+(?P<day>[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s+"
    r"(?P<file>edgar/\S+)\s*"
)
_BLANKS = re.compile(r"\s{2,}")
# A header has about ten lines.
_HEADER_WITHIN = 40


@dataclass(frozen=True)
class Filed:
    """One line of an index: a filing of one filer. Of several filers each has a line."""

    form: str
    cik: str
    filed: date
    file: str


def filings_of(body: bytes) -> list[Filed]:
    """Return the filings of an index; none of one that has only a header, as on holidays.

    ValueError if this is no index, or if any line cannot be read: a filer could be missing.
    """
    # Names are in Latin-1, which accepts every byte.
    lines = body.decode("latin-1").splitlines()
    rule = next(
        (number for number, line in enumerate(lines[:_HEADER_WITHIN]) if _RULE.fullmatch(line)),
        None,
    )
    if rule is None:
        raise ValueError("not an index of EDGAR: no line of dashes below a header")
    read = _reader(" ".join(lines[:rule]))
    filings = []
    for number, line in enumerate(lines[rule + 1 :], rule + 2):
        if line.strip():
            try:
                filings.append(read(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
    return filings


def _reader(header: str) -> Callable[[str], Filed]:
    """Return what reads the lines below a header, by the order of the columns that it names."""
    if "CIK|Company Name|Form Type|Date Filed" in header:
        return _master_line
    form, company = header.rfind("Form Type"), header.rfind("Company Name")
    if form < 0 or company < 0:
        raise ValueError("not an index of EDGAR: no columns Form Type and Company Name")
    return _form_line if form < company else _company_line


def _form_line(line: str) -> Filed:
    # The form comes first, and has single blanks in it at most: "SC 13D/A".
    return _line(line, lambda texts: texts[0])


def _company_line(line: str) -> Filed:
    return _line(line, lambda texts: texts[-1])


def _line(line: str, choose_form: Callable[[list[str]], str]) -> Filed:
    match = _COLUMNS.fullmatch(line)
    if match is None:
        raise ValueError("no number of a filer, day and file at its end")
    texts = _BLANKS.split(match["text"].strip())
    if len(texts) < 2:
        raise ValueError("no form beside the name of a filer")
    return Filed(choose_form(texts), cik_of(match["cik"]), _day(match["day"]), match["file"])


def _master_line(line: str) -> Filed:
    cells = line.split("|")
    if len(cells) < 5:
        raise ValueError("fewer than five columns")
    # A bar in a name would be one cell more.
    cik, *_, form, day, file = (cell.strip() for cell in cells)
    return Filed(form, cik_of(cik), _day(day), file)


def _day(text: str) -> date:
    return calendar_day(text if "-" in text else f"{text[:4]}-{text[4:6]}-{text[6:]}")
