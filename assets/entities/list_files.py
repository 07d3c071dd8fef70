"""Files of exchange lists: TOML with one table per list, checked member by member when it is read.

The built-in lists are in ``exchange_lists.toml``; ``docs/add-an-exchange-list.md`` explains every
member. A table of an own file that has the key of a built-in list replaces the members it states:
so a licence that somebody has cleared is entered in a few lines.
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
from assets.parsing.tables import Names, Wanted, fold

BUILT_IN = Path(__file__).with_name("exchange_lists.toml")
PAGE = "docs/add-an-exchange-list.md"

# The name of a column, or the names that it has in different files.
Column = DeclaredText | tuple[DeclaredText, ...]
_MIC = re.compile("[A-Z0-9]{4}")
_IDENTIFYING = ("ticker", "isin", "lei", "register_number", "cik")


class Columns(DeclaredTable, frozen=True, kw_only=True):
    """Which columns of the list are read, as what."""

    ticker: Column | None = None
    name: Column | None = None
    isin: Column | None = None
    lei: Column | None = None
    register_number: Column | None = None
    cik: Column | None = None
    figi: Column | None = None
    composite_figi: Column | None = None
    share_class_figi: Column | None = None
    mic: Column | None = None
    currency: Column | None = None
    status: Column | None = None
    country: Column | None = None
    date: Column | None = None
    listed_from: Column | None = None
    listed_to: Column | None = None
    person: Column | None = None


class Everywhere(DeclaredTable, frozen=True, kw_only=True):
    """What holds for every row and is no column."""

    mic: Annotated[str, Meta(pattern="^[A-Z0-9]{4}$")] | None = None
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$")] | None = None
    country: Annotated[str, Meta(pattern="^[A-Z]{2}$")] | None = None


class ListEntry(DeclaredSource, frozen=True, kw_only=True):
    """One list of a file."""

    title: DeclaredText
    licence: DeclaredLicence
    base_url: DeclaredText | None = None
    hosts: tuple[DeclaredText, ...] = ()
    addresses: tuple[DeclaredText, ...] = ()
    complete: bool = False
    companies_only: bool = False
    encoding: DeclaredText = "cp1252"
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] | None = None
    columns: Columns
    optional: tuple[DeclaredText, ...] = ()
    everywhere: Everywhere = Everywhere()
    register: DeclaredText | None = None
    ticker_without: DeclaredText | None = None
    date_formats: tuple[DeclaredText, ...] = ()
    statuses: Mapping[str, str] = {}
    markets: Mapping[str, str] = {}
    only: Mapping[str, tuple[str, ...]] = {}
    left_out: Mapping[str, str] = {}
    notes: str = ""

    def names(self, member: str) -> Names:
        """Return the folded names of the column that is read as a member; none if there is none."""
        column = getattr(self.columns, member)
        if column is None:
            return ()
        return tuple(map(fold, (column,) if isinstance(column, str) else column))

    def wanted(self) -> Wanted:
        """Return the columns that a table of this list has."""
        members = {member: self.names(member) for member in Columns.__struct_fields__}
        required = [names for member, names in members.items() if member not in self.optional]
        optional = [names for member, names in members.items() if member in self.optional]
        # A filter over a column needs it; one over a member reads the column of that member.
        for name in (*self.only, *self.left_out):
            if name not in members:
                required.append((fold(name),))
        return Wanted(
            tuple(filter(None, required)),
            tuple(filter(None, optional)),
            self.encoding,
            self.delimiter,
        )


def read_lists(
    file: Path, built_in: Mapping[str, Any] | None = None, taken: Iterable[str] = ()
) -> list[ListEntry]:
    """Return the lists of a file; refuse a mistake, and a key that another source has."""
    return read_entries(file, ListEntry, _check, PAGE, built_in, taken)


def own_lists(files: Iterable[Path], taken: Iterable[str]) -> list[ListEntry]:
    """Return the lists of a user's own files; ``taken`` are the keys of all other sources."""
    return own_entries(files, read_lists, TABLES, taken)


def _check(entry: ListEntry) -> None:
    """Raise DeclarationError if members do not fit each other."""
    check_address("licence.stated_at", entry.licence.stated_at)
    if entry.addresses and entry.base_url is None:
        raise DeclarationError("addresses", "needs base_url")
    check_addresses(entry.base_url, entry.addresses)
    columns = entry.columns
    if not any(getattr(columns, member) for member in _IDENTIFYING):
        raise DeclarationError(
            "columns", f"name the column of at least one of {', '.join(_IDENTIFYING)}"
        )
    if columns.ticker and not (columns.mic or entry.everywhere.mic):
        raise DeclarationError("everywhere.mic", "a ticker needs its market: a column or this")
    if columns.register_number and not entry.register:
        raise DeclarationError("register", "say which register the numbers are of")
    for name, mic in entry.markets.items():
        if not _MIC.fullmatch(mic):
            raise DeclarationError(f"markets.{name}", f"{mic!r:.40} is not a MIC of ISO 10383")
    for member in entry.optional:
        if member not in Columns.__struct_fields__:
            raise DeclarationError("optional", f"{member} is none of the members of columns")
    for member, pattern in (("ticker_without", entry.ticker_without), *entry.left_out.items()):
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise DeclarationError(member, f"not a regular expression: {error}") from None


TABLES = declared_tables(BUILT_IN, PAGE)
ENTRIES = tuple(read_lists(BUILT_IN))
# How EDGAR names exchanges, in its list of tickers and everywhere else.
(EDGAR_MARKETS,) = (entry.markets for entry in ENTRIES if entry.key == "sec-tickers")
