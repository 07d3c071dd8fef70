"""Series in tables of central banks and statistics offices, as ``table_files`` declares them.

A table has a row for each period, or a column for each. Nothing is guessed about where a figure
is: a table without the declared columns, titles or rows gives no figures and says so. None of these
publishers dates what it publishes: a value is known from the day on which it was first read.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from assets.macro.period_columns import (
    Lines,
    figures_below_header,
    figures_in_blocks,
    stated_base,
)
from assets.macro.table_figures import Figure, add_figure, is_of_series, stated_span
from assets.macro.table_files import PeriodColumns, TableEntry, TableSeries, folded_names
from assets.parsing.parsed import Parsed
from assets.parsing.tables import Row, Wanted, sheets, table_rows, text_above
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES


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
    others = [each for each in declared if each.column is None]
    if others:
        _read_sheets(parsed, document, body, entry, others)
    _reject_contradictions(parsed, document)
    return parsed


def _reject_contradictions(parsed: Parsed, document: Document) -> None:
    """Reject the figures of which the document gives two values.

    Its columns or rows then tell apart what the declaration does not.
    """
    stated: dict[tuple[Any, ...], set[tuple[Any, Any]]] = {}
    rows = parsed.rows.get(MACRO_SERIES.name, [])
    for row in rows:
        contents = stated.setdefault(_identity(row), set())
        contents.add((row["value"], row["obs_status"]))
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
    above = text_above(body, entry.encoding) if any(each.note for each in series) else ""
    bases = _bases(parsed, document, above, series)
    seen: set[str] = set()
    for location, row in table_rows(body, wanted):
        if isinstance(row, str):
            parsed.reject(MACRO_SERIES, document, location, row)
            continue
        try:
            span = stated_span(period, " ".join(_cell(row, names) or "" for names in required))
        except ValueError as error:
            # A note below the table, unless it has figures.
            if any(_cell(row, each.column_names()) for each in series):
                parsed.reject(MACRO_SERIES, document, location, str(error))
            continue
        cells = {name: _cell(row, names) or "" for name, names in filters.items()}
        for each in series:
            if each.key in bases and is_of_series(cells, each):
                text = _cell(row, each.column_names())
                seen |= {each.key} if text is not None else set()
                base, country = bases[each.key], _cell(row, area) or ""
                figure = Figure(
                    location, each, text or "", span, period.frequency, base, area=country
                )
                add_figure(parsed, document, entry, figure)
    for each in series:
        if each.key not in seen and not parsed.rejected:
            names = "/".join(each.column_names())
            parsed.reject(MACRO_SERIES, document, "", f"{each.key}: no column {names}")


def _bases(
    parsed: Parsed, document: Document, above: str, series: Iterable[TableSeries]
) -> dict[str, str | None]:
    """Return the base of each series whose note stands above the table; reject the others."""
    bases = {}
    for each in series:
        note = re.search(each.note or "", above)
        if note is None:
            reason = f"{each.key}: no note {each.note!r} above the table"
            parsed.reject(MACRO_SERIES, document, "", reason)
            continue
        bases[each.key] = stated_base(each, note)
    return bases


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
        for figure in _figures(sheet, lines, entry, series):
            seen.add(figure.series.key)
            add_figure(parsed, document, entry, figure)
    for each in series:
        if each.key not in seen and not parsed.rejected:
            parsed.reject(MACRO_SERIES, document, "", f"{each.key}: {_nowhere(each)}")


def _figures(
    sheet: str, lines: Lines, entry: TableEntry, series: list[TableSeries]
) -> Iterator[Figure]:
    period: PeriodColumns | None = entry.period
    below_titles = [each for each in series if each.row is not None]
    for each in below_titles:
        yield from figures_in_blocks(sheet, lines, each)
    if period is not None and len(below_titles) < len(series):
        yield from figures_below_header(sheet, lines, entry, period, series)


def _nowhere(series: TableSeries) -> str:
    """Say what would have to be there for a series that is not."""
    note = f" and a note {series.note!r}" if series.note else ""
    if series.row is None:
        return f"no table with periods as columns and rows where {dict(series.where)}{note}"
    return f"no row {series.row!r} with years below a title {series.title!r}{note}"
