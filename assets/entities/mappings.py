"""Mapping files and lists of listings to identifiers.

None of them carries a date inside: what they say was known on the day they were read.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

from stdnum import isin as isins
from stdnum import lei as leis

from assets.entities.ids import mint
from assets.parsed import Parsed, provenance
from warehouse.landing import Document
from warehouse.record.tables import IDENTIFIERS

_Row = dict[str, str]


class _Refused(ValueError):
    """A row that cannot be kept, and why, in words."""


def isin_mapping(document: Document, body: bytes) -> Parsed:
    """Read GLEIF's file of LEIs and the ISINs of their securities."""
    return _read(document, body, ("lei", "isin"), _isin)


def opencorporates_mapping(document: Document, body: bytes) -> Parsed:
    """Read GLEIF's file of LEIs and OpenCorporates ids."""
    return _read(document, body, ("lei", "opencorporatesid"), _opencorporates)


def listings(document: Document, body: bytes) -> Parsed:
    """Read an exchange's list: MIC, ticker, ISIN, name, currency, status.

    The issuer is known by its LEI where the list gives one, else by the ISIN.
    """
    return _read(document, body, ("mic", "ticker", "isin"), _listing)


def _read(
    document: Document,
    body: bytes,
    columns: tuple[str, ...],
    identifiers: Callable[[_Row], list[dict[str, Any]]],
) -> Parsed:
    parsed = Parsed()
    observed_on = document.observed_at.date()
    dated = {"available_at": observed_on, "publication": observed_on.isoformat()}
    for place, row in _rows(body, columns):
        try:
            found = identifiers(_whole(row))
        except _Refused as refusal:
            parsed.reject(IDENTIFIERS, document, place, str(refusal))
        else:
            shared = provenance(document, place, "file") | dated
            parsed.add(IDENTIFIERS, [shared | each for each in found])
    return parsed


def _whole(row: _Row | str) -> _Row:
    if isinstance(row, str):
        raise _Refused(row)
    return row


def _rows(body: bytes, columns: tuple[str, ...]) -> Iterator[tuple[str, _Row | str]]:
    """Give each line with its place; a text in place of a row says why there is none."""
    reader = csv.reader(io.StringIO(_text(body), newline=""), strict=False)
    lines = _lines(reader)
    place, header = next(lines, ("", "the body is empty"))
    names = [] if isinstance(header, str) else [name.strip().lower() for name in header]
    if not set(columns) <= set(names):
        yield "", f"no list with the columns {', '.join(columns)}"
        return
    read = 0
    for place, line in lines:
        read += 1
        whole = isinstance(line, str) or len(line) == len(names)
        if isinstance(line, str) or not whole:
            yield place, line if isinstance(line, str) else "not as many values as columns"
        else:
            yield place, {name: each.strip() for name, each in zip(names, line, strict=True)}
    if not read:
        yield "", "holds no row"


def _lines(reader: Any) -> Iterator[tuple[str, list[str] | str]]:
    while True:
        try:
            line = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"line {reader.line_num}", f"not CSV: {error}"
        else:
            if any(each.strip() for each in line):
                yield f"line {reader.line_num}", line


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body.decode("latin-1")


def _isin(row: _Row) -> list[dict[str, Any]]:
    return [_identifier(mint("lei", _lei(row)), "isin", _valid_isin(row), None, None)]


def _opencorporates(row: _Row) -> list[dict[str, Any]]:
    lei, number = _lei(row), row["opencorporatesid"]
    if not re.fullmatch(r"[a-z]{2}(?:_[a-z]{2,3})?/\S+", number):
        raise _Refused(f"{number!r:.40} is no OpenCorporates id")
    return [_identifier(mint("lei", lei), "aggregator", number, "opencorporates", None)]


def _listing(row: _Row) -> list[dict[str, Any]]:
    mic, ticker, status = row["mic"].upper(), row["ticker"], row.get("status") or None
    if not re.fullmatch("[A-Z0-9]{4}", mic) or not ticker:
        raise _Refused("no MIC or no ticker")
    isin = _valid_isin(row) if row["isin"] else None
    lei = _lei(row) if row.get("lei") else None
    if lei is None and isin is None:
        raise _Refused("neither an LEI nor an ISIN: the issuer is not known")
    issuer = mint("lei", lei) if lei else mint("isin", str(isin))
    found = [_identifier(issuer, "ticker", f"{mic}:{ticker}", mic, status)]
    return [*found, _identifier(issuer, "isin", isin, None, None)] if isin else found


def _lei(row: _Row) -> str:
    lei = row["lei"].upper()
    if len(lei) != 20 or not leis.is_valid(lei):
        raise _Refused(f"{lei!r:.40} is no LEI: its check digits are wrong")
    return lei


def _valid_isin(row: _Row) -> str:
    isin = row["isin"].upper()
    if len(isin) != 12 or not isins.is_valid(isin):
        raise _Refused(f"{isin!r:.40} is no ISIN: its check digit is wrong")
    return isin


def _identifier(
    service_id: str, kind: str, value: str, issuer: str | None, status: str | None
) -> dict[str, Any]:
    return {
        "service_id": service_id,
        "id_type": kind,
        "id_value": value,
        "issuer": issuer,
        "status": status,
    }
