"""SEC filings for tests, and their rows."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.filings import companyfacts, xbrl_reports
from assets.parsing.parsed import Parsed
from tests.helpers.paths import REAL
from warehouse.record.landing import Document

REAL_FILINGS = REAL / "filings_macro" / "filings"
ACCN_1, ACCN_2 = "0001193125-19-000001", "0001193125-20-000001"


def document(body: bytes, url: str = "https://example.org/d.json", **headers: str) -> Document:
    digest = hashlib.sha256(body).hexdigest()
    observed_at = datetime(2026, 11, 14, tzinfo=UTC)
    return Document(digest, "a-source", url, "public-domain", observed_at, 200, headers, len(body))


def fact(**changes: Any) -> dict[str, Any]:
    members = {
        "start": "2018-01-01",
        "end": "2018-12-31",
        "val": 100,
        "accn": ACCN_1,
        "fy": 2018,
        "fp": "FY",
        "form": "20-F",
        "filed": "2019-03-29",
    }
    return {key: value for key, value in (members | changes).items() if value != "-"}


def company(facts: dict[str, Any], cik: object = 1172724) -> bytes:
    return json.dumps({"cik": cik, "entityName": "Fictional Mining", "facts": facts}).encode()


def read(elements: dict[str, dict[str, list[Any]]], taxonomy: str = "ifrs-full") -> Parsed:
    units = {element: {"label": None, "units": units} for element, units in elements.items()}
    body = company({taxonomy: units})
    return companyfacts.parse(document(body), body)


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    return parsed.rows.get("fundamentals", [])


def later_rows(parsed: Parsed) -> list[dict[str, Any]]:
    """Return the figures without apparent restatements, in order of their filings."""
    found = (row for row in rows(parsed) if row.get("apparent_restatement") is None)
    return sorted(found, key=lambda row: (row["available_at"], row["publication"]))


def apparent(parsed: Parsed) -> list[tuple[Any, str]]:
    """Return the values that only look like restatements, and what each is."""
    return [
        (row["value_reported"], row["apparent_restatement"])
        for row in sorted(rows(parsed), key=lambda row: row["available_at"])
        if row.get("apparent_restatement") is not None
    ]


def reasons(parsed: Parsed) -> list[str]:
    return [row.reason for rows in parsed.rejected.values() for row in rows]


def locations(parsed: Parsed) -> list[str]:
    refs = [row.source_ref for rows in parsed.rejected.values() for row in rows]
    return [ref.partition("#")[2] for ref in refs]


def filer(**changes: Any) -> bytes:
    recent = {
        "accessionNumber": ["0001172724-25-000010", "0001172724-26-000002"],
        "filingDate": ["2025-03-27", "2026-02-01"],
        "form": ["20-F", "6-K"],
    }
    members = {
        "cik": "0001172724",
        "entityType": "operating",
        "name": "Fictional Gold Ltd",
        "tickers": ["FGL", "FGLB"],
        "exchanges": ["NYSE", "OTC"],
        "lei": "2138002QX8KZTPLXS721",
        "stateOfIncorporation": "T3",
        "addresses": {"business": {"stateOrCountry": "T3", "countryCode": None}},
        "formerNames": [{"name": "Fictional Gold & Silver Ltd"}],
        "filings": {"recent": recent, "files": []},
    }
    return json.dumps(members | changes).encode()


LEI = "989900FICTIONAL00170"
NAMESPACES = {
    "ifrs-full": "https://xbrl.ifrs.org/taxonomy/2021-03-24/ifrs-full",
    "iso4217": "http://www.xbrl.org/2003/iso4217",
    "scheme": "http://standards.iso.org/iso/17442",
    "cik": "http://www.sec.gov/CIK",
}


def report_fact(value: object = "1234567890123456.78", **changes: Any) -> dict[str, Any]:
    decimals = changes.pop("decimals", None)
    dimensions = {
        "concept": "ifrs-full:Revenue",
        "entity": f"scheme:{LEI}",
        "period": "2023-01-01T00:00:00/2024-01-01T00:00:00",
        "unit": "iso4217:EUR",
    }
    reported = {"value": value, "dimensions": dimensions | changes}
    return reported if decimals is None else reported | {"decimals": decimals}


def report(*facts: dict[str, Any], **headers: str) -> Parsed:
    info = {"documentType": "https://xbrl.org/2021/xbrl-json", "namespaces": NAMESPACES}
    facts_by_id = {f"f-{number}": fact for number, fact in enumerate(facts)}
    body = json.dumps({"documentInfo": info, "facts": facts_by_id}).encode()
    return xbrl_reports.parse(document(body, "https://example.org/x/r-1.json", **headers), body)


def real(folder: str) -> Iterator[tuple[Path, bytes]]:
    if not REAL_FILINGS.is_dir():
        pytest.skip("the real files are not next to the checkout")
    files = [path for path in sorted((REAL_FILINGS / folder).iterdir()) if path.is_file()]
    return ((path, path.read_bytes()) for path in files)


def real_rows(name: str) -> list[dict[str, Any]]:
    (body,) = (body for path, body in real("companyfacts") if path.name == name)
    return rows(companyfacts.parse(document(body), body))
