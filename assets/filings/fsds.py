"""The SEC's Financial Statement Data Sets: the figures of all filings of a quarter.

A set is a zip of tables; ``sub.txt`` has the filings and ``num.txt`` their numbers. The figures
are those of company facts: a figure has no source in its identity, and its publication is the
accession number, so that a number which both state is one sighting.

A set is coarser than the filings. Days are rounded to ends of months and periods to whole quarters:
a number is read if the filing shows that this is exact, by the name of its instance, and by a
balance on the eve of the period or a period that ends or begins on the day of the balance. Values
are rounded to four decimals: one that has as many is not read. Filers outside our markets are not
followed, and numbers left out of a filing are counted.

Fields are separated by tabs and never quoted, in UTF-8, below a line with their names. The order
of columns and lines has changed over the years. ``prevrpt`` of a submission says that a later one
amends it, which was not known on the day it was filed: it is not read.
"""

import io
import re
import zipfile
from calendar import monthrange
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple, cast

from assets.entities.identifiers import cik_of
from assets.filings.companyfacts import (
    Fact,
    add_figures,
    name_issuer,
    read_member,
    refuse_impossible,
    without_scaled,
)
from assets.filings.cross_checks import WITNESSES, Witness
from assets.filings.figures import unit_of, without_filling_zeros
from assets.filings.issuers import ANNUAL_REPORTS, EDGAR_CLOCK, MARKETS, accession_number
from assets.filings.line_items import BY_ELEMENT, IFRS, STANDARDS, US_GAAP, Element
from assets.filings.periods import Span, years_of
from assets.parsing.csv_lines import LineTooLong, bounded_lines, has_undecoded_bytes
from assets.parsing.parsed import Parsed, join_parts
from assets.parsing.strict import calendar_day, number_from_text
from assets.parsing.unpacking import UNREADABLE, counted, open_zip, zip_members
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

_SUBMISSIONS = (
    *("adsh", "cik", "name", "countryba", "countryinc", "form", "period", "fye"),
    *("filed", "accepted", "instance"),
)
_NUMBERS = ("adsh", "tag", "version", "coreg", "ddate", "qtrs", "uom", "value")
# The sets write "ifrs/2019" where a filing has "ifrs-full".
_TAXONOMIES = {"us-gaap": US_GAAP, "ifrs": IFRS, "ifrs-full": IFRS, "dei": "dei"}
_DAY = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?")
_DAY_IN_NAME = re.compile(r"(?<![0-9])[0-9]{8}(?![0-9])")
_MOST_QUARTERS = 400

_ZIP, _PARQUET = b"PK\x03\x04", b"PAR1"
_ISSUERS_PER_PART = 100
# A set keeps so many decimals of a value.
_DECIMALS = 4
# Reasons of numbers that are counted for each filing.
_COREGISTRANT = "of a coregistrant"
_SEGMENT = "of a segment"
_NO_VALUE = "without a value"
_COVER = "of the cover, whose day the set rounds"
_NO_EVE = "of a period that the set rounds to quarters, without a balance on its eve"
_NO_TURN = "of a day that the set rounds, on which no period or year ends or begins"
_ROUNDED = f"with {_DECIMALS} decimals, to which the set rounds"
_SHORT = "of a period that the set rounds to no quarter"


_Cells = Mapping[str, str]
_Period = tuple[date | None, date]


@dataclass(frozen=True)
class _Submission:
    """A filing of the quarter; ``period`` and ``year_end`` are rounded to the end of a month."""

    location: str
    accession: str
    cik: str
    name: str
    form: str
    period: date
    year_end: int | None
    available_at: date
    accepted_at: str | None
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
        ends = [_month_end(each, self.year_end) for each in (year - 2, year - 1, year)]
        return [(before + timedelta(days=1), end) for before, end in pairwise(ends)]


class _Number(NamedTuple):
    """A line of ``num.txt`` whose element states a line item, or is a witness."""

    location: str
    element: Element
    ddate: str
    qtrs: str
    unit: str
    value: str


