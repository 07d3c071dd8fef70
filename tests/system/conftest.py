"""A server that answers as sources do, and a client for it whose waits are noted."""

from collections.abc import Callable, Iterator

import pytest

from assets.fetching.client import Client
from tests.helpers.http_client import http_client
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


@pytest.fixture(scope="module")
def new_marts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Return a factory of folders for new builds."""
    return lambda: str(tmp_path_factory.mktemp("mart"))
