"""Parse GLEIF's mapping files into identifiers.

None of them contains a date: what they state is available from the day they were read.
"""

import io
import re
from collections.abc import Callable, Iterator
from typing import IO, Any

from assets.entities.identifiers import is_isin, is_lei, mint
from assets.parsing.csv_lines import decode_as_latin1, read_lines
from assets.parsing.parsed import Parsed, join_parts, provenance
from assets.parsing.zips import located_records
from warehouse.record.landing import Document
from warehouse.record.tables import IDENTIFIERS

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


def _parse_rows(
    document: Document,
    body: IO[bytes],
    columns: tuple[str, ...],
    identifiers: Callable[[_Row], list[dict[str, Any]]],
) -> Iterator[Parsed]:
    parsed = Parsed()
    observed_on = document.observed_at.date()
    dated = {"available_at": observed_on, "publication": observed_on.isoformat()}
    located_rows = located_records(body, lambda bare: _rows(bare, columns))
    for count, (location, row) in enumerate(located_rows, 1):
        try:
            row_identifiers = identifiers(_valid_row(row))
        except _RowRefused as refusal:
            parsed.reject(IDENTIFIERS, document, location, str(refusal))
        else:
            shared = provenance(document, location, "file") | dated
            parsed.add(IDENTIFIERS, [shared | identifier for identifier in row_identifiers])
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
