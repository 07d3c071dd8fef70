"""Statements that companies filed with Brazil's securities commission (CVM), as it publishes them.

CVM's files always show the latest version of a document alone. A document is dated by the day on
which we, or a dated recording, first read it: the day on which CVM received it (``DT_RECEB``) can
be months before it could be read. So each reading adds the versions that are new in it, and
versions that the publisher has dropped since stay. The index lists all versions, also those whose
figures are no longer available: they are filings, dated in the same way.

A group's figures are read; those of the parent company alone only where a document has no others.
Every account of the form has an amount, zero if the company left it empty: a statement of nothing
but zeros, and a profit of which no part goes to anybody, were not filled in.

A zip of a year has a file for each statement, consolidated and individual, and an index; any of
them can also be read by itself. They are told apart by their columns. Fields are separated by
semicolons and never quoted, in Latin-1; copies that were saved as UTF-8 are read too.

``cvm_accounts.csv`` has, for each line, the accounts of CVM's charts that state it. Industry, banks
and insurers have charts of their own, in which one code has several meanings: an account is
identified by its code and its description together. A ``*`` is one part of a code. CVM states costs
and taxes as negative amounts; ``sign`` turns them into what the line means. Accounts that each
company names itself are not there: they cannot be distinguished.
"""

import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import IO, Any, NamedTuple

from stdnum.br import cnpj as cnpjs

from assets.entities.identifiers import CNPJ_REGISTER, identifier_row, mint
from assets.filings.figures import Consolidation, Reading, of_line, without_filling_zeros
from assets.filings.periods import KnownPeriods, Span
from assets.filings.restatements import marked_figures
from assets.parsing.csv_lines import LineTooLong, bounded_lines, cells_by_column, decode_as_latin1
from assets.parsing.parsed import Parsed, join_parts, provenance
from assets.parsing.strict import calendar_day, number_from_text, printable_text
from assets.parsing.unpacking import located_records
from quality.contacts import has_contact
from quality.persons import personal_name_rule
from warehouse.methodology.line_items import LINE_ITEMS, LineItem
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, FILINGS, FUNDAMENTALS, IDENTIFIERS
from warehouse.shared.data_files import csv_rows
from warehouse.tables.sighting import FIRST_READ

TAXONOMY = "cvm"
CVM_CODE = "BR-CVM"
# Groups apply IFRS since 2010; companies alone what Brazil adopted of it, and banks less.
_STANDARDS = {"consolidated": "ifrs", "individual": "br-gaap"}
_PARTS = {
    "profit": ("profit_attributable", "profit_minority"),
    "comprehensive_income": ("comprehensive_income_attributable", "comprehensive_income_minority"),
}
_FILINGS_PER_PART = 200

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


class Account(NamedTuple):
    """An account of a chart, and the line that it states; the lowest rank wins."""

    item: LineItem
    name: str
    code: re.Pattern[str]
    description: str
    rank: int
    sign: int


def fold(text: str) -> str:
    """Return a description in comparable form: case, accents and blanks do not matter."""
    decomposed = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(plain.split()).casefold()


_LINES = {item.name: item for item in LINE_ITEMS}
ACCOUNTS = tuple(
    Account(
        _LINES[row["line_item"]],
        f"{row['code']} {row['description']}",
        re.compile(re.escape(row["code"]).replace(r"\*", "[0-9]{2}")),
        fold(row["description"]),
        int(row["rank"]),
        int(row["sign"]),
    )
    for row in csv_rows(__name__, "cvm_accounts")
)
_BY_DESCRIPTION: dict[str, list[Account]] = defaultdict(list)
for _account in ACCOUNTS:
    _BY_DESCRIPTION[_account.description].append(_account)


# Bounded: what companies name their own accounts is without end.
@lru_cache(1 << 16)
def account_of(code: str, description: str) -> Account | None:
    """Return the account of a code and a description as written; None if it states no line."""
    candidates = _BY_DESCRIPTION.get(fold(description), ())
    return next((account for account in candidates if account.code.fullmatch(code)), None)


class Version(NamedTuple):
    """A version of the document of a company for a reporting date.

    CVM numbers a company in the federal register, and among those it supervises.
    """

    cnpj: str
    reference: date
    number: int
    cvm_code: str

    @property
    def service_id(self) -> str:
        """The id of the company."""
        return mint("registry", f"{CNPJ_REGISTER}:{self.cnpj}")


class _StatedAccount(NamedTuple):
    """An account that states a line item, with the value that the line means."""

    account: Account
    consolidation: Consolidation
    statement: str
    order: str
    element: str
    start: date | None
    end: date
    value: Decimal
    currency: str


class _Line(NamedTuple):
    """A line names a version of a document and its company.

    A line of a statement may state an account; one of the index lists the document, with the
    columns of a filing.
    """

    version: Version
    name: str
    stated: _StatedAccount | None = None
    listed: dict[str, Any] | None = None


