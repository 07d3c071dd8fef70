"""Parse the lists of exchanges into organisations, their securities and listings.

How a list writes all that is data (``exchange_lists.toml``); this one reader reads every list.

Rows of one issuer become one organisation: those with the same LEI, register number or CIK, else
with the same name. Its id is minted from the strongest identifier that the list has of it: LEI,
register number, CIK, ISIN, or else the listing itself, so that an issuer of which only a ticker is
known exists too. What several differently named issuers of a list share, such as an ISIN on the
wrong line, identifies none of them.

A list that states its day is dated by it; any other by the day it was read.

A value that is not what its column says (an ISIN with a wrong check digit) is left out with a
reason, and the rest of the row is read; a row without any identifier is refused.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cache, partial
from typing import Any

import pycountry

from assets.entities.identifiers import (
    cik_of,
    doubt_of,
    has_digits,
    identifier_row,
    is_figi,
    is_isin,
    is_lei,
    mint,
)
from assets.entities.list_files import COMMUNITY, ListEntry
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import day_in_form
from assets.parsing.tables import Row, fold, table_rows
from quality.persons import Withheld, judge_name, personal_name_rule
from warehouse.names.reading import plain_name
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, IDENTIFIERS
from warehouse.shared.countries import country_code

# What lists write for no value; "NA" is not among them: it is a ticker, and Namibia.
_NO_VALUE = frozenset({"", "-", "--", "—", "n/a", "#n/a", "null", "none", "nan"})
# In capitals this is a ticker: no list writes "no value" that way.
_TICKER_IN_CAPITALS = "NAN"
_MIC = re.compile("[A-Z0-9]{4}")
_CURRENCY = re.compile("[A-Z]{3}")
# Exchanges that quote in a hundredth of a currency write these; ISO 4217 has no code for it.
_MINOR_UNITS = {"ZAC": "ZAR", "GBX": "GBP", "ILA": "ILS", "KWF": "KWD"}
# A year that means "open": 9999-12-31.
_LAST_YEAR = 2199
_DAY_FORMS = ("%Y-%m-%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
_FIGI_LEVELS = {"figi": "listing", "composite_figi": "composite", "share_class_figi": "share_class"}

_Row = dict[str, Any]


@dataclass
class _ListedRow:
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


def _why_left_out(entry: ListEntry, row: Row) -> str | None:
    """Return why a row is none of an issuer's shares, as the declaration says; else None."""
    for name, values in entry.only.items():
        value = _cell(entry, row, name)
        if value.casefold() not in {each.casefold() for each in values}:
            return f"only.{name} of its declaration"
    for name, pattern in entry.left_out.items():
        if _compiled(pattern).search(_cell(entry, row, name)):
            return f"left_out.{name} of its declaration"
    return None


def _read_row(entry: ListEntry, location: str, row: Row) -> _ListedRow:
    """Return what a row states; raise ValueError if it identifies nothing."""
    read, everywhere = _ListedRow(location), entry.everywhere

    def member(name: str, reader: Callable[[str], Any], default: str | None = None) -> Any:
        """Return the value of a member; None if it is none, with the reason."""
        value = _value(entry, row, name) or default
        try:
            return None if value is None else reader(value)
        except ValueError as error:
            read.problems.append(str(error))
            return None

    def day(name: str) -> Any:
        return member(name, partial(_day, name, entry.date_formats))

    read.ticker = _ticker(entry, row)
    _read_market(entry, read, row)
    read.name = _value(entry, row, "name")
    read.person = _value(entry, row, "person")
    read.isin = member("isin", partial(_checked, is_isin, "an ISIN"))
    read.lei = member("lei", partial(_checked, is_lei, "an LEI"))
    read.register_number = member("register_number", _register_number)
    read.cik = member("cik", cik_of)
    for name, level in _FIGI_LEVELS.items():
        if figi := member(name, partial(_checked, is_figi, "a FIGI")):
            read.figis[level] = figi
    read.currency = member("currency", _currency, everywhere.currency)
    read.status = member("status", lambda status: entry.statuses.get(status, status))
    read.country = member("country", _country, everywhere.country)
    read.day, read.listed_from, read.listed_to = map(day, ("date", "listed_from", "listed_to"))
    if read.listed_from and read.listed_to and read.listed_to < read.listed_from:
        read.problems.append(f"listed until {read.listed_to}, before {read.listed_from}")
        read.listed_to = None
    if read.ticker and not read.market and not (read.mic and _MIC.fullmatch(read.mic)):
        raise ValueError("no MIC or no ticker")
    if not (read.ticker or read.isin or read.lei or read.register_number or read.cik):
        said = "; ".join(read.problems)
        raise ValueError(f"no identifier of an issuer or its share{': ' + said if said else ''}")
    return read


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


