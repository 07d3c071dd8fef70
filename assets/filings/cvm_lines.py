"""The lines of CVM's files: statements by company and account, and the index of documents.

A zip of a year has a file for each statement, consolidated and individual, and an index; any of
them can also be read by itself. They are told apart by their columns. Fields are separated by
semicolons and never quoted, in Latin-1; copies that were saved as UTF-8 are read too.
"""

import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import IO, Any

from stdnum.br import cnpj as cnpjs

from assets.filings.figures import Consolidation
from assets.parsing.csv_lines import LineTooLong, bounded_lines, decode_as_latin1
from assets.parsing.strict import calendar_day, number_from_text, printable_text
from assets.parsing.unpacking import located_records
from warehouse.methodology.line_items import LINE_ITEMS, LineItem
from warehouse.shared.data_files import csv_rows

# The accounts of CVM's charts that state the lines of statements, as data.
#
# ``cvm_accounts.csv`` has, for each line, the accounts that state it. Industry, banks and insurers
# have charts of their own, in which one code has several meanings: an account is identified by its
# code and its description together. A ``*`` is one part of a code. CVM states costs and taxes as
# negative amounts; ``sign`` turns them into what the line means. Accounts that each company names
# itself are not here: they cannot be distinguished.


TAXONOMY = "cvm"


@dataclass(frozen=True)
class Account:
    """An account of a chart, and the line that it states; the lowest rank wins."""

    item: LineItem
    name: str
    code: re.Pattern[str]
    description: str
    rank: int
    sign: int


def fold(text: str) -> str:
    """Return a description in comparable form: case, accents and blanks do not matter."""
    plain = unicodedata.normalize("NFKD", text)
    return " ".join(
        "".join(char for char in plain if not unicodedata.combining(char)).split()
    ).casefold()


def _accounts() -> Iterator[Account]:
    lines = {item.name: item for item in LINE_ITEMS}
    for row in csv_rows(__name__, "cvm_accounts"):
        yield Account(
            lines[row["line_item"]],
            f"{row['code']} {row['description']}",
            re.compile(re.escape(row["code"]).replace(r"\*", "[0-9]{2}")),
            fold(row["description"]),
            int(row["rank"]),
            int(row["sign"]),
        )


ACCOUNTS = tuple(_accounts())
_BY_DESCRIPTION: dict[str, list[Account]] = defaultdict(list)
for _account in ACCOUNTS:
    _BY_DESCRIPTION[_account.description].append(_account)


# Bounded: what companies name their own accounts is without end.
@lru_cache(1 << 16)
def account_of(code: str, description: str) -> Account | None:
    """Return the account of a code and a description as written; None if it states no line."""
    candidates = _BY_DESCRIPTION.get(fold(description), ())
    return next((account for account in candidates if account.code.fullmatch(code)), None)


_COMPANY = ("CNPJ_CIA", "DT_REFER", "VERSAO", "DENOM_CIA", "CD_CVM")
_STATEMENT = (
    *("GRUPO_DFP", "MOEDA", "ESCALA_MOEDA", "ORDEM_EXERC", "DT_FIM_EXERC"),
    *("CD_CONTA", "DS_CONTA", "VL_CONTA"),
)
_INDEX = ("CATEG_DOC", "ID_DOC", "DT_RECEB", "LINK_DOC")
_CONSOLIDATIONS: dict[str, Consolidation] = {
    "df consolidado": "consolidated",
    "df individual": "individual",
}
_SCALES = {"MIL": Decimal(1000), "UNIDADE": Decimal(1)}
_CURRENCIES = {"REAL": "BRL"}
_ORDERS = {"ultimo": "last", "penultimo": "last but one"}


@dataclass(frozen=True)
class Company:
    """A company as CVM numbers it: in the federal register, and among those it supervises."""

    cnpj: str
    cvm_code: str


@dataclass(frozen=True)
class Version:
    """A version of the document of a company for a reporting date."""

    company: Company
    reference: date
    number: int


@dataclass(frozen=True)
class NamedVersion:
    """A line that names a version of a document and its company, whatever else it says."""

    version: Version
    name: str


@dataclass(frozen=True)
class ListedDocument:
    """A line of the index: a version of a document, under its number at CVM."""

    version: Version
    name: str
    form: str
    document_id: str
    received_on: date
    link: str | None


@dataclass(frozen=True)
class UnreadDocument:
    """Why a line of the index is none."""

    reason: str


@dataclass(frozen=True)
class StatedAccount:
    """A line with an account that states a line item; ``value`` as written, in thousands or not."""

    version: Version
    name: str
    consolidation: Consolidation
    statement: str
    order: str
    account: Account
    element: str
    start: date | None
    end: date
    value: Decimal
    scale: Decimal
    currency: str


Line = NamedVersion | ListedDocument | UnreadDocument | StatedAccount
# A text instead of a line says why there is none.
LocatedLines = Iterator[tuple[str, Line | str]]


def located_lines(body: IO[bytes]) -> LocatedLines:
    """Yield what the files of a zip, or one of them, say of versions and accounts."""
    return located_records(body, _lines)


