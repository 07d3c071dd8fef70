"""Tender packages for tests."""

import json
from datetime import UTC, datetime
from typing import Any

from assets.parsing.parsed import Parsed
from assets.tenders.parse import parse_portal
from assets.tenders.portal_files import ENTRIES, Portal, portal_of
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from warehouse.record.landing import Document

KEY = b"a key of the tests"
OBSERVED = datetime(2026, 8, 15, 2, tzinfo=UTC)
# The built-in portals by key.
PORTALS = {entry.key: portal_of(entry) for entry in ENTRIES}
PORTUGAL = Portal("pt-base", "PT", "Portugal", "cc-by")


def document(source: str = "za-etenders") -> Document:
    url = "https://example.org/releases"
    return Document("0" * 64, source, url, "public-domain", OBSERVED, 200, {}, 0)


def read(body: Any, source: str = "za-etenders", portal: Portal | None = None) -> Parsed:
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return untyped(parse_portal(document(source), body, portal or PORTALS[source], KEY))


REAL_PORTALS = {"co_colombia": "co-secop", "za_etenders": "za-etenders", "ke_ppra": "ke-ppip"}


def real(path: str) -> Parsed:
    key = next((key for folder, key in REAL_PORTALS.items() if folder in path), None)
    return read((REAL / path).read_bytes(), portal=PORTALS[key] if key else PORTUGAL)