@dataclass
class _Filing:
    """What a set states in one filing; ``periods`` are end and quarters of all its numbers."""

    submission: _Submission
    numbers: list[_Number] = field(default_factory=list)
    periods: set[tuple[str, str]] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)

    def exact_periods(self) -> set[_Period]:
        """Return the periods and balance days that the filing shows to be exact.

        A period has a balance on its eve; a balance is of a day on which a period or a financial
        year ends or begins.
        """
        spans = set()
        for ddate, qtrs in self.periods:
            with suppress(ValueError):
                spans.add(_period_of(ddate, qtrs))
        balances = {end for start, end in spans if start is None}
        durations = [(start, end) for start, end in spans if start is not None]
        turning = [*durations, *self.submission.years()]
        turns = {self.submission.period, *(end for _, end in turning)}
        turns |= {_eve(start) for start, _ in turning}
        exact = {(start, end) for start, end in durations if _eve(start) in balances}
        return exact | {(None, day) for day in balances & turns}


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the zip of a quarter; figures are located by table and line."""
    return join_parts(stream(document, io.BytesIO(body)))


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse the zip of a quarter, or its table of submissions, some issuers at a time."""
    parsed = Parsed()
    buffered = io.BufferedReader(cast(io.RawIOBase, body), 1 << 16)
    start = buffered.peek(4)[:4]
    if start == _PARQUET:
        reason = "a Parquet file: the SEC publishes zips of tab-separated text"
        parsed.reject(FUNDAMENTALS, document, "", reason)
    elif start == _ZIP:
        yield from _zip(parsed, document, cast(IO[bytes], buffered))
        return
    else:
        filings = _filings(parsed, document, counted(cast(IO[bytes], buffered)), "")
        for issuer in _by_issuer(filings):
            _name(parsed, document, issuer)
    yield parsed


