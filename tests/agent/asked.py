"""The sample world, published and served to agents, with a reading of its files beside."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.agent.published import Published
from tests.agent.walk import Agent
from tests.helpers.mcp_service import mcp_served
from tests.helpers.rest_service import World
from warehouse.control.keys import KeyStore, create_key, sandbox


@dataclass(frozen=True)
class Asked:
    """An agent, and what it does not see."""

    agent: Agent
    published: Published


@contextmanager
def asked_world(home: Path) -> Iterator[Asked]:
    """Serve a published home of our own."""
    store = KeyStore(home / "control.sqlite")
    world = World(home, sandbox(store), create_key(store, "professional"))
    with mcp_served(world) as server:
        keys = {"professional": world.paid, "sample": world.sample}
        yield Asked(Agent(server, keys), Published(home / "exports"))
