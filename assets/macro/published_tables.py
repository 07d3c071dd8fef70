"""Series in tables of central banks and statistics offices, as ``table_files`` declares them.

A table has a row for each period, or a column for each. Nothing is guessed about where a figure
is: a table without the declared columns, titles or rows gives no figures and says so. None of these
publishers dates what it publishes: a value is known from the day on which it was first read.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import takewhile
from typing import Any

from assets.macro.iso_codes import area_of
from assets.macro.periods import Span, period_of, span_from
from assets.macro.table_files import PeriodColumns, TableEntry, TableSeries, folded_names
from assets.macro.written_numbers import written_number
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.tables import Row, Wanted, clean, fold, sheets, table_rows
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES

# What publishers write where there is no value, and beside one.
_NO_VALUE = frozenset({"", "-", "--", "–", "—", ".", "..", "...", "n/a", "na", "nan"})
_MARKS = re.compile(r"(?<=[0-9])\s*(%|\*+|\([rpe]\)|[rpe])$", re.IGNORECASE)
_YEAR = re.compile(r"((?:19|20)[0-9]{2})\s*[*/\\]*[0-9a-z*]{0,2}", re.IGNORECASE)
_QUARTER = re.compile(r"Q([1-4])", re.IGNORECASE)
# Below the title of a block its years stand within so many rows.
_YEARS_WITHIN = 6

_Stated = tuple[str, TableSeries, str, Span, str, str | None]


def parse(document: Document, body: bytes, *, entry: TableEntry) -> Parsed:
    """Parse the series of a document; every figure is a row or a rejection with its location."""
    parsed = Parsed()
    declared = [each for each in entry.series if re.search(each.address or "", document.url)]
    if not declared:
        parsed.reject(MACRO_SERIES, document, "", "no series is declared for this address")
        return parsed
    columns = [each for each in declared if each.column is not None]
    if columns:
        _read_columns(parsed, document, body, entry, columns)
    blocks = [each for each in declared if each.row is not None]
    if blocks:
        _read_blocks(parsed, document, body, entry, blocks)
    return parsed


def _read_columns(
    parsed: Parsed, document: Document, body: bytes, entry: TableEntry, series: list[TableSeries]
) -> None:
    period = entry.period
    assert period is not None
    required = [folded_names(each) for each in period.columns]
    filters = {fold(name) for each in series for name in each.where}
    wanted = Wanted(
        (*required, *((name,) for name in sorted(filters))),
        tuple({each.column_names(): None for each in series}),
        entry.encoding,
        entry.delimiter,
    )
    seen: set[str] = set()
    for location, row in table_rows(body, wanted):
        if isinstance(row, str):
            parsed.reject(MACRO_SERIES, document, location, row)
            continue
        try:
            span = _span(period, row, required)
        except ValueError as error:
            # A note below the table, unless it has figures.
            if any(_cell(row, each.column_names()) for each in series):
                parsed.reject(MACRO_SERIES, document, location, str(error))
            continue
        for each in series:
            if all(
                row[fold(name)].casefold() == value.casefold() for name, value in each.where.items()
            ):
                text = _cell(row, each.column_names())
                seen |= {each.key} if text is not None else set()
                stated = (location, each, text or "", span, period.frequency, each.base)
                _add(parsed, document, entry, stated)
    for each in series:
        if each.key not in seen and not parsed.rejected:
            names = "/".join(each.column_names())
            parsed.reject(MACRO_SERIES, document, "", f"{each.key}: no column {names}")


def _cell(row: Row, names: Iterable[str]) -> str | None:
    return next((row[name] for name in names if name in row), None)


def _span(period: PeriodColumns, row: Row, columns: list[tuple[str, ...]]) -> Span:
    text = " ".join(_cell(row, names) or "" for names in columns)
    for word, replacement in period.words.items():
        text = text.replace(word, replacement)
    first = _parsed_day(text, period.formats)
    if first is None:
        raise ValueError(f"{text!r:.60} is no period in any form that is declared")
    return span_from(first.date(), period.frequency)


@lru_cache(maxsize=1 << 12)
def _parsed_day(text: str, formats: tuple[str, ...]) -> datetime | None:
    for form in formats:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _read_blocks(
    parsed: Parsed, document: Document, body: bytes, entry: TableEntry, series: list[TableSeries]
) -> None:
    """Read tables with a column for each period: a title, years, perhaps quarters, and rows."""
    seen: set[str] = set()
    for sheet, lines in sheets(body):
        if isinstance(lines, str):
            parsed.reject(MACRO_SERIES, document, sheet, lines)
            continue
        for each in series:
            for stated in _in_blocks(sheet, lines, each):
                seen.add(each.key)
                _add(parsed, document, entry, stated)
    for each in series:
        if each.key not in seen and not parsed.rejected:
            reason = f"{each.key}: no row {each.row!r} with years below a title {each.title!r}"
            parsed.reject(MACRO_SERIES, document, "", reason)


def _in_blocks(sheet: str, lines: list[list[str]], series: TableSeries) -> Iterator[_Stated]:
    """Yield the figures of a row in every block whose title and row are those of a series."""
    for first, cells in enumerate(lines):
        title = re.search(series.title or "", clean(cells[0]))
        below = range(first, min(first + _YEARS_WITHIN, len(lines)))
        header = next((number for number in below if _years(lines[number])), None)
        if title is None or header is None:
            continue
        base = (series.base or "").format(**title.groupdict()) or None
        periods = _periods(lines[header], lines[header + 1] if header + 1 < len(lines) else [])
        # Up to the years of the next block.
        rows = takewhile(lambda number: not _years(lines[number]), range(header + 1, len(lines)))
        for number in rows:
            if re.search(series.row or "", clean(lines[number][0])):
                for column, (span, frequency) in periods.items():
                    location = f"{sheet}, row {number + 1}, column {column + 1}"
                    yield location, series, lines[number][column], span, frequency, base
                break


def _years(cells: list[str]) -> list[int]:
    """Return the columns of years, if all cells but the first are years or empty."""
    others = [(column, clean(cell)) for column, cell in enumerate(cells) if column and clean(cell)]
    if not others or not all(_YEAR.fullmatch(cell) for _, cell in others):
        return []
    return [column for column, _ in others]


def _periods(years: list[str], parts: list[str]) -> dict[int, tuple[Span, str]]:
    """Return the period of each column: a year, or a quarter if the line below says so."""
    quarters = {column for column, cell in enumerate(parts) if _QUARTER.fullmatch(clean(cell))}
    periods: dict[int, tuple[Span, str]] = {}
    year: str | None = None
    for column, cell in enumerate(map(clean, years)):
        if column and (match := _YEAR.fullmatch(cell)):
            year = match[1]
        if year is None or not (quarters or cell):
            continue
        part = clean(parts[column]) if quarters else ""
        if column in quarters:
            periods[column] = period_of(f"{year}-{part.upper()}")
        elif not quarters or fold(part) in ("total", "annual"):
            periods[column] = period_of(year)
    return periods


def _add(parsed: Parsed, document: Document, entry: TableEntry, stated: _Stated) -> None:
    location, series, text, span, frequency, base = stated
    if clean(text).casefold() in _NO_VALUE:
        return
    observed_on = document.observed_at.astimezone(UTC).date()
    try:
        value = written_number(_MARKS.sub("", clean(text)), entry.decimal)
        if span[0] > observed_on:
            raise ValueError(f"the period begins after it was read, on {observed_on}")
    except ValueError as error:
        parsed.reject(MACRO_SERIES, document, location, f"{series.key}: {error}")
        return
    area = area_of(entry.country)
    assert area is not None
    row: dict[str, Any] = {
        **provenance(document, location, "file"),
        "available_at": observed_on,
        "publication": observed_on.isoformat(),
        "country": area[0],
        "country_iso3": area[1],
        "series": series.key,
        "series_type": series.type,
        "frequency": frequency,
        "period_start": span[0],
        "period_end": span[1],
        "value": value,
        "unit": series.unit,
        "base_period": base,
        "obs_status": None,
    }
    parsed.add(MACRO_SERIES, [row])
