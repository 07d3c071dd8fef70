"""Files of exchange lists: TOML with one table per list, read by the models here.

The built-in lists are in ``exchange_lists.toml``; ``docs/add-an-exchange-list.md`` explains every
member. A table of an own file that has the key of a built-in list replaces the members it states:
so a licence that somebody has cleared is entered in a few lines.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assets.declared_files import (
    Column,
    DeclarationError,
    DeclaredFiles,
    DeclaredTable,
    DeclaredText,
    RegularExpression,
    declared_tables,
    own_entries,
    read_entries,
)
from assets.parsing.tables import Names, Wanted, fold

BUILT_IN = Path(__file__).with_name("exchange_lists.toml")

Mic = Annotated[str, Field(pattern="^[A-Z0-9]{4}$")]
COMMUNITY = "community"
_IDENTIFYING = ("ticker", "isin", "lei", "register_number", "cik")


class Columns(DeclaredTable):
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


class Everywhere(DeclaredTable):
    """What holds for every row and is no column."""

    mic: Mic | None = None
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] | None = None
    country: Annotated[str, Field(pattern="^[A-Z]{2}$")] | None = None


class ListEntry(DeclaredFiles):
    """One list of a file."""

    page = "docs/add-an-exchange-list.md"

    # Who puts the list together: the exchange or regulator itself, or others from many sources.
    rank: Literal["official", "community"] = "official"
    complete: bool = False
    companies_only: bool = False
    columns: Columns
    optional: tuple[DeclaredText, ...] = ()
    everywhere: Everywhere = Everywhere()
    # ``register`` is a method of every class of pydantic.
    register_name: DeclaredText | None = Field(default=None, alias="register")
    ticker_without: RegularExpression | None = None
    date_formats: tuple[DeclaredText, ...] = ()
    statuses: Mapping[str, str] = {}
    markets: Mapping[str, Mic] = {}
    only: Mapping[str, tuple[str, ...]] = {}
    left_out: Mapping[str, RegularExpression] = {}

    def names(self, member: str) -> Names:
        """Return the folded names of the column that is read as a member; none if there is none."""
        return tuple(map(fold, getattr(self.columns, member) or ()))

    def wanted(self) -> Wanted:
        """Return the columns that a table of this list has."""
        members = {member: self.names(member) for member in Columns.model_fields}
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

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Raise DeclarationError if members do not fit each other."""
        if self.addresses and self.base_url is None:
            raise DeclarationError("addresses", "needs base_url")
        columns = self.columns
        if not any(getattr(columns, member) for member in _IDENTIFYING):
            raise DeclarationError(
                "columns", f"name the column of at least one of {', '.join(_IDENTIFYING)}"
            )
        if columns.ticker and not (columns.mic or self.everywhere.mic):
            raise DeclarationError("everywhere.mic", "a ticker needs its market: a column or this")
        if columns.register_number and not self.register_name:
            raise DeclarationError("register", "say which register the numbers are of")
        for member in self.optional:
            if member not in Columns.model_fields:
                raise DeclarationError("optional", f"{member} is none of the members of columns")
        return self


TABLES = declared_tables(BUILT_IN, ListEntry.page)
ENTRIES = tuple(read_entries(BUILT_IN, ListEntry))
# How EDGAR names exchanges, in its list of tickers and everywhere else.
(EDGAR_MARKETS,) = (entry.markets for entry in ENTRIES if entry.key == "sec-tickers")


def community_lists(files: Iterable[Path] = ()) -> frozenset[str]:
    """Return the keys of the lists of rank community, built in or of a user's own files."""
    entries = (*ENTRIES, *own_entries(files, ListEntry, (), TABLES))
    ranks = {entry.key: entry.rank for entry in entries}
    return frozenset(key for key, rank in ranks.items() if rank == COMMUNITY)


COMMUNITY_LISTS = community_lists()
