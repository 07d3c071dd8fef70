"""The real server on the sample world; every answer is held against its own description."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPMessage
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from tests.helpers import installation
from tests.helpers.rest_service import Served, World, served
from tests.helpers.stores import Kind, Stores, stores_of
from warehouse.keys.store import KeyStore, create_key, sandbox
from warehouse.read.mart import Mart
from warehouse.tiers import TIERS, TierName

T = TypeVar("T")
NEEDED = {
    "/v1/shared/facts": "&entity_id=ZAF",
    "/v1/crosswalk": "&id_type=lei&id_value=X",
    "/v1/screen": "&metric=net_margin",
}
JSON, PROBLEM = "application/json", "application/problem+json"


@dataclass(frozen=True)
class Answer:
    """One answer as it came over the wire."""

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
    """A server that runs, asked with keys of a tier that are never used up."""

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
        """Give a key with requests left in this minute."""
        key, left = self._keys.get(tier, ("", 0))
        if left == 0:
            key, left = create_key(self.key_store, tier), TIERS[tier].per_minute // 2
        self._keys[tier] = key, left - 1
        return key

    def get(self, path: str, tier: TierName | None = "professional", **headers: str) -> Answer:
        """Ask, and hold the answer against the description."""
        key = None if tier is None else self.key(tier)
        answer = Answer(*self.server.get(path, key, **headers))
        self.check(path, answer)
        return answer

    def problem(
        self, path: str, status: int, code: str, tier: TierName | None = "professional", **h: str
    ) -> dict[str, Any]:
        """Ask for what must be refused."""
        answer = self.get(path, tier, **h)
        assert answer.status == status, answer.raw
        assert answer.headers["Content-Type"] == PROBLEM
        body: dict[str, Any] = answer.body
        assert (body["code"], body["status"]) == (code, status)
        assert body["type"].endswith(f"/problems/{code}") and body["title"] and body["detail"]
        assert body["instance"] == answer.headers["X-Request-Id"]
        return body

    def check(self, path: str, answer: Answer) -> None:
        """Hold status, headers and body against what the description says of the path."""
        operation = self._operation(path.partition("?")[0])
        if operation is None:
            return
        said = operation["responses"].get(str(answer.status))
        assert said is not None, f"{path} answered {answer.status}: {answer.raw[:300]!r}"
        for name, reference in said["headers"].items():
            header = self.document["components"]["headers"][name]
            assert reference == {"$ref": f"#/components/headers/{name}"}
            assert not header["required"] or name in answer.headers, name
        kind = JSON if JSON in said["content"] else PROBLEM
        assert answer.headers["Content-Type"] == kind
        self.conforms(answer.body, said["content"][kind]["schema"])

    def conforms(self, body: Any, schema: dict[str, Any]) -> None:
        """Hold a body against a schema of the description."""
        name = json.dumps(schema)
        if name not in self._validators:
            whole = {**schema, "components": self.document["components"]}
            self._validators[name] = Draft202012Validator(whole, format_checker=FormatChecker())
        self._validators[name].validate(body)

    def _operation(self, path: str) -> dict[str, Any] | None:
        # A path without a place in it goes before one with.
        for template in sorted(self.document["paths"], key=lambda path: "{" in path):
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                return cast(dict[str, Any], self.document["paths"][template]["get"])
        return None


@contextmanager
def asked_of(factory: pytest.TempPathFactory, kind: Kind = "embedded") -> Iterator[Contract]:
    """Serve a copy of the sample world over stores of a kind."""
    home: Path = installation.copy_of(
        installation.sample_home(factory), f"contract-{kind}", factory
    )
    with stores_of(home, kind) as stores:
        store = KeyStore(stores.key_store.url)
        world = World(home, sandbox(store), create_key(store, "professional"))
        with served(world, *stores.options()) as server:
            status, _, body = server.get("/openapi.json")
            assert status == 200
            contract = Contract(server, stores, world, json.loads(body))
            yield contract
            contract.mart.close()


def address(path: str, query: str = "") -> str:
    """Fill the places of a path, and give what the endpoint needs beside a query."""
    filled = path.replace("{service_id}", "DCNOBODY").replace("{sku}", "AF-FUND")
    asked = f"{query}{NEEDED.get(path, '')}".lstrip("&")
    return filled.replace("{signal_key}", "single-bid-rate") + (f"?{asked}" if asked else "")


def eventually(found: Callable[[], T | None], seconds: float = 30) -> T:
    """Give what is found, asking until there is something."""
    until = time.monotonic() + seconds
    while (each := found()) is None:
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.05)
    return each
