"""A world with what trips agents up: exact digits, many rows, large rows, non-ASCII text."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from falcon import testing
from mcp_server.service import EXPORTS_URL

from api.app import create_app
from tests.helpers.facts import fact
from tests.helpers.made_once import copy_of, made_once
from tests.helpers.mcp_service import mcp_served
from tests.helpers.record_rows import load, release_row
from tests.helpers.rest_service import Served, World, publish_invented, world_of
from warehouse.control.keys import KeyStore
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart

EXACT = "1234567890123456.78"
LARGE, TOO_LARGE = 30_000, 60_000
EXAMPLES: dict[str, dict[str, Any]] = {
    "search_entities": {"query": "Fictional"},
    "match_organisations": {"rows": [{"name": "Alpha", "country": "ZA"}]},
    "get_entity": {"service_id": "DCA1"},
    "describe_data": {"section": "series"},
    "resolve_identifier": {"id_type": "lei", "id_value": "213800AAAAAAAAAAAA01"},
    "get_identifiers": {"service_id": "DCA1"},
    "get_filings": {"service_id": "DCA1"},
    "get_changes": {"since": "2018-01-01"},
    "list_versions": {},
    "get_metrics": {"service_id": "DCA1"},
    "screen_issuers": {"metric": "net_margin"},
    "get_awards": {"country": "ZA"},
    "get_signal": {"signal_key": "single-bid-rate"},
    "check_claim": {"series": "FX.EUR.ZAR", "period": "2018", "value": 1},
    "get_fundamentals": {"service_id": "DCEXACT", "line_items": ["profit"]},
    "search_tenders": {"country": "ZA", "limit": 3},
    "get_macro": {"series": "FX.EUR.ZAR"},
    "get_resolved_parties": {"country": "ZA", "role": "buyer"},
    "get_quality_metrics": {"sku": "AF-FUND"},
}


@dataclass(frozen=True)
class Agents:
    """The world, the MCP server over it, and the REST service over the same build."""

    world: World
    server: Served
    rest: testing.TestClient

    def get(self, path: str, key: str, **parameters: Any) -> bytes:
        """Send a GET to the REST service, where the MCP server takes it to be."""
        answer = self.rest.simulate_get(
            path, params=parameters, headers={"X-API-Key": key}, host="127.0.0.1", port=8321
        )
        return answer.content


def _publish(root: Path) -> None:
    """Publish more than the invented world, in a second build of it."""
    record = Record(str(root / "record"))
    many = [
        fact("1", item=LINE_ITEMS[n % 40].name, issuer="DCMANY", year=2000 + n // 40)
        for n in range(200)
    ]
    load(record, FUNDAMENTALS, fact(EXACT, item="profit", issuer="DCEXACT"), *many)
    World(root, "", "").publish(*_large_releases())


@contextmanager
def served_agents(factory: pytest.TempPathFactory) -> Iterator[Agents]:
    """Serve the world, which a run publishes once."""

    def make(root: Path) -> None:
        shutil.copytree(made_once(factory, "invented", publish_invented), root)
        _publish(root)

    world = world_of(copy_of(made_once(factory, "agents", make), "agents", factory))
    store = KeyStore(world.keys)
    rest = testing.TestClient(create_app(Mart(world.marts), store, exports_url=EXPORTS_URL))
    with mcp_served(world) as server:
        yield Agents(world, server, rest)


def _large_releases() -> list[dict[str, object]]:
    """Return releases of a separate country: three small, one large, one too large."""
    sizes = (10, LARGE, 10, TOO_LARGE, 10)
    return [
        release_row(9000 + number, country="GH", release=_release("Ä" * (size // 2)))
        for number, size in enumerate(sizes)
    ]


def _release(title: str) -> str:
    return json.dumps({"tender": {"title": title}, "buyer": None}, ensure_ascii=False)
