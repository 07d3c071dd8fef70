"""Files of series in tables: TOML with one table per source, read by the models here.

Central banks and statistics offices publish tables, not APIs. The built-in ones are in
``published_tables.toml``; ``docs/add-a-table.md`` explains every member. A table of an own file
that has the key of a built-in one replaces the members it states: so a licence that somebody has
cleared is entered in a few lines.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from assets.declared_files import (
    BaseUrl,
    Column,
    DeclarationError,
    DeclaredFiles,
    DeclaredTable,
    DeclaredText,
    RegularExpression,
    declared_tables,
    read_entries,
)
from assets.macro.periods import DecimalMark
from assets.parsing.tables import Names, fold
from warehouse.shared.countries import area_of
from warehouse.tables.macro import Frequency, SeriesType

BUILT_IN = Path(__file__).with_name("published_tables.toml")
# A placeholder for the alpha-3 code of a country.
AREA_IN_KEY = "{area}"


def _country(code: str) -> str:
    if area_of(code) is None:
        raise ValueError(f"{code} is no country of ISO 3166")
    return code


Country = Annotated[str, AfterValidator(_country)]


class PeriodColumns(DeclaredTable):
    """The columns that state the period of a row together, and the forms they are written in.

    Without any, the names of the columns are the periods. ``words`` replace words of a form before
    it is read, such as the months of a language.
    """

    columns: tuple[Column, ...]
    formats: tuple[DeclaredText, ...]
    frequency: Frequency
    words: Mapping[str, str] = {}


class TableSeries(DeclaredTable):
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
    title: RegularExpression | None = None
    row: RegularExpression | None = None
    note: RegularExpression | None = None
    address: RegularExpression | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Raise DeclarationError if members do not fit each other."""
        if self.row is not None and self.title is None:
            raise DeclarationError("title", f"{self.key}: a row needs the title above it")
        named = {
            name
            for pattern in (self.title, self.note)
            for name in re.compile(pattern or "").groupindex
        }
        if missing := set(re.findall(r"\{(.*?)\}", self.base or "")) - named:
            problem = f"{self.key}: neither title nor note names the {missing.pop()!r} of its base"
            raise DeclarationError("base", problem)
        return self

    def column_names(self) -> Names:
        """Return the folded names of its column."""
        return folded_names(self.column or ())


class TableEntry(DeclaredFiles):
    """One source of a file.

    Its figures are those of a ``country``, of that of each series, or of the one that the column
    ``area`` of a row names. ``heading`` is a pattern of the text above the columns, if there is
    any. ``other_names`` are those of columns in ``where``. ``marks`` next to a value or its year
    say what its status is.
    """

    page = "docs/add-a-table.md"

    base_url: BaseUrl
    country: Country | None = None
    area: Column | None = None
    heading: RegularExpression | None = None
    new_within: int = 45
    decimal: DecimalMark = "."
    other_names: Mapping[str, tuple[DeclaredText, ...]] = {}
    marks: Mapping[DeclaredText, DeclaredText] = {}
    period: PeriodColumns | None = None
    series: tuple[TableSeries, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Raise DeclarationError if members do not fit each other."""
        if not self.series:
            raise DeclarationError("series", f"declare at least one: [[{self.key}.series]]")
        by_name = self.period is not None and not self.period.columns
        for series in self.series:
            key, is_column, is_row = series.key, series.column is not None, series.row is not None
            if ((series.country or self.country) is None) == (self.area is None):
                raise DeclarationError("country", f"{key}: needs either a country or area")
            if (self.area is not None) != (AREA_IN_KEY in key):
                problem = f"{key}: a key has {AREA_IN_KEY} if and only if area says which it is"
                raise DeclarationError("series", problem)
            if by_name and (is_column or is_row):
                problem = f"{key}: the columns are periods, so where says which rows it has"
                raise DeclarationError("series", problem)
            if not by_name and is_column == is_row:
                raise DeclarationError("series", f"{key}: needs either column or row")
            if is_column and self.period is None:
                raise DeclarationError("period", f"{key} is a column: say where its periods are")
            if is_row and self.area is not None:
                problem = f"{key} is a row below a title: it has no such column"
                raise DeclarationError("area", problem)
        return self

    def column_names(self, name: str) -> Names:
        """Return the folded names of a column that ``where`` names."""
        return (fold(name), *map(fold, self.other_names.get(name, ())))


def folded_names(column: Column) -> Names:
    """Return the names of a column in comparable form."""
    return tuple(map(fold, column))


TABLES = declared_tables(BUILT_IN, TableEntry.page)
ENTRIES = tuple(read_entries(BUILT_IN, TableEntry))
