"""Shared fixtures: an empty record, and the real files where they are."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from warehouse.record.store import Record

# A test never asserts a time: a slow machine is not a failure. CI tries the same examples every
# time; a person's run looks for new ones.
settings.register_profile("sankofa", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sankofa")

REAL = Path(__file__).parents[2] / "shared" / "real"


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


@pytest.fixture(autouse=True, scope="session")
def turns_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no test wait for the turns that another process takes at the same host."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SANKOFA_TURNS", str(tmp_path_factory.mktemp("turns")))
        yield