def _read_market(entry: ListEntry, read: _ListedRow, row: Row) -> None:
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
        read.problems.append(f"{read.ticker!r:.40}: a ticker needs its market")
        read.ticker = None


def _checked(is_valid: Callable[[str], bool], what: str, value: str) -> str:
    upper = value.upper()
    if not is_valid(upper):
        raise ValueError(f"{upper!r:.40} is not {what}: its check digits are wrong")
    return upper


def _register_number(value: str) -> str:
    if not has_digits(value):
        raise ValueError(f"{value!r:.40} is no number of a register")
    return value


def _currency(value: str) -> str:
    code = _MINOR_UNITS.get(value.upper(), value.upper())
    if not _CURRENCY.fullmatch(code) or pycountry.currencies.get(alpha_3=code) is None:
        raise ValueError(f"{value!r:.40} is not a currency of ISO 4217")
    return code


def _country(value: str) -> str:
    code = country_code(value)
    if code is None:
        raise ValueError(f"{value!r:.40} is not a country of ISO 3166")
    return code


def _day(member: str, formats: tuple[str, ...], value: str) -> date | None:
    day = day_in_form(value, (*formats, *_DAY_FORMS))
    if day is None:
        raise ValueError(f"{member}: {value!r:.40} is no day in any form that is declared")
    return day if day.year <= _LAST_YEAR else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# The rows of one issuer in one list.
_Issuer = list[_ListedRow]


def _first(issuer: _Issuer, member: str) -> str | None:
    """Return the only value of a member; the smallest of several."""
    return min((value for row in issuer if (value := getattr(row, member))), default=None)


def _only(values: Iterable[str | None]) -> str | None:
    """Return the value that all rows which have one agree on; else None."""
    found = {value for value in values if value}
    return found.pop() if len(found) == 1 else None


def parse(document: Document, body: bytes, *, entry: ListEntry) -> Parsed:
    """Parse a document of a list: every row becomes identifiers, is left out or is refused."""
    parsed, left_out = Parsed(), Counter[str]()
    rows: list[_ListedRow] = []
    for location, row in table_rows(body, entry.wanted()):
        if isinstance(row, str):
            parsed.reject(IDENTIFIERS, document, location, row)
        elif reason := _why_left_out(entry, row):
            left_out[reason] += 1
        else:
            with parsed.rejecting(IDENTIFIERS, document, location):
                rows.append(_read_row(entry, location, row))
    _drop_shared(rows)
    for issuer in _issuers_of(rows):
        service_id = _service_id(entry, issuer)
        # The same listing on several days of one list: one row for each day.
        for listed in issuer:
            shared = _shared(document, entry, listed, service_id)
            parsed.add(IDENTIFIERS, [shared | each for each in _identifiers(entry, listed)])
        _add_name(parsed, document, entry, issuer, service_id)
    for listed in rows:
        for problem in listed.problems:
            parsed.reject(IDENTIFIERS, document, listed.location, problem, partial=True)
    # The rows whose market was on no list, or had expired.
    observed_on, doubts = document.observed_at.date(), Counter[str]()
    markets = Counter((row.mic, row.day or observed_on) for row in rows if row.mic)
    for (mic, day), count in markets.items():
        if doubt := doubt_of(mic, day):
            doubts[doubt] += count
    for doubt, count in doubts.items():
        text = f"{doubt}: {count} row{'s' * (count != 1)} kept as stated"
        parsed.reject(IDENTIFIERS, document, "", text, partial=True)
    # A list of thousands of bonds and options is one line of the quarantine for each kind.
    for reason, count in left_out.items():
        text = f"no shares of an issuer, by {reason}: {count} row{'s' * (count != 1)}"
        parsed.reject(IDENTIFIERS, document, "", text, partial=True)
    if not rows and not parsed.rejected:
        parsed.reject(IDENTIFIERS, document, "", "holds no row")
    return parsed


def _issuers_of(rows: Iterable[_ListedRow]) -> list[_Issuer]:
    """Group rows by issuer: by what identifies it, else by its name in the list."""
    by_name: dict[str, _Issuer] = defaultdict(list)
    nameless: list[_Issuer] = []
    for row in rows:
        if name := plain_name(row.name) if row.name else None:
            by_name[name].append(row)
        else:
            nameless.append([row])
    issuers: list[_Issuer] = []
    for named in by_name.values():
        # Two LEIs, register numbers or CIKs under one name are two organisations.
        groups: dict[tuple[str | None, ...], _Issuer] = defaultdict(list)
        numbered = set(map(_numbers, named)) - {(None, None, None)}
        for row in named:
            groups[next(iter(numbered)) if len(numbered) == 1 else _numbers(row)].append(row)
        issuers += groups.values()
    return [*issuers, *nameless]


