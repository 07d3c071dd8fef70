"""Macro documents for tests, and their rows."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.macro import alfred, sdmx_csv, worldbank
from assets.parsing.parsed import Parsed
from tests.helpers.parsed_rows import has_columns, untyped
from tests.helpers.paths import REAL
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import Document
from warehouse.record.tables import RecordTable

REAL_FILES = REAL / "filings_macro"
FRED = "https://api.example.org/fred/series/observations?series_id="


def document(
    body: bytes, url: str = "https://example.org/d", read: str = "2026-02-10", **headers: str
) -> Document:
    day = datetime.fromisoformat(read).replace(tzinfo=UTC)
    digest = hashlib.sha256(body).hexdigest()
    return Document(digest, "a-source", url, "cc-by", day, 200, headers, len(body))


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    return [row for table in untyped(parsed).rows.values() for row in table]


def reasons(parsed: Parsed) -> list[str]:
    return [item.reason for table in parsed.rejected.values() for item in table]


def locations(parsed: Parsed) -> list[str]:
    refs = [item.source_ref for table in parsed.rejected.values() for item in table]
    return [ref.partition("#")[2] for ref in refs]


def fits(table: RecordTable, parsed: Parsed) -> bool:
    complete = all(has_columns(row, table) for row in rows(parsed))
    return complete and not to_arrow(table, rows(parsed))[1]


def observed(iso3: str = "NGA", **changes: Any) -> dict[str, Any]:
    stated = {
        "indicator": {"id": "NY.GDP.MKTP.CD", "value": "GDP (current US$)"},
        "country": {"id": "NG", "value": "Nigeria"},
        "countryiso3code": iso3,
        "date": "2010",
        "value": 369062464570.386,
        "unit": "",
        "obs_status": "",
        "decimal": 0,
    }
    return stated | changes


def page(*rows_of_page: Any, **meta: Any) -> Parsed:
    head = {"page": 1, "pages": 1, "per_page": "50", "total": 1, "lastupdated": "2024-03-28"}
    body = json.dumps([head | meta, list(rows_of_page)]).encode()
    return worldbank.parse(document(body), body)


EXR = "KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS"
VERSIONS = EXR.replace("OBS_STATUS", "ACTION,VALID_FROM,VALID_TO")


def sdmx(*lines: str, header: str = EXR, **how: str) -> Parsed:
    body = "\r\n".join([header, *lines]).encode()
    return sdmx_csv.parse(document(body, **how), body)


def vintages(*entries: Any, series: str = "GDP", url: str = FRED, **headers: str) -> Parsed:
    body = json.dumps({"units": "lin", "observations": list(entries)}).encode()
    return alfred.parse(document(body, f"{url}{series}", **headers), body)


def vintage(start: str, value: object, day: str = "1946-01-01") -> dict[str, Any]:
    return {"realtime_start": start, "realtime_end": "9999-12-31", "date": day, "value": value}


def real(folder: str, pattern: str = "*") -> Iterator[tuple[Path, bytes]]:
    if not REAL_FILES.is_dir():
        pytest.skip("the real files are not next to the checkout")
    files = [path for path in sorted((REAL_FILES / folder).glob(pattern)) if path.is_file()]
    return ((path, path.read_bytes()) for path in files)
