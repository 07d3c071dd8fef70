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
    LICENCE_CHOICES,
    DeclarationError,
    DeclaredLicence,
    DeclaredSource,
    DeclaredTable,
    DeclaredText,
    check_address,
    check_addresses,
    checked_key,
    convert,
    declared_tables,
    merged,
    own_entries,
)
from assets.macro.iso_codes import area_of
from assets.macro.written_numbers import DecimalMark
from assets.parsing.tables import Names, fold
from warehouse.tables.macro import Frequency, SeriesType

BUILT_IN = Path(__file__).with_name("published_tables.toml")
PAGE = "docs/add-a-table.md"

# The name of a column, or the names that it has in different files.
Column = DeclaredText | tuple[DeclaredText, ...]


class PeriodColumns(DeclaredTable, frozen=True, kw_only=True):
    """The columns that state the period of a row together, and the forms they are written in.

    ``words`` replace words of a form before it is read, such as the months of a language.
    """

    columns: tuple[Column, ...]
    formats: tuple[DeclaredText, ...]
    frequency: Frequency
    words: Mapping[str, str] = {}


class TableSeries(DeclaredTable, frozen=True, kw_only=True):
    """One series of a source.

    In a table with a row for each period it is a ``column``, of the rows whose cells are as
    ``where`` says. In one with a column for each period it is the ``row`` that a pattern finds
    below a ``title``. ``address`` is a pattern for the documents that have it; without one all
    have. ``base`` may refer to what the pattern of the title names ``base``.
    """

    key: DeclaredText
    type: SeriesType
    unit: DeclaredText
    base: DeclaredText | None = None
    column: Column | None = None
    where: Mapping[str, str] = {}
    title: DeclaredText | None = None
    row: DeclaredText | None = None
    address: DeclaredText | None = None

    def column_names(self) -> Names:
        """Return the folded names of its column."""
        return folded_names(self.column or ())


class TableEntry(DeclaredSource, frozen=True, kw_only=True):
    """One source of a file."""

    title: DeclaredText
    licence: DeclaredLicence
    country: Annotated[str, Meta(pattern="^[A-Z]{2}$")]
    base_url: DeclaredText
    hosts: tuple[DeclaredText, ...] = ()
    addresses: tuple[DeclaredText, ...] = ()
    new_within: int = 45
    encoding: DeclaredText = "cp1252"
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] | None = None
    decimal: DecimalMark = "."
    period: PeriodColumns | None = None
    series: tuple[TableSeries, ...]
    notes: str = ""


def folded_names(column: Column) -> Names:
    """Return the names of a column in comparable form."""
    return tuple(map(fold, (column,) if isinstance(column, str) else column))


def read_tables(
    file: Path, built_in: Mapping[str, Any] | None = None, taken: Iterable[str] = ()
) -> list[TableEntry]:
    """Return the sources of a file; refuse a mistake, and a key that another source has."""
    entries = []
    for key, table in declared_tables(file, PAGE).items():
        checked_key(file, key, table, frozenset(taken), PAGE)
        whole = merged((built_in or {}).get(key, {}), table)
        entries.append(convert(file, key, whole, TableEntry, _check, LICENCE_CHOICES, PAGE))
    return entries


def own_tables(files: Iterable[Path], taken: Iterable[str]) -> list[TableEntry]:
    """Return the sources of a user's own files; ``taken`` are the keys of all other sources."""
    return own_entries(files, read_tables, TABLES, taken)


def _check(entry: TableEntry) -> None:
    """Raise DeclarationError if members do not fit each other."""
    check_address("licence.stated_at", entry.licence.stated_at)
    check_addresses(entry.base_url, entry.addresses)
    if area_of(entry.country) is None:
        raise DeclarationError("country", f"{entry.country} is no country of ISO 3166")
    if not entry.series:
        raise DeclarationError("series", f"declare at least one: [[{entry.key}.series]]")
    for series in entry.series:
        if (series.column is None) == (series.row is None):
            raise DeclarationError("series", f"{series.key}: needs either column or row")
        if series.column is not None and entry.period is None:
            raise DeclarationError("period", f"{series.key} is a column: say where its periods are")
        if series.row is not None and series.title is None:
            raise DeclarationError("series", f"{series.key}: a row needs the title above it")
        for member in ("title", "row", "address"):
            try:
                re.compile(getattr(series, member) or "")
            except re.error as error:
                problem = f"{series.key}: {member} is no regular expression: {error}"
                raise DeclarationError("series", problem) from None


TABLES = declared_tables(BUILT_IN, PAGE)
ENTRIES = tuple(read_tables(BUILT_IN))
