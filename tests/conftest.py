"""What every test may ask for: fresh randomness that can be repeated, and an empty record.

Nothing heavy is imported here: unit tests pay only for what they use. Fixtures that start servers
are in ``tests/contract/conftest.py``.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.helpers.paths import REAL
from tests.helpers.seed import SEED, new_seed
from tests.helpers.withheld_key import WITHHELD_KEY

if TYPE_CHECKING:
    from warehouse.record.store import Record

# No deadline: a slow machine is not a failure. Never derandomized, in CI either: each run looks for
# new examples, and prints what repeats a failure.
for name, examples in {"default": 25, "nightly": 500}.items():
    settings.register_profile(
        name, max_examples=examples, deadline=None, derandomize=False, print_blob=True
    )
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nightly",
        action="store_true",
        help="the long trials, too, and more examples of each property",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Use one seed for hypothesis and for all that tests draw, in every worker."""
    # Before hypothesis reads its option. Workers inherit the environment of the first process.
    chosen = config.option.hypothesis_seed or os.environ.get(SEED) or str(new_seed())
    config.option.hypothesis_seed = os.environ[SEED] = chosen
    if config.option.nightly:
        config.option.hypothesis_profile = "nightly"
        settings.load_profile("nightly")
    # Homes of real documents need one.
    os.environ.setdefault("SANKOFA_WITHHELD_KEY", WITHHELD_KEY)


def pytest_unconfigure() -> None:
    """Remove the callback that hypothesis leaves with the garbage collector."""
    # The interpreter drops gc.callbacks only after its last collection. This one leads, by the
    # loader of its module, to pytest's configuration and so to every module a test imported:
    # duckdb then reports its own types as leaked at exit.
    gc.callbacks[:] = [
        call for call in gc.callbacks if not call.__module__.startswith("hypothesis")
    ]
    # What is frozen is not collected at exit either, and duckdb reports it as leaked.
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep modules and tests out of every search for garbage: they stay until the end."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_report_header() -> str:
    seed = os.environ[SEED]
    return f"seed: {seed} (repeat this run with {SEED}={seed} or --hypothesis-seed={seed})"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.option.nightly:
        left_out = [item for item in items if "nightly" in item.keywords]
        items[:] = [item for item in items if "nightly" not in item.keywords]
        config.hook.pytest_deselected(items=left_out)
    if not REAL.is_dir():
        skip = pytest.mark.skip(reason="left out: the real files are not next to the checkout")
        for item in items:
            if "shared" in item.keywords:
                item.add_marker(skip)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Return when a test is run: while one worker publishes the sample world, others do not wait.

    Most tests read that world. The first file makes it, and parsers need nothing of it.
    """
    if "python_client/test_frames.py" in item.nodeid:
        return 0
    return 1 if item.nodeid.startswith("tests/unit/assets/") else 2


@pytest.fixture
def record(tmp_path: Path) -> "Record":
    from warehouse.record.store import Record

    return Record(str(tmp_path / "record"))


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """Undo what a command set for the server that it would have become."""
    before = dict(os.environ)
    yield
    # Pytest itself keeps the name of the running test there.
    for name in {name for name in before.keys() ^ os.environ.keys() if name.startswith("SANKOFA_")}:
        os.environ.pop(name, None)
    os.environ.update({name: text for name, text in before.items() if name.startswith("SANKOFA_")})


@pytest.fixture(autouse=True, scope="session")
def own_rate_limits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the rate limits per host apart from those of other processes on this machine."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SANKOFA_TURNS", str(tmp_path_factory.mktemp("turns")))
        yield


@pytest.fixture(scope="module")
def in_this_process() -> Iterator[None]:
    """Let parsers be read that are no functions of a module."""
    from tests.helpers.in_this_process import InThisProcess

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assets.ingest.load.readers", InThisProcess)
        yield
