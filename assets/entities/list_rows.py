"""One row of an exchange list, read by the members that its declaration names.

A value that is not what its column says (an ISIN with a wrong check digit) is left out with a
reason, and the rest of the row is read; a row without any identifier is refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache

import pycountry

from assets.entities.identifiers import cik_of, has_digits, is_figi, is_isin, is_lei
from assets.entities.list_files import ListEntry
from assets.parsing.tables import Row, fold

# What stands for no value in lists; "NA" is not among them: it is a ticker, and Namibia.
_NO_VALUE = frozenset({"", "-", "--", "—", "n/a", "#n/a", "null", "none", "nan"})
# In capitals this is a ticker as well: nobody writes "no value" so.
_TICKER_IN_CAPITALS = "NAN"
_MIC = re.compile("[A-Z0-9]{4}")
_CURRENCY = re.compile("[A-Z]{3}")
# Exchanges that quote in a hundredth of a currency write these; ISO 4217 has no code for it.
_MINOR_UNITS = {"ZAC": "ZAR", "GBX": "GBP", "ILA": "ILS", "KWF": "KWD"}
# A year that means "open": 9999-12-31.
_LAST_YEAR = 2199
FIGI_LEVELS = {
    "figi": "listing",
    "composite_figi": "composite",
    "share_class_figi": "share_class",
}


class RowRefused(ValueError):
    """A row that is not accepted; the message is the reason."""


@dataclass
class ListedRow:
    """What a row states; None if absent. ``problems`` are the values that were left out.

    ``market`` is the name of a market without a MIC, in capitals. ``person`` is somebody whom the
    row names, and who must be in nothing that is made from it.
    """

    location: str
    ticker: str | None = None
    mic: str | None = None
    market: str | None = None
    name: str | None = None
    isin: str | None = None
    lei: str | None = None
    register_number: str | None = None
    cik: str | None = None
    figis: dict[str, str] = field(default_factory=dict)
    currency: str | None = None
    status: str | None = None
    country: str | None = None
    day: date | None = None
    listed_from: date | None = None
    listed_to: date | None = None
    person: str | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def listing(self) -> str | None:
        """The listing as it is stored, MIC:TICKER; a market without a MIC has its name there."""
        market = self.mic or self.market
        return f"{market}:{self.ticker}" if market and self.ticker else None


def why_left_out(entry: ListEntry, row: Row) -> str | None:
    """Return why a row is none of an issuer's shares, as the declaration says; else None."""
    for name, values in entry.only.items():
        value = _cell(entry, row, name)
        if value.casefold() not in {each.casefold() for each in values}:
            return f"only.{name} of its declaration"
    for name, pattern in entry.left_out.items():
        if _compiled(pattern).search(_cell(entry, row, name)):
            return f"left_out.{name} of its declaration"
    return None


def read_row(entry: ListEntry, location: str, row: Row) -> ListedRow:
    """Return what a row states; raise RowRefused if it identifies nothing."""
    read = ListedRow(location)
    read.ticker = _ticker(entry, row)
    _read_market(entry, read, row)
    read.name = _value(entry, row, "name")
    read.person = _value(entry, row, "person")
    read.isin = _checked(read, _value(entry, row, "isin"), is_isin, "an ISIN")
    read.lei = _checked(read, _value(entry, row, "lei"), is_lei, "an LEI")
    read.register_number = _register_number(read, _value(entry, row, "register_number"))
    read.cik = _cik(read, _value(entry, row, "cik"))
    for member, level in FIGI_LEVELS.items():
        figi = _checked(read, _value(entry, row, member), is_figi, "a FIGI")
        if figi:
            read.figis[level] = figi
    read.currency = _currency(read, _value(entry, row, "currency") or entry.everywhere.currency)
    status = _value(entry, row, "status")
    read.status = entry.statuses.get(status, status) if status else None
    read.country = _country(read, _value(entry, row, "country") or entry.everywhere.country)
    read.day = _day(entry, read, row, "date")
    read.listed_from = _day(entry, read, row, "listed_from")
    read.listed_to = _day(entry, read, row, "listed_to")
    if read.listed_from and read.listed_to and read.listed_to < read.listed_from:
        read.problems.append(f"listed until {read.listed_to}, before {read.listed_from}")
        read.listed_to = None
    _refuse(read)
    return read


