"""The real server on the sample world; every response is checked against its OpenAPI document."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPMessage
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from tests.helpers import installation
from tests.helpers.made_once import copy_of
from tests.helpers.rest_service import Served, World, served
from tests.helpers.stores import Kind, Stores, stores_of
from tests.helpers.waiting import wait_until
from warehouse.control.keys import KeyStore, create_key, sandbox
from warehouse.serve.build import Mart
from warehouse.shared.tiers import TIERS, TierName

REQUIRED_QUERY = {
    "/v1/fundamentals": "&service_ids=DCNOBODY",
    "/v1/awards": "&country=ZA",
    "/v1/changes": "&since=2020-01-01",
    "/v1/filings": "&service_id=DCNOBODY",
    "/v1/shared/facts": "&entity_id=ZAF",
    "/v1/crosswalk": "&id_type=lei&id_value=2138002QX8KZTPLXS721",
    "/v1/screen": "&metric=net_margin",
    "/v1/search": "&query=fictional",
}
JSON, PROBLEM = "application/json", "application/problem+json"


@dataclass(frozen=True)
class WireResponse:
    """A response as received."""

    status: int
    headers: HTTPMessage
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def rows(self) -> list[dict[str, Any]]:
        body = self.body
        return cast(list[dict[str, Any]], body["observations" if "data" not in body else "data"])


@dataclass
class Contract:
    """A running server, requested with keys that never reach a limit."""

    server: Served
    stores: Stores
    world: World
    document: dict[str, Any]
    _keys: dict[TierName, tuple[str, int]] = field(default_factory=dict)
    _validators: dict[str, Draft202012Validator] = field(default_factory=dict)

    @cached_property
    def mart(self) -> Mart:
        return Mart(self.stores.datastore.url)

    @cached_property
    def key_store(self) -> KeyStore:
        return KeyStore(self.stores.key_store.url)

    def key(self, tier: TierName = "professional") -> str:
        """Return a key that has requests left in this minute."""
        key, remaining = self._keys.get(tier, ("", 0))
        if remaining == 0:
            key, remaining = create_key(self.key_store, tier), TIERS[tier].per_minute // 2
            if self.key_store.database.path is None:
                # Every process of a server sees a key of a database server within a second.
                time.sleep(1)
            wait_until(lambda: self.server.get("/v1/versions", key)[0] == 200)
        self._keys[tier] = key, remaining - 1
        return key

    def get(
        self, path: str, tier: TierName | None = "professional", **headers: str
    ) -> WireResponse:
        """Send a GET and check the response against the OpenAPI document."""
        key = None if tier is None else self.key(tier)
        answer = WireResponse(*self.server.get(path, key, **headers))
        self.check(path, answer)
        return answer

    def problem(
        self, path: str, status: int, code: str, tier: TierName | None = "professional", **h: str
    ) -> dict[str, Any]:
        """Send a request that must be refused; return the problem."""
        answer = self.get(path, tier, **h)
        assert answer.status == status, answer.raw
        assert answer.headers["Content-Type"] == PROBLEM
        body: dict[str, Any] = answer.body
        assert (body["code"], body["status"]) == (code, status)
        assert body["type"].endswith(f"/problems/{code}") and body["title"] and body["detail"]
        assert body["instance"] == answer.headers["X-Request-Id"]
        return body

    def check(self, path: str, answer: WireResponse) -> None:
        """Check status, headers and body against the OpenAPI document."""
        operation = self._operation(path.partition("?")[0])
        if operation is None:
            return
        response = operation["responses"].get(str(answer.status))
        assert response is not None, f"{path} answered {answer.status}: {answer.raw[:300]!r}"
        for name, reference in response["headers"].items():
            header = self.document["components"]["headers"][name]
            assert reference == {"$ref": f"#/components/headers/{name}"}
            assert not header["required"] or name in answer.headers, name
        media_type = answer.headers["Content-Type"].partition(";")[0]
        assert media_type in response["content"]
        if media_type in (JSON, PROBLEM):
            self.conforms(answer.body, response["content"][media_type]["schema"])

    def conforms(self, body: Any, schema: dict[str, Any]) -> None:
        """Check a body against a schema of the OpenAPI document."""
        name = json.dumps(schema)
        if name not in self._validators:
            resolvable = {**schema, "components": self.document["components"]}
            self._validators[name] = Draft202012Validator(
                resolvable, format_checker=FormatChecker()
            )
        self._validators[name].validate(body)

    def _operation(self, path: str) -> dict[str, Any] | None:
        # A literal path goes before one with path parameters.
        for template in sorted(self.document["paths"], key=lambda path: "{" in path):
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                (operation,) = self.document["paths"][template].values()
                return cast(dict[str, Any], operation)
        return None


@contextmanager
def served_contract(factory: pytest.TempPathFactory, kind: Kind = "embedded") -> Iterator[Contract]:
    """Serve a copy of the sample world over stores of a kind."""
    home: Path = copy_of(installation.sample_home(factory), f"contract-{kind}", factory)
    with stores_of(home, kind) as stores:
        store = KeyStore(stores.key_store.url)
        world = World(home, sandbox(store), create_key(store, "professional"))
        with served(world, *stores.options()) as server:
            status, _, body = server.get("/openapi.json")
            assert status == 200
            contract = Contract(server, stores, world, json.loads(body))
            yield contract
            contract.mart.close()


def example_url(path: str, query: str = "") -> str:
    """Return a path with its parameters filled in, and the query parameters it requires."""
    filled = path.replace("{service_id}", "DCNOBODY").replace("{sku}", "AF-FUND")
    filled = filled.replace("{ocid}", "ocds-none")
    full_query = f"{query}{REQUIRED_QUERY.get(path, '')}".lstrip("&")
    return filled.replace("{signal_key}", "single-bid-rate") + (
        f"?{full_query}" if full_query else ""
    )
