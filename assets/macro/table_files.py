"""Files of series in tables: TOML with one table per source, checked member by member when read.

Central banks and statistics offices publish tables, not APIs. The built-in ones are in
``published_tables.toml``; ``docs/add-a-table.md`` explains every member. A table of an own file
that has the key of a built-in one replaces the members it states: so a licence that somebody has
cleared is entered in a few lines.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from assets.declared_files import (
    DeclarationError,
    DeclaredLicence,
    DeclaredSource,
    DeclaredTable,
    DeclaredText,
    check_address,
    check_addresses,
    declared_tables,
    own_entries,
    read_entries,
)
from assets.macro.iso_codes import area_of
from assets.macro.written_numbers import DecimalMark
from assets.parsing.tables import Names, fold
from warehouse.tables.macro import Frequency, SeriesType

BUILT_IN = Path(__file__).with_name("published_tables.toml")
PAGE = "docs/add-a-table.md"
# Stands for the alpha-3 code of a country.
AREA_IN_KEY = "{area}"

Country = Annotated[str, Meta(pattern="^[A-Z]{2}$")]
# The name of a column, or the names that it has in different files.
Column = DeclaredText | tuple[DeclaredText, ...]


class PeriodColumns(DeclaredTable, frozen=True, kw_only=True):
    """The columns that state the period of a row together, and the forms they are written in.

    Without any, the names of the columns are the periods. ``words`` replace words of a form before
    it is read, such as the months of a language.
    """

    columns: tuple[Column, ...]
    formats: tuple[DeclaredText, ...]
    frequency: Frequency
    words: Mapping[str, str] = {}


class TableSeries(DeclaredTable, frozen=True, kw_only=True):
    """One series of a source.

    In a table with a row for each period it is a ``column``, of the rows whose cells are as
    ``where`` says. In one with a column for each period it is the rows that are as ``where`` says,
    or the ``row`` that a pattern finds below a ``title``; the pattern may name the ``month`` of a
    row. ``address`` is a pattern for the documents that have it; without one all have. ``note`` is
    one of text above the table that must be there. ``base`` may refer to what either calls
    ``base``.
    """

    key: DeclaredText
    type: SeriesType
    unit: DeclaredText
    base: DeclaredText | None = None
    country: Country | None = None
    column: Column | None = None
    where: Mapping[str, Column] = {}
    title: DeclaredText | None = None
    row: DeclaredText | None = None
    note: DeclaredText | None = None
    address: DeclaredText | None = None

    def column_names(self) -> Names:
        """Return the folded names of its column."""
        return folded_names(self.column or ())


class TableEntry(DeclaredSource, frozen=True, kw_only=True):
    """One source of a file.

    Its figures are those of a ``country``, of that of each series, or of the one that the column
    ``area`` of a row names. ``other_names`` are those of columns in ``where``. ``marks`` beside
    a value or its year say what its status is.
    """

    title: DeclaredText
    licence: DeclaredLicence
    country: Country | None = None
    area: Column | None = None
    base_url: DeclaredText
    hosts: tuple[DeclaredText, ...] = ()
    addresses: tuple[DeclaredText, ...] = ()
    new_within: int = 45
    encoding: DeclaredText = "cp1252"
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] | None = None
    decimal: DecimalMark = "."
    other_names: Mapping[str, tuple[DeclaredText, ...]] = {}
    marks: Mapping[DeclaredText, DeclaredText] = {}
    period: PeriodColumns | None = None
    series: tuple[TableSeries, ...]
    notes: str = ""

    def column_names(self, name: str) -> Names:
        """Return the folded names of a column that ``where`` names."""
        return (fold(name), *map(fold, self.other_names.get(name, ())))


def folded_names(column: Column) -> Names:
    """Return the names of a column in comparable form."""
    return tuple(map(fold, (column,) if isinstance(column, str) else column))


def read_tables(
    file: Path, built_in: Mapping[str, Any] | None = None, taken: Iterable[str] = ()
) -> list[TableEntry]:
    """Return the sources of a file; refuse a mistake, and a key that another source has."""
    return read_entries(file, TableEntry, _check, PAGE, built_in, taken)


def own_tables(files: Iterable[Path], taken: Iterable[str]) -> list[TableEntry]:
    """Return the sources of a user's own files; ``taken`` are the keys of all other sources."""
    return own_entries(files, read_tables, TABLES, taken)


def _check(entry: TableEntry) -> None:
    """Raise DeclarationError if members do not fit each other."""
    check_address("licence.stated_at", entry.licence.stated_at)
    check_addresses(entry.base_url, entry.addresses)
    if not entry.series:
        raise DeclarationError("series", f"declare at least one: [[{entry.key}.series]]")
    for series in entry.series:
        _check_country(entry, series)
        _check_place(entry, series)
        _check_patterns(series)


def _check_country(entry: TableEntry, series: TableSeries) -> None:
    country = series.country or entry.country
    if (country is None) == (entry.area is None):
        raise DeclarationError("country", f"{series.key}: needs either a country or area")
    if country is not None and area_of(country) is None:
        raise DeclarationError("country", f"{country} is no country of ISO 3166")
    if (entry.area is not None) != (AREA_IN_KEY in series.key):
        problem = f"{series.key}: a key has {AREA_IN_KEY} if and only if area says which it is"
        raise DeclarationError("series", problem)


def _check_place(entry: TableEntry, series: TableSeries) -> None:
    by_name = entry.period is not None and not entry.period.columns
    if by_name and (series.column or series.row):
        problem = f"{series.key}: the columns are periods, so where says which rows it has"
        raise DeclarationError("series", problem)
    if not by_name and (series.column is None) == (series.row is None):
        raise DeclarationError("series", f"{series.key}: needs either column or row")
    if series.column is not None and entry.period is None:
        raise DeclarationError("period", f"{series.key} is a column: say where its periods are")
    if series.row is not None and series.title is None:
        raise DeclarationError("series", f"{series.key}: a row needs the title above it")
    if series.row is not None and entry.area is not None:
        raise DeclarationError(
            "area", f"{series.key} is a row below a title: it has no such column"
        )


def _check_patterns(series: TableSeries) -> None:
    named: set[str] = set()
    for member in ("title", "row", "note", "address"):
        try:
            pattern = re.compile(getattr(series, member) or "")
        except re.error as error:
            problem = f"{series.key}: {member} is no regular expression: {error}"
            raise DeclarationError("series", problem) from None
        named |= set(pattern.groupindex) if member in ("title", "note") else set()
    missing = set(re.findall(r"\{(.*?)\}", series.base or "")) - named
    if missing:
        problem = f"{series.key}: neither title nor note names the {missing.pop()!r} of its base"
        raise DeclarationError("series", problem)


TABLES = declared_tables(BUILT_IN, PAGE)
ENTRIES = tuple(read_tables(BUILT_IN))
