"""The real server on the sample world; every answer is held against its own description."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPMessage
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from tests import installed
from tests.serving import Served, World, served
from warehouse.keys import KeyStore, create, sandbox
from warehouse.read.mart import Mart
from warehouse.tiers import TIERS, TierName

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
    world: World
    document: dict[str, Any]
    _keys: dict[TierName, tuple[str, int]] = field(default_factory=dict)

    @property
    def mart(self) -> Mart:
        return Mart(self.world.marts)

    def key(self, tier: TierName = "professional") -> str:
        """Give a key with requests left in this minute."""
        key, left = self._keys.get(tier, ("", 0))
        if left == 0:
            key, left = create(KeyStore(self.world.keys), tier), TIERS[tier].per_minute
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
        whole = {**schema, "components": self.document["components"]}
        Draft202012Validator(whole, format_checker=FormatChecker()).validate(body)

    def _operation(self, path: str) -> dict[str, Any] | None:
        # A path without a place in it goes before one with.
        for template in sorted(self.document["paths"], key=lambda each: "{" in each):
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                return cast(dict[str, Any], self.document["paths"][template]["get"])
        return None


@contextmanager
def asked_of(factory: pytest.TempPathFactory) -> Iterator[Contract]:
    """Serve a copy of the sample world."""
    home: Path = installed.copy_of(installed.sample_home(factory), "contract", factory)
    store = KeyStore(home / "keys.sqlite")
    world = World(home, sandbox(store), create(store, "professional"))
    with served(world) as server:
        status, _, body = server.get("/openapi.json")
        assert status == 200
        yield Contract(server, world, json.loads(body))