def _numbers(row: _ListedRow) -> tuple[str | None, ...]:
    return row.lei, row.register_number, row.cik


def _drop_shared(rows: list[_ListedRow]) -> None:
    """Leave out ISINs and FIGIs that a list gives to issuers of different names."""
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        for kind, value in _security_ids(row):
            names[kind, value].add(plain_name(row.name) if row.name else "")
    for row in rows:
        for kind, value in list(_security_ids(row)):
            if len(names[kind, value] - {""}) > 1:
                row.problems.append(f"{value}: the list gives it to issuers of different names")
                if kind == "isin":
                    row.isin = None
                else:
                    del row.figis[kind]


def _security_ids(row: _ListedRow) -> Iterator[tuple[str, str]]:
    if row.isin:
        yield "isin", row.isin
    yield from row.figis.items()


def _service_id(entry: ListEntry, issuer: _Issuer) -> str:
    for member in ("lei", "register_number", "cik", "isin", "listing"):
        if value := _first(issuer, member):
            if member == "register_number":
                return mint("registry", f"{entry.register_name}:{value}")
            return mint("ticker" if member == "listing" else member, value)
    raise AssertionError("a row without any identifier is refused")


def _shared(document: Document, entry: ListEntry, row: _ListedRow, service_id: str) -> _Row:
    observed_on = document.observed_at.date()
    # A list of a day was public on that day; whatever it says, it was when it was read.
    day = min(row.day, observed_on) if row.day else observed_on
    # A list without a day is one publication that changes: what it shows again is not stored again.
    is_one = entry.columns.date is None
    return provenance(document, row.location, "file") | {
        "service_id": service_id,
        "available_at": day,
        "publication": entry.key if is_one else day.isoformat(),
    }


def _identifiers(entry: ListEntry, row: _ListedRow) -> Iterator[_Row]:
    if row.lei:
        yield identifier_row("lei", row.lei)
    if row.register_number:
        yield identifier_row("registry", row.register_number, entry.register_name)
    if row.cik:
        yield identifier_row("cik", row.cik)
    if row.isin:
        yield identifier_row("isin", row.isin)
    if listing := row.listing:
        yield identifier_row("ticker", listing, row.mic, row.status) | {
            "valid_from": row.listed_from,
            "valid_to": row.listed_to,
            "currency": row.currency,
        }
    # In a country with one market the FIGI of the listing is also the composite one.
    for figi, level in {figi: level for level, figi in row.figis.items()}.items():
        yield identifier_row("figi", figi) | {"figi_level": level}


def _add_name(
    parsed: Parsed, document: Document, entry: ListEntry, issuer: _Issuer, service_id: str
) -> None:
    """Add the organisation, if the list may name it."""
    row = min(issuer, key=lambda each: (each.day is None, each.day, each.location))
    # GLEIF's record names an issuer with an LEI.
    if row.name is None or _first(issuer, "lei"):
        return
    country = _only(each.country for each in issuer)
    # The ISIN may be that of a receipt, so that its country is not known to be the issuer's.
    # Some ISINs begin with the code of no country, as XS.
    of_isin = _only(each.isin and country_code(each.isin[:2]) for each in issuer)
    entity_type = _vouched(entry, issuer, row.name, country or of_isin)
    if isinstance(entity_type, Withheld):
        reason = f"the name is withheld: {entity_type.rule.replace('_', ' ')}"
        parsed.reject(ENTITIES, document, row.location, reason, partial=True)
        return
    unknown: _Row = dict.fromkeys(ENTITIES.content)
    # No list states under whose law an issuer is.
    named = {"legal_name": row.name, "country": country, "entity_type": entity_type}
    people = {each.person for each in issuer if each.person}
    named["withheld_names"] = "\n".join(sorted(people)) or None
    parsed.add(ENTITIES, [_shared(document, entry, row, service_id) | unknown | named])


def _vouched(
    entry: ListEntry, issuer: _Issuer, name: str, country: str | None
) -> str | Withheld | None:
    """Return the type of an organisation that may be named, or why it is withheld.

    A list that holds companies only is evidence, unless the name itself speaks for a person. That
    of a community is, of a row that has the number of a register or a security.
    """
    verdict = judge_name(name, country=country, scheme=None, identifier=None)
    if not isinstance(verdict, Withheld):
        return None
    has_number = any(row.register_number or row.isin or row.figis for row in issuer)
    is_company = entry.companies_only and (has_number or entry.rank != COMMUNITY)
    is_in_doubt = verdict.rule in ("no_evidence", "several_names")
    if is_in_doubt and is_company and not personal_name_rule(name, country, is_listed=True):
        return "company"
    return verdict