def _refuse(read: ListedRow) -> None:
    if read.ticker and not read.market and not (read.mic and _MIC.fullmatch(read.mic)):
        raise RowRefused("no MIC or no ticker")
    if not (read.ticker or read.isin or read.lei or read.register_number or read.cik):
        said = "; ".join(read.problems)
        raise RowRefused(f"no identifier of an issuer or its share{': ' + said if said else ''}")


def _cell(entry: ListEntry, row: Row, name: str) -> str:
    """Return the cell of a member, or of a column that is no member."""
    if hasattr(entry.columns, name):
        return next((row[column] for column in entry.names(name) if column in row), "")
    return row.get(fold(name), "")


def _value(entry: ListEntry, row: Row, member: str) -> str | None:
    value = _cell(entry, row, member)
    return None if value.casefold() in _NO_VALUE else value


def _ticker(entry: ListEntry, row: Row) -> str | None:
    written = _cell(entry, row, "ticker")
    ticker = written if written == _TICKER_IN_CAPITALS else _value(entry, row, "ticker")
    if ticker and entry.ticker_without:
        ticker = _compiled(entry.ticker_without).sub("", ticker).strip()
    return ticker or None


def _read_market(entry: ListEntry, read: ListedRow, row: Row) -> None:
    """Read the market: its MIC, or its name if the list names markets.

    A list that names them may leave one out: that ticker is listed nowhere.
    """
    value = _value(entry, row, "mic")
    if not entry.markets:
        read.mic = (value or entry.everywhere.mic or "").upper() or None
    elif value:
        mics = {fold(name): mic for name, mic in entry.markets.items()}
        read.mic = mics.get(fold(value))
        read.market = None if read.mic else value.upper()
    elif read.ticker:
        read.problems.append(f"{read.ticker!r:.40}: a ticker needs its market beside it")
        read.ticker = None


def _cik(read: ListedRow, value: str | None) -> str | None:
    try:
        return cik_of(value) if value else None
    except ValueError as error:
        read.problems.append(str(error))
        return None


def _checked(
    read: ListedRow, value: str | None, is_valid: Callable[[str], bool], what: str
) -> str | None:
    if value is None:
        return None
    upper = value.upper()
    if not is_valid(upper):
        read.problems.append(f"{upper!r:.40} is not {what}: its check digits are wrong")
        return None
    return upper


def _register_number(read: ListedRow, value: str | None) -> str | None:
    if value is None or has_digits(value):
        return value
    read.problems.append(f"{value!r:.40} is no number of a register")
    return None


def _currency(read: ListedRow, value: str | None) -> str | None:
    if value is None:
        return None
    code = _MINOR_UNITS.get(value.upper(), value.upper())
    if not _CURRENCY.fullmatch(code) or pycountry.currencies.get(alpha_3=code) is None:
        read.problems.append(f"{value!r:.40} is not a currency of ISO 4217")
        return None
    return code


def _country(read: ListedRow, value: str | None) -> str | None:
    if value is None:
        return None
    found = _country_code(value)
    if found is None:
        read.problems.append(f"{value!r:.40} is not a country of ISO 3166")
    return found


@lru_cache(maxsize=1 << 10)
def _country_code(value: str) -> str | None:
    """Return the alpha-2 code of a country by its code or its exact name."""
    try:
        return str(pycountry.countries.lookup(value).alpha_2)
    except LookupError:
        return None


def _day(entry: ListEntry, read: ListedRow, row: Row, member: str) -> date | None:
    value = _value(entry, row, member)
    if value is None:
        return None
    day = _parsed_day(value, entry.date_formats)
    if day is None:
        read.problems.append(f"{member}: {value!r:.40} is no day in any form that is declared")
        return None
    return day if day.year <= _LAST_YEAR else None


@lru_cache(maxsize=1 << 12)
def _parsed_day(value: str, formats: tuple[str, ...]) -> date | None:
    for form in (*formats, "%Y-%m-%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.strptime(value, form).date()
        except ValueError:
            continue
    return None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
