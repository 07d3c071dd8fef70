"""Servers for the tests of the contract, each started once a worker, when first used."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.helpers.contract_client import Contract, served_contract
from tests.helpers.mcp_world import Agents, served_agents
from tests.helpers.stores import Kind


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the contract over embedded stores, and those that are marked over real ones."""
    if "api" not in metafunc.fixturenames:
        return
    kinds = ["embedded"]
    marked = metafunc.definition.get_closest_marker("every_store") is not None
    if marked or metafunc.config.option.nightly:
        kinds.append("servers")
    metafunc.parametrize("api", kinds, indirect=True)


@pytest.fixture(scope="session")
def contracts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Kind], Contract]]:
    """Return the server over stores of a kind, started when it is first needed."""
    servers: dict[Kind, Contract] = {}
    with ExitStack() as running:

        def over(kind: Kind) -> Contract:
            if kind not in servers:
                servers[kind] = running.enter_context(served_contract(tmp_path_factory, kind))
            return servers[kind]

        yield over


@pytest.fixture
def api(request: pytest.FixtureRequest, contracts: Callable[[Kind], Contract]) -> Contract:
    return contracts(request.param)


@pytest.fixture(scope="session")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agents]:
    """A published world and the MCP server over it."""
    with served_agents(tmp_path_factory) as agents:
        yield agents
