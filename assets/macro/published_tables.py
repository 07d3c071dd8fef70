"""Series in tables of central banks and statistics offices, as ``table_files`` declares them.

A table has a row for each period, or a column for each. Nothing is guessed about where a figure
is: a table without the declared columns, titles or rows gives no figures and says so. None of these
publishers dates what it publishes: a value is known from the day on which it was first read.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Any, cast

from assets.macro.periods import (
    Span,
    first_read,
    period_of,
    series_columns,
    span_from,
    written_number,
)
from assets.macro.table_files import (
    AREA_IN_KEY,
    PeriodColumns,
    TableEntry,
    TableSeries,
    folded_names,
)
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import day_in_form
from assets.parsing.tables import (
    Names,
    Row,
    Wanted,
    clean,
    fold,
    joined,
    sheets,
    table_rows,
    text_above,
)
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.countries import Area, area_named, area_of

# What publishers write where there is no value, and next to one.
_NO_VALUE = frozenset({"", "-", "--", "–", "—", ".", "..", "...", "n/a", "na", "nan"})
_MARKS = re.compile(r"(?<=[0-9])\s*(%|\*+|\([rpe]\)|[rpe])$", re.IGNORECASE)


@dataclass(frozen=True)
class Figure:
    """What a cell states; ``year_text`` is the year above it, perhaps with a mark.

    ``area`` is the cell that names its country, if the declaration names a column for it;
    ``problem`` says why the cell, or the row that begins with it, cannot be read.
    """

    location: str
    series: TableSeries
    text: str
    span: Span
    frequency: str
    base: str | None = None
    year_text: str = ""
    area: str = ""
    problem: str | None = None


def _add_figure(parsed: Parsed, document: Document, entry: TableEntry, figure: Figure) -> None:
    """Add the row of a figure, or the reason why there is none; nothing for an empty cell."""
    if not _has_value(figure.text):
        return
    series = figure.series
    text, mark = _without_mark(entry, clean(figure.text))
    try:
        if figure.problem:
            raise ValueError(figure.problem)
        if entry.area is not None:
            area = _stated_area(figure.area)
        else:
            # The declaration was checked to name a country.
            area = cast(Area, area_of(series.country or entry.country or ""))
        value = written_number(_MARKS.sub("", text), entry.decimal)
        published = first_read(document, figure.span)
    except ValueError as error:
        parsed.reject(MACRO_SERIES, document, figure.location, f"{series.key}: {error}")
        return
    mark = mark or _without_mark(entry, clean(figure.year_text))[1]
    key = series.key.replace(AREA_IN_KEY, area[1])
    about = (area, key, series.type, series.unit, figure.base)
    row = {
        **provenance(document, figure.location, "file"),
        **published,
        **series_columns(*about, figure.span, figure.frequency),
        "value": value,
        "obs_status": entry.marks[mark] if mark else None,
    }
    parsed.add(MACRO_SERIES, [row])


def _without_mark(entry: TableEntry, text: str) -> tuple[str, str | None]:
    """Return a text without the declared mark at its end, and the mark."""
    for mark in entry.marks:
        if text.endswith(mark):
            return text.removesuffix(mark).strip(), mark
    return text, None


def _stated_area(text: str) -> Area:
    """Return the country that a cell names or codes; raise if it is none that we know."""
    area = area_named(text) or area_of(text)
    if area is None:
        raise ValueError(f"{text!r:.60} is no country that we know")
    return area


def _has_value(text: str) -> bool:
    return clean(text).casefold() not in _NO_VALUE


def _stated_span(period: PeriodColumns, text: str) -> Span:
    """Return the days of a period in one of the declared forms; raise if it is in none."""
    for word, replacement in period.words.items():
        text = text.replace(word, replacement)
    first = day_in_form(text, period.formats)
    if first is None:
        raise ValueError(f"{text!r:.60} is no period in any form that is declared")
    return span_from(first, period.frequency)


def _is_of_series(cells: dict[str, str], series: TableSeries) -> bool:
    """Return whether the cells of a row are as ``where`` of a series says."""
    return all(
        cells[name].casefold() in map(str.casefold, values) for name, values in series.where.items()
    )


# Tables with a column for each period, in the sheets of a workbook.
#
# Either a header has the periods next to the names of other columns, and rows say what they are; or
# there are blocks: a title, years, perhaps quarters below them, and rows with labels.

Lines = list[list[str]]

_YEAR = re.compile(r"((?:19|20)[0-9]{2})\s*[*/\\]*[0-9a-z*]{0,2}", re.IGNORECASE)
_QUARTER = re.compile(r"Q([1-4])", re.IGNORECASE)
_MONTHS = ("%Y %B", "%Y %b")
# The name of the column with the country, which ``where`` does not have.
_AREA = ""
# The years of a block are within so many rows below its title.
_YEARS_WITHIN = 6


def _figures_below_header(
    sheet: str, lines: Lines, entry: TableEntry, period: PeriodColumns, declared: list[TableSeries]
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
            base = _stated_base(series, note)
            for number in range(first + 1, len(lines)):
                cells = {name: clean(lines[number][place]) for name, place in places.items()}
                if not _is_of_series(cells, series):
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
                    if _has_value(lines[number][column])
                ]
                try:
                    if figures and entry.area is not None:
                        _stated_area(figures[0].area)
                except ValueError as error:
                    # Once for the row, not for each of its figures.
                    figures = [replace(figures[0], problem=f"{error}: {len(figures)} values")]
                yield from figures
        return


def _spans(header: list[str], period: PeriodColumns) -> dict[int, Span]:
    """Return the period of each column whose name is one."""
    spans = {}
    for column, cell in enumerate(header):
        with suppress(ValueError):
            spans[column] = _stated_span(period, clean(cell))
    return spans


def _stated_base(series: TableSeries, *matches: re.Match[str]) -> str | None:
    """Return the base of a series, with what the patterns of its title and note found."""
    found = {name: text for match in matches for name, text in match.groupdict().items()}
    return (series.base or "").format(**found) or None


def _figures_in_blocks(sheet: str, lines: Lines, series: TableSeries) -> Iterator[Figure]:
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
        base = _stated_base(series, title, note)
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
    first = day_in_form(f"{figure.span[0].year} {month}", _MONTHS)
    if first is None or figure.frequency != "annual":
        return replace(figure, problem=f"{month!r:.20} below {figure.year_text!r:.20} is no month")
    return replace(figure, span=span_from(first, "monthly"), frequency="monthly")


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


def parse(document: Document, body: bytes, *, entry: TableEntry) -> Parsed:
    """Parse the series of a document; every figure is a row or a rejection with its location."""
    parsed = Parsed()
    declared = [each for each in entry.series if re.search(each.address or "", document.url)]
    if not declared:
        parsed.reject(MACRO_SERIES, document, "", "no series is declared for this address")
        return parsed
    if columns := [each for each in declared if each.column is not None]:
        _read_columns(parsed, document, body, entry, columns)
    if others := [each for each in declared if each.column is None]:
        _read_sheets(parsed, document, body, entry, others)
    _reject_contradictions(parsed, document)
    return parsed


def _reject_contradictions(parsed: Parsed, document: Document) -> None:
    """Reject the figures of which the document gives two values.

    Its columns or rows then tell apart what the declaration does not.
    """
    stated: dict[tuple[Any, ...], set[tuple[Any, Any]]] = defaultdict(set)
    rows = parsed.rows.get(MACRO_SERIES.name, [])
    for row in rows:
        stated[_identity(row)].add((row["value"], row["obs_status"]))
    contradicted = [row for row in rows if len(stated[_identity(row)]) > 1]
    rows[:] = [row for row in rows if len(stated[_identity(row)]) == 1]
    for row in contradicted:
        location = row["source_ref"].removeprefix(f"{document.url}#")
        reason = f"{row['series']}: the file gives two values of one period: neither is believed"
        parsed.reject(MACRO_SERIES, document, location, reason)


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in MACRO_SERIES.identity)


def _read_columns(
    parsed: Parsed, document: Document, body: bytes, entry: TableEntry, series: list[TableSeries]
) -> None:
    period = entry.period
    assert period is not None
    required = [folded_names(each) for each in period.columns]
    filters = {name: entry.column_names(name) for each in series for name in each.where}
    area = folded_names(entry.area) if entry.area is not None else ()
    wanted = Wanted(
        (*required, *(filters[name] for name in sorted(filters)), *((area,) if area else ())),
        tuple({each.column_names(): None for each in series}),
        entry.encoding,
        entry.delimiter,
    )
    is_described = entry.heading or any(each.note for each in series)
    above = text_above(body, entry.encoding) if is_described else ""
    heading = _heading(above, required)
    if heading and not re.search(entry.heading or "", heading):
        reason = f"another table: it is headed {heading!r:.80}, which has no {entry.heading!r}"
        parsed.reject(MACRO_SERIES, document, "", reason)
        return
    bases: dict[str, str | None] = {}
    for each in series:
        if note := re.search(each.note or "", above):
            bases[each.key] = _stated_base(each, note)
        else:
            reason = f"{each.key}: no note {each.note!r} above the table"
            parsed.reject(MACRO_SERIES, document, "", reason)
    seen: set[str] = set()
    for location, row in table_rows(body, wanted):
        if isinstance(row, str):
            parsed.reject(MACRO_SERIES, document, location, row)
            continue
        try:
            span = _stated_span(period, " ".join(_cell(row, names) or "" for names in required))
        except ValueError as error:
            # A note below the table, unless it has figures.
            if any(_cell(row, each.column_names()) for each in series):
                parsed.reject(MACRO_SERIES, document, location, str(error))
            continue
        cells = {name: _cell(row, names) or "" for name, names in filters.items()}
        for each in series:
            if each.key in bases and _is_of_series(cells, each):
                text = _cell(row, each.column_names())
                seen |= {each.key} if text is not None else set()
                base, country = bases[each.key], _cell(row, area) or ""
                figure = Figure(
                    location, each, text or "", span, period.frequency, base, area=country
                )
                _add_figure(parsed, document, entry, figure)
    for each in series:
        if each.key not in seen and not parsed.rejected:
            names = "/".join(each.column_names())
            parsed.reject(MACRO_SERIES, document, "", f"{each.key}: no column {names}")


def _heading(above: str, required: list[Names]) -> str:
    """Return the text above the line that names the columns of a period; none without such."""
    lines = above.splitlines()
    for number, line in enumerate(map(fold, lines)):
        if all(any(name in line for name in names) for names in required):
            return clean(" ".join(lines[:number]).replace(",", " "))
    return ""


def _cell(row: Row, names: Iterable[str]) -> str | None:
    return next((row[name] for name in names if name in row), None)


def _read_sheets(
    parsed: Parsed, document: Document, body: bytes, entry: TableEntry, series: list[TableSeries]
) -> None:
    """Read the tables of a workbook that have a column for each period."""
    seen: set[str] = set()
    for sheet, lines in sheets(body):
        if isinstance(lines, str):
            parsed.reject(MACRO_SERIES, document, sheet, lines)
            continue
        below_titles = [each for each in series if each.row is not None]
        found = [_figures_in_blocks(sheet, lines, each) for each in below_titles]
        if entry.period is not None and len(below_titles) < len(series):
            found.append(_figures_below_header(sheet, lines, entry, entry.period, series))
        for figure in chain.from_iterable(found):
            seen.add(figure.series.key)
            _add_figure(parsed, document, entry, figure)
    for each in series:
        if each.key not in seen and not parsed.rejected:
            nowhere = f"no row {each.row!r} with years below a title {each.title!r}"
            if each.row is None:
                nowhere = f"no table with periods as columns and rows where {dict(each.where)}"
            note = f" and a note {each.note!r}" if each.note else ""
            parsed.reject(MACRO_SERIES, document, "", f"{each.key}: {nowhere}{note}")