class _UnreadDocument(NamedTuple):
    """Why a line of the index is none."""

    reason: str


_Located = tuple[str, _StatedAccount]
# A text instead of a line says why there is none.
_LocatedLines = Iterator[tuple[str, _Line | _UnreadDocument | str]]


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the zip of a year, or one file of it; figures are located by file and line."""
    return join_parts(stream(document, io.BytesIO(body)))


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse the zip of a year, or one file of it, some filings at a time."""
    parsed = Parsed()
    names: dict[tuple[str, str], tuple[Version, str, str]] = {}
    filings: dict[Version, list[_Located]] = defaultdict(list)
    listed: dict[Version, dict[str, Any]] = {}
    for location, line in located_records(body, _lines):
        if isinstance(line, str):
            parsed.reject(FUNDAMENTALS, document, location, line)
            continue
        if isinstance(line, _UnreadDocument):
            parsed.reject(FILINGS, document, location, line.reason)
            continue
        version = line.version
        names.setdefault((version.cnpj, version.cvm_code), (version, location, line.name))
        if line.stated is not None:
            filings[version].append((location, line.stated))
        elif line.listed is not None:
            listed[version] = line.listed
            row = provenance(document, location, "file") | _published(document, version)
            parsed.add(FILINGS, [row | line.listed])
    for version, location, name in names.values():
        _name_company(parsed, document, version, location, name)
    for count, version in enumerate(sorted(filings, key=lambda each: each[:3]), 1):
        _add_figures(parsed, document, version, filings.pop(version), listed.get(version, {}))
        if count % _FILINGS_PER_PART == 0:
            yield parsed
            parsed = Parsed()
    yield parsed


def _lines(body: "io.BufferedReader[Any]") -> _LocatedLines:
    text = io.TextIOWrapper(body, "utf-8-sig", "surrogateescape")
    lines = bounded_lines(text)
    try:
        header = decode_as_latin1(next(lines, "")).strip().split(";")
        if not {*_COMPANY} <= {*header}:
            yield "", f"not a file of documents: no columns {', '.join(_COMPANY)}"
            return
        # Of audit reports and the like only the company and the version are read.
        read: Callable[[dict[str, str]], _Line | None] = _named_version
        if {*_STATEMENT} <= {*header}:
            read = _stated_account
        elif {*_INDEX} <= {*header}:
            read = _listed_document
        for number, line in enumerate(lines, 2):
            cells = decode_as_latin1(line).rstrip("\r\n").split(";")
            if cells == [""]:
                continue
            try:
                found = read(cells_by_column(header, cells))
            except ValueError as error:
                is_index = read is _listed_document
                yield f"line {number}", _UnreadDocument(str(error)) if is_index else str(error)
            else:
                if found is not None:
                    yield f"line {number}", found
    except LineTooLong as error:
        yield "", f"not a file of documents: {error}"


def _named_version(cells: dict[str, str]) -> _Line:
    return _Line(_version(cells), " ".join(printable_text(cells["DENOM_CIA"]).split()))


def _listed_document(cells: dict[str, str]) -> _Line:
    number = cells["ID_DOC"].strip()
    if not number.isdecimal() or not number.isascii():
        raise ValueError(f"ID_DOC: {number!r:.40} is no number of a document")
    line = _named_version(cells)
    listed = {
        "form": printable_text(cells["CATEG_DOC"]),
        "period_end": line.version.reference,
        "document_id": number,
        "version": line.version.number,
        "received_on": calendar_day(cells["DT_RECEB"]),
        "received_at": None,
        "link": cells["LINK_DOC"].strip() or None,
    }
    return line._replace(listed=listed)


def _stated_account(cells: dict[str, str]) -> _Line | None:
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
    line = _named_version(cells)
    value = _value(cells["VL_CONTA"]) * _SCALES[cells["ESCALA_MOEDA"]] * account.sign
    stated = _StatedAccount(
        account,
        consolidation,
        group[2],
        order,
        f"{cells['CD_CONTA']} {' '.join(cells['DS_CONTA'].split())}",
        start,
        end,
        # Plus zero: a cost of nothing is not minus nothing.
        value + 0,
        _CURRENCIES[cells["MOEDA"]],
    )
    return line._replace(stated=stated)


def _period(account: Account, cells: dict[str, str]) -> tuple[date | None, date]:
    end = calendar_day(cells["DT_FIM_EXERC"])
    if account.item.kind == "instant":
        return None, end
    start = calendar_day(cells.get("DT_INI_EXERC", ""))
    if start > end:
        raise ValueError(f"the period ends ({end}) before it starts ({start})")
    return start, end


def _value(text: str) -> Decimal:
    return without_filling_zeros(number_from_text(text if "." in text else text.replace(",", ".")))


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
    reference = calendar_day(cells["DT_REFER"])
    return Version(cnpjs.format(cnpj), reference, int(number), str(int(code)))


