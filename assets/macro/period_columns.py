"""Tables with a column for each period, in the sheets of a workbook.

Either a header has the periods beside the names of other columns, and rows say what they are; or
there are blocks: a title, years, perhaps quarters below them, and rows with labels.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from assets.macro.periods import Span, period_of, span_from
from assets.macro.table_figures import (
    Figure,
    has_value,
    is_of_series,
    parsed_day,
    stated_area,
    stated_span,
)
from assets.macro.table_files import PeriodColumns, TableEntry, TableSeries, folded_names
from assets.parsing.tables import clean, fold, joined

Lines = list[list[str]]

_YEAR = re.compile(r"((?:19|20)[0-9]{2})\s*[*/\\]*[0-9a-z*]{0,2}", re.IGNORECASE)
_QUARTER = re.compile(r"Q([1-4])", re.IGNORECASE)
_MONTHS = ("%Y %B", "%Y %b")
# Stands for the column with the country, which ``where`` does not name.
_AREA = ""
# Below the title of a block its years stand within so many rows.
_YEARS_WITHIN = 6


def figures_below_header(
    sheet: str,
    lines: Lines,
    entry: TableEntry,
    period: PeriodColumns,
    declared: list[TableSeries],
) -> Iterator[Figure]:
    """Yield the figures of a sheet whose header has the declared columns and periods."""
    names = {name: entry.column_names(name) for series in declared for name in series.where}
    if entry.area is not None:
        names[_AREA] = folded_names(entry.area)
    for first, header in enumerate(lines):
        folded = [fold(cell) for cell in header]
        # A column that is there twice does not tell which one is meant: no such header.
        places = {
            name: folded.index(cell)
            for name, each in names.items()
            for cell in each
            if folded.count(cell) == 1
        }
        spans = _spans(header, period)
        if len(places) < len(names) or not spans:
            continue
        above = joined(lines[:first])
        for series in declared:
            note = re.search(series.note or "", above)
            if note is None:
                continue
            base = stated_base(series, note)
            for number in range(first + 1, len(lines)):
                cells = {name: clean(lines[number][place]) for name, place in places.items()}
                if not is_of_series(cells, series):
                    continue
                figures = [
                    Figure(
                        f"{sheet}, row {number + 1}, column {column + 1}",
                        series,
                        lines[number][column],
                        span,
                        period.frequency,
                        base,
                        header[column],
                        cells.get(_AREA, ""),
                    )
                    for column, span in spans.items()
                    if has_value(lines[number][column])
                ]
                yield from _with_area(figures, entry)
        return


def _with_area(figures: list[Figure], entry: TableEntry) -> list[Figure]:
    """Return the figures of a row; only the first, with the problem, if it has no country."""
    try:
        if figures and entry.area is not None:
            stated_area(figures[0].area)
    except ValueError as error:
        return [replace(figures[0], problem=f"{error}: {len(figures)} values")]
    return figures


def _spans(header: list[str], period: PeriodColumns) -> dict[int, Span]:
    """Return the period of each column whose name is one."""
    spans = {}
    for column, cell in enumerate(header):
        try:
            spans[column] = stated_span(period, clean(cell))
        except ValueError:
            continue
    return spans


def stated_base(series: TableSeries, *matches: re.Match[str] | None) -> str | None:
    """Return the base of a series, with what the patterns of its title and note found."""
    found = {name: text for match in matches if match for name, text in match.groupdict().items()}
    return (series.base or "").format(**found) or None


def figures_in_blocks(sheet: str, lines: Lines, series: TableSeries) -> Iterator[Figure]:
    """Yield the figures of a row in every block whose title and row are those of a series."""
    for first, cells in enumerate(lines):
        title = re.search(series.title or "", clean(cells[0]))
        below = range(first, min(first + _YEARS_WITHIN, len(lines)))
        header = next((number for number in below if _years(lines[number])), None)
        if title is None or header is None:
            continue
        note = re.search(series.note or "", joined(lines[first:header]))
        if note is None:
            continue
        base = stated_base(series, title, note)
        periods = _periods(lines[header], lines[header + 1] if header + 1 < len(lines) else [])
        # Up to the years of the next block.
        rows = takewhile(lambda number: not _years(lines[number]), range(header + 1, len(lines)))
        for number in rows:
            label = re.search(series.row or "", clean(lines[number][0]))
            if label is None:
                continue
            month = label.groupdict().get("month")
            for column, (span, frequency, year) in periods.items():
                location = f"{sheet}, row {number + 1}, column {column + 1}"
                text = lines[number][column]
                figure = Figure(location, series, text, span, frequency, base, year)
                yield figure if month is None else _of_month(figure, month)
            if month is None:
                break


def _of_month(figure: Figure, month: str) -> Figure:
    """Return a figure of a year as that of a month in it."""
    first = parsed_day(f"{figure.span[0].year} {month}", _MONTHS)
    if first is None or figure.frequency != "annual":
        return replace(figure, problem=f"{month!r:.20} below {figure.year_text!r:.20} is no month")
    return replace(figure, span=span_from(first.date(), "monthly"), frequency="monthly")


def _years(cells: list[str]) -> list[int]:
    """Return the columns of years, if all cells but the first are years or empty."""
    others = [(column, clean(cell)) for column, cell in enumerate(cells) if column and clean(cell)]
    if not others or not all(_YEAR.fullmatch(cell) for _, cell in others):
        return []
    return [column for column, _ in others]


def _periods(years: list[str], parts: list[str]) -> dict[int, tuple[Span, str, str]]:
    """Return the period of each column: a year, or a quarter if the line below says so.

    With the text of its year, which may have a mark.
    """
    quarters = {column for column, cell in enumerate(parts) if _QUARTER.fullmatch(clean(cell))}
    periods: dict[int, tuple[Span, str, str]] = {}
    year: re.Match[str] | None = None
    for column, cell in enumerate(map(clean, years)):
        if column and (match := _YEAR.fullmatch(cell)):
            year = match
        if year is None or not (quarters or cell):
            continue
        part = clean(parts[column]) if quarters else ""
        if column in quarters:
            periods[column] = (*period_of(f"{year[1]}-{part.upper()}"), year[0])
        elif not quarters or fold(part) in ("total", "annual"):
            periods[column] = (*period_of(year[1]), year[0])
    return periods
