"""A server that answers as sources do, and a client for it whose waits are noted."""

from collections.abc import Callable, Iterator

import pytest

from assets.fetching.client import Client
from tests.helpers.http_client import http_client
from tests.helpers.postgres_server import new_database, postgres
from tests.helpers.replay_server import Replay


@pytest.fixture
def server() -> Iterator[Replay]:
    with Replay() as replay:
        yield replay


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(server: Replay, waits: list[float]) -> Iterator[Client]:
    with http_client(sleep=waits.append) as client:
        yield client


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)]
)
def new_marts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], str]]:
    """Return a factory of URLs for new builds, on one engine."""
    if request.param == "sqlite":
        yield lambda: f"sqlite:///{tmp_path_factory.mktemp('mart')}"
        return
    with postgres() as server:
        yield lambda: new_database(server)