def _name_company(
    parsed: Parsed, document: Document, version: Version, location: str, name: str
) -> None:
    day = document.observed_at.date()
    shared = {
        **provenance(document, location, "file"),
        "service_id": version.service_id,
        "available_at": day,
        # One publication, however often it is read: what repeats is not stored again.
        "publication": document.source,
    }
    numbers = ((CNPJ_REGISTER, version.cnpj), (CVM_CODE, version.cvm_code))
    identifiers = [identifier_row("registry", number, register) for register, number in numbers]
    parsed.add(IDENTIFIERS, [shared | row for row in identifiers])
    # CVM supervises companies only, whatever they are called; a remark may name a receiver.
    rule = personal_name_rule(name, "BR") if "(" in name else None
    if rule or has_contact(name):
        reason = f"the name is withheld: {(rule or 'contact_in_name').replace('_', ' ')}"
        parsed.reject(ENTITIES, document, location, reason, partial=True)
        return
    content: dict[str, Any] = dict.fromkeys(ENTITIES.content)
    content |= {"legal_name": name, "country": "BR", "jurisdiction": "BR", "entity_type": "company"}
    parsed.add(ENTITIES, [shared | content])


def _published(document: Document, version: Version) -> dict[str, Any]:
    """Return when a version could be read, and of whom; it is a publication."""
    return {
        "service_id": version.service_id,
        "available_at": document.observed_at.date(),
        "available_at_evidence": FIRST_READ,
        "publication": f"{version.cvm_code}/{version.reference}/{version.number:04}",
    }


def _add_figures(
    parsed: Parsed,
    document: Document,
    version: Version,
    lines: list[_Located],
    listed: Mapping[str, Any],
) -> None:
    """Add the figures of a version of a document, with what the index lists of it."""
    day = document.observed_at.date()
    published = _published(document, version) | {
        "document_id": listed.get("document_id"),
        "form": listed.get("form"),
        "document_url": listed.get("link"),
    }
    # Those of the company alone only if there are no others.
    of_group = [each for each in lines if each[1].consolidation == "consolidated"]
    stated = list(_filled_in(parsed, document, of_group or lines))
    known = _periods(version.reference, [line for _, line in stated])
    readings = []
    for location, line in stated:
        if line.end > day:
            reason = f"the period ends ({line.end}) after the document was read ({day})"
            parsed.reject(FUNDAMENTALS, document, location, reason)
        else:
            readings.append(_reading(document, location, line, known, published))
    marked = marked_figures(parsed, document, readings, ())
    parsed.add(FUNDAMENTALS, [reading.row for reading in marked])


def _filled_in(parsed: Parsed, document: Document, lines: list[_Located]) -> Iterator[_Located]:
    """Yield the lines that the company filled in; reject zeros that only look like figures."""
    columns: dict[tuple[Any, ...], list[_Located]] = defaultdict(list)
    for location, line in lines:
        columns[line.statement, line.order, line.start, line.end].append((location, line))
    for column in columns.values():
        if not any(line.value for _, line in column):
            reason = "every amount of the statement is zero: it was not filled in"
            parsed.reject(FUNDAMENTALS, document, column[0][0], reason)
            continue
        values = {line.account.item.name: line.value for _, line in column}
        empty = {
            part
            for whole, parts in _PARTS.items()
            if values.get(whole) and not any(values.get(part) for part in parts)
            for part in parts
        }
        for location, line in column:
            if line.account.item.name in empty:
                reason = f"{line.account.item.name}: no part of the total goes to anybody"
                parsed.reject(FUNDAMENTALS, document, location, reason)
            else:
                yield location, line


def _periods(reference: date, lines: Iterable[_StatedAccount]) -> KnownPeriods:
    """Return the periods of a filing, and the years that its columns since a year's start tell."""
    spans = [(line.start, line.end) for line in lines if line.start is not None]
    known = KnownPeriods()
    known.add(spans)
    begun = min((start for start, end in spans if end == reference), default=None)
    if begun is not None and not any(_year_from(span[0]) == span for span in spans):
        year_earlier = begun.replace(year=begun.year - 1, day=min(begun.day, 28))
        known.add([_year_from(begun), _year_from(year_earlier)])
    return known


def _year_from(start: date) -> Span:
    end = start.replace(year=start.year + 1, day=min(start.day, 28))
    return start, end - timedelta(days=1)


def _reading(
    document: Document,
    location: str,
    line: _StatedAccount,
    known: KnownPeriods,
    published: dict[str, Any],
) -> Reading:
    account = line.account
    period, label = known.named(line.start, line.end)
    row = {
        **provenance(document, location, "file"),
        **of_line(
            account.item,
            (TAXONOMY, line.element),
            _STANDARDS[line.consolidation],
            line.currency,
            line.consolidation,
        ),
        **published,
        "value_reported": line.value,
        "period_type": period,
        "period_start": line.start,
        "period_end": line.end,
        "fiscal_label": label,
    }
    return Reading(line.element, account.rank, location, row)