def _lines(body: "io.BufferedReader[Any]") -> LocatedLines:
    text = io.TextIOWrapper(body, "utf-8-sig", "surrogateescape")
    lines = bounded_lines(text)
    try:
        header = decode_as_latin1(next(lines, "")).strip().split(";")
        if not {*_COMPANY} <= {*header}:
            yield "", f"not a file of documents: no columns {', '.join(_COMPANY)}"
            return
        read = _reader({*header})
        for number, line in enumerate(lines, 2):
            cells = decode_as_latin1(line).rstrip("\r\n").split(";")
            if cells == [""]:
                continue
            try:
                if len(cells) != len(header):
                    raise ValueError("the line has more or fewer cells than the header")
                found = read(dict(zip(header, cells, strict=True)))
            except ValueError as error:
                is_index = read is _listed_document
                yield f"line {number}", UnreadDocument(str(error)) if is_index else str(error)
            else:
                if found is not None:
                    yield f"line {number}", found
    except LineTooLong as error:
        yield "", f"not a file of documents: {error}"


def _reader(columns: set[str]) -> Callable[[dict[str, str]], Line | None]:
    """Return what reads the lines of a file with these columns."""
    if {*_STATEMENT} <= columns:
        return _stated_account
    # Of audit reports and the like only the company and the version are read.
    return _listed_document if {*_INDEX} <= columns else _named_version


def _listed_document(cells: dict[str, str]) -> ListedDocument:
    number, link = cells["ID_DOC"].strip(), cells["LINK_DOC"].strip()
    if not number.isdecimal() or not number.isascii():
        raise ValueError(f"ID_DOC: {number!r:.40} is no number of a document")
    return ListedDocument(
        _version(cells),
        _name(cells),
        printable_text(cells["CATEG_DOC"]),
        number,
        calendar_day(cells["DT_RECEB"]),
        link or None,
    )


def _named_version(cells: dict[str, str]) -> NamedVersion:
    return NamedVersion(_version(cells), _name(cells))


def _stated_account(cells: dict[str, str]) -> StatedAccount | None:
    account = account_of(cells["CD_CONTA"], cells["DS_CONTA"])
    if account is None or "COLUNA_DF" in cells:
        return None
    order = _ORDERS.get(fold(cells["ORDEM_EXERC"]))
    if order is None:
        raise ValueError(f"ORDEM_EXERC: {cells['ORDEM_EXERC']!r:.40} is not known")
    group = fold(cells["GRUPO_DFP"]).partition(" - ")
    consolidation = _CONSOLIDATIONS.get(group[0])
    if consolidation is None:
        raise ValueError(f"GRUPO_DFP: {cells['GRUPO_DFP']!r:.60} is neither of a group nor of one")
    if cells["ESCALA_MOEDA"] not in _SCALES:
        raise ValueError(f"ESCALA_MOEDA: {cells['ESCALA_MOEDA']!r:.40} is no known scale")
    if cells["MOEDA"] not in _CURRENCIES:
        raise ValueError(f"MOEDA: {cells['MOEDA']!r:.40} is no known currency")
    start, end = _period(account, cells)
    return StatedAccount(
        _version(cells),
        _name(cells),
        consolidation,
        group[2],
        order,
        account,
        f"{cells['CD_CONTA']} {' '.join(cells['DS_CONTA'].split())}",
        start,
        end,
        _value(cells["VL_CONTA"]),
        _SCALES[cells["ESCALA_MOEDA"]],
        _CURRENCIES[cells["MOEDA"]],
    )


def _period(account: Account, cells: dict[str, str]) -> tuple[date | None, date]:
    end = calendar_day(cells["DT_FIM_EXERC"])
    if account.item.kind == "instant":
        return None, end
    start = calendar_day(cells.get("DT_INI_EXERC", ""))
    if start > end:
        raise ValueError(f"the period ends ({end}) before it starts ({start})")
    return start, end


def _value(text: str) -> Decimal:
    """Return a value without the zeros that fill it up to ten decimals."""
    value = number_from_text(text.replace(",", ".") if "." not in text else text)
    whole = value.to_integral_value()
    return whole if whole == value else value.normalize()


def _version(cells: dict[str, str]) -> Version:
    number = cells["VERSAO"].strip()
    if not number.isdecimal() or not number.isascii() or len(number) > 4:
        raise ValueError(f"VERSAO: {number!r:.40} is no version")
    cnpj = cells["CNPJ_CIA"].strip()
    if not cnpjs.is_valid(cnpj):
        raise ValueError(f"CNPJ_CIA: {cnpj!r:.40} is no CNPJ: its check digits are wrong")
    code = cells["CD_CVM"].strip()
    if not code.isdecimal() or not code.isascii() or not int(code):
        raise ValueError(f"CD_CVM: {code!r:.40} is no code of CVM")
    # Zeros fill the code up in documents, and not in the register.
    company = Company(cnpjs.format(cnpj), str(int(code)))
    return Version(company, calendar_day(cells["DT_REFER"]), int(number))


def _name(cells: dict[str, str]) -> str:
    return " ".join(printable_text(cells["DENOM_CIA"]).split())
