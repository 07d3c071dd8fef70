"""Parse mapping files and lists of listings into identifiers.

None of them contains a date: what they state is available from the day they were read.
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

ROWS_PER_PART = 20_000

_Row = dict[str, str]


class _RowRefused(ValueError):
    """A row that is not accepted; the message is the reason."""


def isin_mapping(document: Document, body: bytes) -> Parsed:
    """Parse GLEIF's file of LEIs and the ISINs of their securities, bare or zipped."""
    return join_parts(isin_stream(document, io.BytesIO(body)))


def isin_stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse GLEIF's file of LEIs and ISINs in parts."""
    return _parse_rows(document, body, ("lei", "isin"), _isin)


def opencorporates_mapping(document: Document, body: bytes) -> Parsed:
    """Parse GLEIF's file of LEIs and OpenCorporates ids, bare or zipped."""
    return join_parts(opencorporates_stream(document, io.BytesIO(body)))


def opencorporates_stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse GLEIF's file of LEIs and OpenCorporates ids in parts."""
    return _parse_rows(document, body, ("lei", "opencorporatesid"), _opencorporates)


def listings(document: Document, body: bytes) -> Parsed:
    """Parse an exchange's list: MIC, ticker, ISIN, name, currency, status.

    The issuer is identified by its LEI if the list has one, else by the ISIN; then the list also
    names it, if the name is established to be an organisation's.
    """
    columns = ("mic", "ticker", "isin")
    return join_parts(_parse_rows(document, io.BytesIO(body), columns, _listing, _issuer_entity))


def _parse_rows(
    document: Document,
    body: IO[bytes],
    columns: tuple[str, ...],
    identifiers: Callable[[_Row], list[dict[str, Any]]],
    entities: Callable[[_Row], list[dict[str, Any]]] | None = None,
) -> Iterator[Parsed]:
    parsed = Parsed()
    observed_on = document.observed_at.date()
    dated = {"available_at": observed_on, "publication": observed_on.isoformat()}
    located_rows = located_records(body, lambda bare: _rows(bare, columns))
    for count, (location, row) in enumerate(located_rows, 1):
        try:
            row_identifiers = identifiers(_valid_row(row))
            row_entities = entities(row) if entities else []
        except _RowRefused as refusal:
            parsed.reject(IDENTIFIERS, document, location, str(refusal))
        else:
            shared = provenance(document, location, "file") | dated
            parsed.add(IDENTIFIERS, [shared | identifier for identifier in row_identifiers])
            if row_entities:
                parsed.add(ENTITIES, [shared | entity for entity in row_entities])
        if count % ROWS_PER_PART == 0:
            yield parsed
            parsed = Parsed()
    if parsed.rows or parsed.rejected:
        yield parsed


def _valid_row(row: _Row | str) -> _Row:
    if isinstance(row, str):
        raise _RowRefused(row)
    return row


def _rows(body: IO[bytes], columns: tuple[str, ...]) -> Iterator[tuple[str, _Row | str]]:
    """Iterate over (location, row); a string instead of a row is the reason why there is none."""
    located_lines = read_lines(body)
    location, header = next(located_lines, ("", "the body is empty"))
    names = [] if isinstance(header, str) else [name.strip().lower() for name in header]
    if not set(columns) <= set(names):
        yield "", f"no list with the columns {', '.join(columns)}"
        return
    empty = True
    for location, line in located_lines:
        empty = False
        if isinstance(line, str):
            yield location, line
        elif len(line) != len(names):
            yield location, "not as many values as columns"
        else:
            values = (decode_as_latin1(value).strip() for value in line)
            yield location, dict(zip(names, values, strict=True))
    if empty:
        yield "", "holds no row"


def _isin(row: _Row) -> list[dict[str, Any]]:
    return [_identifier(mint("lei", _lei(row)), "isin", _valid_isin(row), None, None)]


def _opencorporates(row: _Row) -> list[dict[str, Any]]:
    lei, number = _lei(row), row["opencorporatesid"]
    if not re.fullmatch(r"[a-z]{2}(?:_[a-z]{2,3})?/\S+", number):
        raise _RowRefused(f"{number!r:.40} is no OpenCorporates id")
    return [_identifier(mint("lei", lei), "aggregator", number, "opencorporates", None)]


def _listing(row: _Row) -> list[dict[str, Any]]:
    mic, ticker, status = row["mic"].upper(), row["ticker"], row.get("status") or None
    if not re.fullmatch("[A-Z0-9]{4}", mic) or not ticker:
        raise _RowRefused("no MIC or no ticker")
    isin = _valid_isin(row) if row["isin"] else None
    lei = _lei(row) if row.get("lei") else None
    if lei is None and isin is None:
        raise _RowRefused("neither an LEI nor an ISIN: the issuer is not known")
    issuer = mint("lei", lei) if lei else mint("isin", str(isin))
    listed = [_identifier(issuer, "ticker", f"{mic}:{ticker}", mic, status)]
    return [*listed, _identifier(issuer, "isin", isin, None, None)] if isin else listed


def _issuer_entity(row: _Row) -> list[dict[str, Any]]:
    """Return the issuer of a listing that only its ISIN identifies, if it may be named."""
    name, isin = row.get("name"), row["isin"].upper()
    # GLEIF's record names an issuer with an LEI.
    if row.get("lei") or not name or not isin:
        return []
    # The country of an ISIN is the issuer's; some prefixes, as XS, are no country.
    country = isin[:2] if pycountry.countries.get(alpha_2=isin[:2]) else None
    verdict = judge_name(name, country=country, scheme=None, identifier=None)
    if isinstance(verdict, Withheld):
        return []
    unknown = dict.fromkeys(set(ENTITIES.content) - {"legal_name"})
    return [{"service_id": mint("isin", isin), **unknown, "legal_name": name}]


def _lei(row: _Row) -> str:
    lei = row["lei"].upper()
    if not is_lei(lei):
        raise _RowRefused(f"{lei!r:.40} is no LEI: its check digits are wrong")
    return lei


def _valid_isin(row: _Row) -> str:
    isin = row["isin"].upper()
    if not is_isin(isin):
        raise _RowRefused(f"{isin!r:.40} is no ISIN: its check digit is wrong")
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
