"""The tables of the SEC's Financial Statement Data Sets: submissions and numbers of a quarter.

Fields are separated by tabs and never quoted, in UTF-8, below a line with their names. The order
of columns and lines has changed over the years. ``prevrpt`` of a submission says that a later one
amends it, which nobody knew on the day it was filed: it is not read.
"""

import io
import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from assets.entities.identifiers import cik_of
from assets.filings.filers import accession_number
from assets.filings.issuers import MARKETS
from assets.filings.line_items import IFRS, US_GAAP, Element
from assets.filings.periods import Span
from assets.parsing.csv_lines import LineTooLong, bounded_lines, has_undecoded_bytes
from assets.parsing.strict import calendar_day

SUBMISSIONS = (
    *("adsh", "cik", "name", "countryba", "countryinc", "form", "period", "fye"),
    *("filed", "accepted", "instance"),
)
NUMBERS = ("adsh", "tag", "version", "coreg", "ddate", "qtrs", "uom", "value")
# The sets write "ifrs/2019" where a filing has "ifrs-full".
_TAXONOMIES = {"us-gaap": US_GAAP, "ifrs": IFRS, "ifrs-full": IFRS, "dei": "dei"}
_DAY = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?")
_DAY_IN_NAME = re.compile(r"(?<![0-9])[0-9]{8}(?![0-9])")
_MOST_QUARTERS = 400

Cells = Mapping[str, str]
LocatedCells = Iterator[tuple[str, Cells | str]]


@dataclass(frozen=True)
class Submission:
    """A filing of the quarter; ``period`` and ``year_end`` are rounded to the end of a month."""

    location: str
    accession: str
    cik: str
    name: str
    form: str
    period: date
    year_end: int | None
    available_at: date
    instance: str

    def why_days_are_unknown(self) -> str | None:
        """Return why the days of the filing are not known exactly; None if they are.

        All days of a set are rounded to the nearest end of a month. The name of an instance has
        the day on which the period of its filing really ends.
        """
        days = _DAY_IN_NAME.findall(self.instance)
        rounded = f"{self.period:%Y%m%d}"
        if rounded in days:
            return None
        if days:
            return f"the set rounds to {self.period} what ended on {days[0]}"
        return "the set rounds days to ends of months, and the name of the instance has no day"

    def years(self) -> list[Span]:
        """Return the financial year in which the period of the filing ends, and the one before."""
        if self.year_end is None:
            return []
        year = self.period.year + (self.period.month > self.year_end)
        ends = [month_end(each, self.year_end) for each in (year - 2, year - 1, year)]
        return [(before + timedelta(days=1), end) for before, end in pairwise(ends)]


def month_end(year: int, month: int) -> date:
    """Return the last day of a month."""
    return date(year, month, monthrange(year, month)[1])


def located_cells(body: "io.BufferedReader[Any]", columns: tuple[str, ...]) -> LocatedCells:
    """Yield the lines of a table by the names of its columns; a text says why there is none."""
    lines = bounded_lines(io.TextIOWrapper(body, "utf-8-sig", "surrogateescape", newline="\n"))
    try:
        header = next(lines, "").rstrip("\r\n").split("\t")
        missing = [name for name in columns if name not in header]
        if missing:
            yield "", f"no column {', '.join(missing)}: give the zip of a quarter"
            return
        for number, line in enumerate(lines, 2):
            cells = line.rstrip("\r\n").split("\t")
            if cells == [""]:
                continue
            if len(cells) != len(header):
                yield f"line {number}", "the line has more or fewer cells than the header"
            elif has_undecoded_bytes(line):
                yield f"line {number}", "the line is not UTF-8"
            else:
                yield f"line {number}", dict(zip(header, cells, strict=True))
    except LineTooLong as error:
        yield "", f"not a table of the data sets: {error}"


def is_followed(cells: Cells) -> bool:
    """Return whether a filer lies, or is incorporated, in an African or emerging market."""
    return cells["countryba"] in MARKETS or cells["countryinc"] in MARKETS


def read_submission(location: str, cells: Cells) -> Submission:
    """Return a submission; ValueError says what cannot be read."""
    return Submission(
        location,
        accession_number(cells["adsh"]),
        cik_of(cells["cik"]),
        cells["name"],
        cells["form"],
        _member("period", cells),
        _year_end(cells["fye"]),
        _available_at(cells),
        cells["instance"],
    )


def _available_at(cells: Cells) -> date:
    """Return the day on which a filing was public: that of its filing, as in company facts.

    What EDGAR accepts after hours is dated the next working day. Where the SEC moved a filing date
    back, the filing could not be read before it was accepted.
    """
    accepted = cells["accepted"].strip()
    if not _MOMENT.fullmatch(accepted):
        raise ValueError(f"accepted: {accepted!r:.60} is not a moment")
    try:
        moment = datetime.fromisoformat(accepted)
    except ValueError:
        raise ValueError(f"accepted: {accepted} is not in the calendar") from None
    return max(_member("filed", cells), moment.date())


def _year_end(text: str) -> int | None:
    """Return the month in which a financial year ends; None if it is not stated."""
    month = text.strip()[:2]
    return int(month) if month.isdecimal() and 1 <= int(month) <= 12 else None


def _member(name: str, cells: Cells) -> date:
    try:
        return day_of(cells[name])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def day_of(text: str) -> date:
    """Return a day that is written as YYYYMMDD."""
    match = _DAY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r:.60} is not a date")
    return calendar_day("-".join(match.groups()))


def element_of(cells: Cells) -> Element:
    """Return taxonomy and name of the element of a number; the taxonomy is empty if unknown."""
    return _TAXONOMIES.get(cells["version"].partition("/")[0], ""), cells["tag"]


def period_of(ddate: str, qtrs: str) -> tuple[date | None, date]:
    """Return first and last day of a period of whole quarters; no first day for a balance."""
    end = day_of(ddate)
    if end != month_end(end.year, end.month):
        raise ValueError(f"ddate: {end} is not the end of a month")
    if not qtrs.isascii() or not qtrs.isdecimal() or int(qtrs) > _MOST_QUARTERS:
        raise ValueError(f"qtrs: {qtrs!r:.60} is no number of quarters")
    if int(qtrs) == 0:
        return None, end
    year, month = divmod(end.year * 12 + end.month - 3 * int(qtrs), 12)
    return date(year, month + 1, 1), end