def _zip(parsed: Parsed, document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Read the tables of a zip; a damaged one gives no figures, since parts of filings mislead."""
    filings: dict[str, _Filing] = {}
    try:
        with open_zip(body) as archive:
            members = {PurePosixPath(info.filename).name: info for info in zip_members(archive)}
            for name in ("sub.txt", "num.txt"):
                if name not in members:
                    parsed.reject(FUNDAMENTALS, document, "", f"the zip has no {name}")
                    yield parsed
                    return
            with archive.open(members["sub.txt"]) as table:
                filings = _filings(parsed, document, counted(table), "sub.txt#")
            with archive.open(members["num.txt"]) as table:
                for line, cells in _located_cells(counted(table), _NUMBERS):
                    location = f"num.txt#{line}"
                    if isinstance(cells, str):
                        parsed.reject(FUNDAMENTALS, document, location, cells)
                    elif (filing := filings.get(cells["adsh"])) is not None:
                        _take(filing, location, cells)
    except zipfile.BadZipFile as error:
        parsed.reject(FUNDAMENTALS, document, "", f"not a whole zip: {error}")
        filings = {}
    except UNREADABLE as error:
        reason = f"a table is damaged ({type(error).__name__}), so no figure of the set is read"
        parsed.reject(FUNDAMENTALS, document, "", reason)
        filings = {}
    for count, issuer in enumerate(_by_issuer(filings), 1):
        _name(parsed, document, issuer)
        _add_figures(parsed, document, issuer)
        if count % _ISSUERS_PER_PART == 0:
            yield parsed
            parsed = Parsed()
    yield parsed


def _filings(
    parsed: Parsed, document: Document, table: "io.BufferedReader[Any]", prefix: str
) -> dict[str, _Filing]:
    """Return the filings of followed issuers by their number."""
    filings: dict[str, _Filing] = {}
    others = 0
    for line, cells in _located_cells(table, _SUBMISSIONS):
        location = f"{prefix}{line}"
        if isinstance(cells, str):
            parsed.reject(FUNDAMENTALS, document, location, cells)
        elif MARKETS.keys().isdisjoint((cells["countryba"], cells["countryinc"])):
            others += 1
        else:
            with parsed.rejecting(FUNDAMENTALS, document, location):
                submission = _read_submission(location, cells)
                filings[submission.accession] = _Filing(submission)
    if others:
        reason = f"filers outside our markets are not followed: {others} filings"
        parsed.reject(FUNDAMENTALS, document, prefix.rstrip("#"), reason, partial=True)
    return filings


def _take(filing: _Filing, location: str, cells: _Cells) -> None:
    """Keep a number of a filing, or count why it is left out."""
    # The taxonomy is empty if it is unknown.
    element = _TAXONOMIES.get(cells["version"].partition("/")[0], ""), cells["tag"]
    of_whole = not cells["coreg"] and not cells.get("segments")
    if of_whole:
        filing.periods.add((cells["ddate"], cells["qtrs"]))
    states_line = _states_line(element)
    if not of_whole or not cells["value"].strip() or element[0] == "dei":
        if states_line:
            reason = _COVER if cells["value"].strip() else _NO_VALUE
            if not of_whole:
                reason = _COREGISTRANT if cells["coreg"] else _SEGMENT
            filing.left_out[reason] += 1
    elif states_line or element in BY_ELEMENT or element in WITNESSES:
        filing.numbers.append(
            _Number(location, element, cells["ddate"], cells["qtrs"], cells["uom"], cells["value"])
        )


def _states_line(element: Element) -> bool:
    # An element that is a part of a line gives no row, so nothing of it can be missing.
    return element in BY_ELEMENT and bool(BY_ELEMENT[element].places)


def _located_cells(
    body: "io.BufferedReader[Any]", columns: tuple[str, ...]
) -> Iterator[tuple[str, _Cells | str]]:
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


def _read_submission(location: str, cells: _Cells) -> _Submission:
    """Return a submission; ValueError says what cannot be read of it.

    It is public on the day of its filing, as in company facts: what EDGAR accepts after hours is
    dated the next working day. Where the SEC moved a filing date back, the filing could not be
    read before it was accepted.
    """
    accepted = _accepted(cells["accepted"].strip())
    return _Submission(
        location,
        accession_number(cells["adsh"]),
        cik_of(cells["cik"]),
        cells["name"],
        cells["form"],
        read_member("period", _day_of, cells),
        _year_end(cells["fye"]),
        max(read_member("filed", _day_of, cells), accepted.date()),
        # Midnight is what lists have for a time that is not known.
        accepted.isoformat() if accepted.time() != time() else None,
        cells["instance"],
    )


def _accepted(text: str) -> datetime:
    """Return when a filing was accepted, to the minute, by EDGAR's clock."""
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"accepted: {text!r:.60} is not a moment")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=EDGAR_CLOCK)
    except ValueError:
        raise ValueError(f"accepted: {text} is not in the calendar") from None


def _year_end(text: str) -> int | None:
    """Return the month in which a financial year ends; None if it is not stated."""
    month = text.strip()[:2]
    return int(month) if month.isdecimal() and 1 <= int(month) <= 12 else None


def _day_of(text: str) -> date:
    """Return a day that is written as YYYYMMDD."""
    match = _DAY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r:.60} is not a date")
    return calendar_day("-".join(match.groups()))


def _period_of(ddate: str, qtrs: str) -> _Period:
    """Return first and last day of a period of whole quarters; no first day for a balance."""
    end = _day_of(ddate)
    if end != _month_end(end.year, end.month):
        raise ValueError(f"ddate: {end} is not the end of a month")
    if not qtrs.isascii() or not qtrs.isdecimal() or int(qtrs) > _MOST_QUARTERS:
        raise ValueError(f"qtrs: {qtrs!r:.60} is no number of quarters")
    if int(qtrs) == 0:
        return None, end
    year, month = divmod(end.year * 12 + end.month - 3 * int(qtrs), 12)
    return date(year, month + 1, 1), end


