"""Shared fixtures: an empty record, and the real files where they are."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.helpers.paths import REAL
from warehouse.record.store import Record

if TYPE_CHECKING:
    from tests.helpers.contract_client import Contract
    from tests.helpers.mcp_world import Agents
    from tests.helpers.stores import Kind

# A test never asserts a time: a slow machine is not a failure. CI tries the same examples every
# time; a person's run looks for new ones.
settings.register_profile("sankofa", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sankofa")


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(str(tmp_path / "record"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if REAL.is_dir():
        return
    left_out = pytest.mark.skip(reason="left out: the real files are not beside the checkout")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(left_out)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask the contract of embedded stores; of real servers what is marked, or everything."""
    if "api" not in metafunc.fixturenames:
        return
    kinds = ["embedded"]
    marked = metafunc.definition.get_closest_marker("every_store") is not None
    if marked or "SANKOFA_EVERY_STORE" in os.environ:
        kinds.append("servers")
    metafunc.parametrize("api", kinds, indirect=True)


@pytest.fixture(scope="session")
def contracts(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[["Kind"], "Contract"]]:
    """Give the server over stores of a kind, started when it is first asked for."""
    from tests.helpers.contract_client import asked_of

    held: dict[Kind, Contract] = {}
    with ExitStack() as running:

        def over(kind: "Kind") -> "Contract":
            if kind not in held:
                held[kind] = running.enter_context(asked_of(tmp_path_factory, kind))
            return held[kind]

        yield over


@pytest.fixture
def api(request: pytest.FixtureRequest, contracts: Callable[["Kind"], "Contract"]) -> "Contract":
    return contracts(request.param)


@pytest.fixture(autouse=True, scope="session")
def turns_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no test wait for the turns that another process takes at the same host."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SANKOFA_TURNS", str(tmp_path_factory.mktemp("turns")))
        yield


@pytest.fixture(scope="session")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Agents"]:
    """A world and the MCP server over it, for all tests that ask as agents do."""
    from tests.helpers.mcp_world import agents_at

    with agents_at(tmp_path_factory.mktemp("agents")) as agents:
        yield agents
