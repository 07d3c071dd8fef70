"""The real files next to the checkout, parsed and loaded."""

import hashlib
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from assets.parsing.parsed import Parsed
from assets.source import Parse
from tests.helpers.paths import REAL
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES

REAL_FILES = REAL / "filings_macro"
TABLES = {table.name: table for table in RECORD_TABLES}


def read_file(parse: Parse, path: Path, url: str = "", **headers: str) -> Parsed:
    body = path.read_bytes()
    day = datetime(2026, 11, 14, tzinfo=UTC)
    digest = hashlib.sha256(body).hexdigest()
    address = url or path.as_uri()
    source = path.parent.name
    return parse(Document(digest, source, address, "cc-by", day, 200, headers, len(body)), body)


def load(record: Record, name: str, parsed: Parsed) -> tuple[int, int, int, int]:
    table, misfits = to_arrow(TABLES[name], parsed.rows.get(name, []))
    rejected = [*parsed.rejected.get(name, []), *misfits]
    entry = append(record, TABLES[name], table, Load("real", ()), rejected=rejected)
    return entry.read, entry.appended, entry.held, entry.quarantined


def filed_until(body: bytes, day: str) -> bytes:
    """Return the company facts that were filed until a day."""
    company = json.loads(body, parse_float=Decimal)
    for elements in company["facts"].values():
        for described in elements.values():
            for unit, items in described["units"].items():
                described["units"][unit] = [item for item in items if item["filed"] <= day]
    return json.dumps(company, default=float).encode()
