"""The REST app over the world of ``split_world``, in many small files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.made_once import copy_of
from tests.helpers.split_world import publish_split, split_home
from warehouse.control.keys import KeyStore, create_key
from warehouse.serve.build import Mart

_ENVELOPE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ROWS = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS = ("data", "observations", "identifiers")


@dataclass(frozen=True)
class ListService:
    """An app, a paid key, and the builds behind it."""

    client: testing.TestClient
    key: str
    mart: Mart
    root: Path

    def get(self, url: str, **headers: str) -> testing.Result:
        """Send a request with the key."""
        return self.client.simulate_get(url, headers={"X-API-Key": self.key, **headers})

    def publish(self, seed: int) -> str:
        """Publish more of everything, and return its data_version."""
        publish_split(self.root, self.root / "marts", 1 / 4096, seed).close()
        return self.mart.build().data_version


def list_service(factory: pytest.TempPathFactory, name: str) -> ListService:
    """Return the app over the world, which a run publishes once."""
    root = copy_of(split_home(factory), name, factory)
    mart, keys = Mart(root / "marts"), KeyStore(root / "control.sqlite")
    key = create_key(keys, "professional")
    return ListService(testing.TestClient(create_app(mart, keys)), key, mart, root)


def rows_of(answer: testing.Result) -> list[bytes]:
    """Return the rows of an envelope as the bytes that were sent."""
    assert answer.status_code == 200, answer.text
    body = _ENVELOPE.decode(answer.content)
    return [bytes(row) for row in _ROWS.decode(next(body[m] for m in _MEMBERS if m in body))]


def with_query(url: str, **values: Any) -> str:
    """Return a URL with more parameters."""
    more = "&".join(f"{name}={value}" for name, value in values.items())
    return f"{url}{'&' if '?' in url else '?'}{more}"
