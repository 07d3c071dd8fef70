"""Mapping files and lists of listings to identifiers.

None of them carries a date inside: what they say was known on the day they were read.
"""

import io
import re
from collections.abc import Callable, Iterator
from typing import IO, Any

import pycountry

from assets.entities.identifiers import is_isin, is_lei, mint
from assets.parsing.csv_lines import decode_as_latin1, read_lines
from assets.parsing.parsed import Parsed, join_parts, provenance
from assets.parsing.zips import located_records
from quality.persons import Withheld, judge_name
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, IDENTIFIERS

ROWS_A_PART = 20_000

_Row = dict[str, str]


class _Refused(ValueError):
    """A row that cannot be kept, and why, in words."""


def isin_mapping(document: Document, body: bytes) -> Parsed:
    """Read GLEIF's file of LEIs and the ISINs of their securities, bare or zipped."""
    return join_parts(isin_stream(document, io.BytesIO(body)))


def isin_stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Read GLEIF's file of LEIs and ISINs in parts."""
    return _read(document, body, ("lei", "isin"), _isin)


def opencorporates_mapping(document: Document, body: bytes) -> Parsed:
    """Read GLEIF's file of LEIs and OpenCorporates ids, bare or zipped."""
    return join_parts(opencorporates_stream(document, io.BytesIO(body)))


def opencorporates_stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Read GLEIF's file of LEIs and OpenCorporates ids in parts."""
    return _read(document, body, ("lei", "opencorporatesid"), _opencorporates)


def listings(document: Document, body: bytes) -> Parsed:
    """Read an exchange's list: MIC, ticker, ISIN, name, currency, status.

    The issuer is known by its LEI where the list gives one, else by the ISIN; then the list is
    what names it, if the name is established to be an organisation's.
    """
    columns = ("mic", "ticker", "isin")
    return join_parts(_read(document, io.BytesIO(body), columns, _listing, _named))


def _read(
    document: Document,
    body: IO[bytes],
    columns: tuple[str, ...],
    identifiers: Callable[[_Row], list[dict[str, Any]]],
    entities: Callable[[_Row], list[dict[str, Any]]] | None = None,
) -> Iterator[Parsed]:
    parsed = Parsed()
    observed_on = document.observed_at.date()
    dated = {"available_at": observed_on, "publication": observed_on.isoformat()}
    found = located_records(body, lambda plain: _rows(plain, columns))
    for read, (place, row) in enumerate(found, 1):
        try:
            known = identifiers(_whole(row))
            named = entities(row) if entities else []
        except _Refused as refusal:
            parsed.reject(IDENTIFIERS, document, place, str(refusal))
        else:
            shared = provenance(document, place, "file") | dated
            parsed.add(IDENTIFIERS, [shared | each for each in known])
            if named:
                parsed.add(ENTITIES, [shared | each for each in named])
        if read % ROWS_A_PART == 0:
            yield parsed
            parsed = Parsed()
    if parsed.rows or parsed.rejected:
        yield parsed


def _whole(row: _Row | str) -> _Row:
    if isinstance(row, str):
        raise _Refused(row)
    return row


def _rows(body: IO[bytes], columns: tuple[str, ...]) -> Iterator[tuple[str, _Row | str]]:
    """Give each line with its place; a text in place of a row says why there is none."""
    found = read_lines(body)
    place, header = next(found, ("", "the body is empty"))
    names = [] if isinstance(header, str) else [name.strip().lower() for name in header]
    if not set(columns) <= set(names):
        yield "", f"no list with the columns {', '.join(columns)}"
        return
    empty = True
    for place, line in found:
        empty = False
        if isinstance(line, str):
            yield place, line
        elif len(line) != len(names):
            yield place, "not as many values as columns"
        else:
            values = (decode_as_latin1(each).strip() for each in line)
            yield place, dict(zip(names, values, strict=True))
    if empty:
        yield "", "holds no row"


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


def _named(row: _Row) -> list[dict[str, Any]]:
    """Name the issuer of a listing that only its ISIN identifies."""
    name, isin = row.get("name"), row["isin"].upper()
    if row.get("lei") or not name or not isin:
        return []
    # The country of an ISIN is that of the issuer, or of the agency where it is no country.
    country = isin[:2] if pycountry.countries.get(alpha_2=isin[:2]) else None
    verdict = judge_name(name, country=country, scheme=None, identifier=None)
    if isinstance(verdict, Withheld):
        return []
    unknown = dict.fromkeys(set(ENTITIES.content) - {"legal_name"})
    return [{"service_id": mint("isin", isin), **unknown, "legal_name": name}]


def _lei(row: _Row) -> str:
    lei = row["lei"].upper()
    if not is_lei(lei):
        raise _Refused(f"{lei!r:.40} is no LEI: its check digits are wrong")
    return lei


def _valid_isin(row: _Row) -> str:
    isin = row["isin"].upper()
    if not is_isin(isin):
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
