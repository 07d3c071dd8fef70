"""The server that the Python client asks, one for all files of a worker, and a client of it."""

from collections.abc import Callable, Iterator

import pytest
from sankofa_client import Sankofa

from tests.helpers.contract_client import Contract
from tests.helpers.stores import Kind


@pytest.fixture(scope="session")
def service(contracts: Callable[[Kind], Contract]) -> Contract:
    return contracts("embedded")


@pytest.fixture(scope="session", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remember services in a folder of the tests, not in that of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        yield


@pytest.fixture(scope="module")
def sankofa(service: Contract) -> Iterator[Sankofa]:
    with Sankofa(service.server.address, service.key()) as client:
        yield client


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note the waits of the client instead of waiting."""
    waits: list[float] = []
    monkeypatch.setattr("sankofa_client.connection.sleep", waits.append)
    return waits