def _month_end(year: int, month: int) -> date:
    """Return the last day of a month."""
    return date(year, month, monthrange(year, month)[1])


def _by_issuer(filings: dict[str, _Filing]) -> list[list[_Filing]]:
    issuers: dict[str, list[_Filing]] = defaultdict(list)
    for filing in filings.values():
        issuers[filing.submission.cik].append(filing)
    return [issuers[cik] for cik in sorted(issuers)]


def _name(parsed: Parsed, document: Document, filings: list[_Filing]) -> None:
    annual = [each.submission for each in filings if each.submission.form in ANNUAL_REPORTS]
    if annual:
        latest = max(annual, key=lambda each: (each.available_at, each.accession))
        name_issuer(
            parsed,
            document,
            latest.location,
            latest.cik,
            latest.name,
            (latest.available_at, latest.accession),
            member="name",
            method="file",
        )


def _add_figures(parsed: Parsed, document: Document, filings: list[_Filing]) -> None:
    """Add the figures of one issuer."""
    facts: list[Fact] = []
    witnesses: list[Witness] = []
    years = []
    for filing in filings:
        facts.extend(_facts(parsed, document, filing, witnesses))
        years.extend(filing.submission.years())
        for reason, count in filing.left_out.items():
            text = f"{count} number{'s' * (count != 1)} of lines left out: {reason}"
            location = filing.submission.location
            parsed.reject(FUNDAMENTALS, document, location, text, partial=True)
    facts = without_scaled(parsed, document, facts)
    # The years that the facts state count before those of the filer's calendar.
    if years_of((fact.start, fact.end) for fact in facts if fact.start is not None):
        years = []
    add_figures(parsed, document, filings[0].submission.cik, facts, witnesses, set(years))


def _facts(
    parsed: Parsed, document: Document, filing: _Filing, witnesses: list[Witness]
) -> Iterator[Fact]:
    """Yield the facts of a filing that are exact; what helps to check them joins the witnesses."""
    unknown_days = filing.submission.why_days_are_unknown()
    exact = filing.exact_periods()
    for number in filing.numbers:
        try:
            period = _period_of(number.ddate, number.qtrs)
            value = without_filling_zeros(number_from_text(number.value))
            reason = unknown_days or _why_inexact(number, value, period[0])
            if reason is None and period not in exact:
                reason = _NO_TURN if period[0] is None else _NO_EVE
            if reason is None:
                if number.element in BY_ELEMENT:
                    yield _fact(filing.submission, number, *period, value)
                if number.element in WITNESSES:
                    accession, (taxonomy, name) = filing.submission.accession, number.element
                    statement = accession, STANDARDS[taxonomy], number.unit, *period
                    witnesses.append(Witness(statement, f"{taxonomy}:{name}", value))
            elif _states_line(number.element):
                filing.left_out[reason] += 1
        except ValueError as error:
            if _states_line(number.element):
                parsed.reject(FUNDAMENTALS, document, number.location, str(error))


def _why_inexact(number: _Number, value: Decimal, start: date | None) -> str | None:
    """Return why a number of the set may not be that of the filing, whatever its period."""
    element = BY_ELEMENT.get(number.element)
    if start is None and element is not None and element.kind == "duration":
        return _SHORT
    exponent = value.as_tuple().exponent
    return _ROUNDED if isinstance(exponent, int) and exponent <= -_DECIMALS else None


def _eve(start: date) -> date:
    return start - timedelta(days=1)


def _fact(
    submission: _Submission, number: _Number, start: date | None, end: date, value: Decimal
) -> Fact:
    element = BY_ELEMENT[number.element]
    refuse_impossible(element, start, end, submission.available_at)
    return Fact(
        element,
        unit_of(element.item, number.unit),
        number.unit,
        number.location,
        value,
        start,
        end,
        submission.available_at,
        submission.accession,
        submission.form,
        submission.accepted_at,
    )
