"""README and docs are true: every command, snippet and notebook is run, every link resolves."""

import ast
import asyncio
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest

from tests.helpers.doc_checkout import Checkout, query
from tests.helpers.doc_pages import (
    MCP,
    OTHER,
    REST,
    RUN,
    SHOWN,
    Block,
    blocks,
    missing,
    pages,
)
from tests.helpers.installation import sample_home, starter_home
from tests.helpers.made_once import copy_of
from tests.helpers.paths import ROOT
from tests.helpers.waiting import wait_until

# Their story is that of the starter world, as whoever runs `make run` has it.
STARTER = ("README.md", "docs/quick-start.md", "docs/concepts.md", "docs/examples/README.md")
NAMES = [str(page.relative_to(ROOT)) for page in pages()]
# These ingest and publish again and again.
_LONG = tuple(
    f"docs/{name}.md"
    for name in (
        *("operating", "incidents", "recordings"),
        *("add-a-source", "add-a-table", "add-an-exchange-list"),
    )
)
PAGES_TO_RUN = [
    pytest.param(name, marks=[pytest.mark.nightly] if name in _LONG else [])
    for name in NAMES
    if any(block.is_run for block in blocks(ROOT / name))
]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LEFT_OUT = [block for name in NAMES for block in blocks(ROOT / name) if block.mark]
# A reader sends a few requests a minute; all pages together send more.
_TIERS = '{"sample": {"per_minute": 10000}, "starter": {"per_minute": 10000}}'


@dataclass(frozen=True)
class Running:
    """A world of the package as ``sankofa up`` serves it."""

    home: Path
    addresses: Mapping[str, str]
    output: str

    def as_written(self, printed: str) -> str:
        """Replace the addresses of the running servers with those written in the pages."""
        for written, live in self.addresses.items():
            printed = printed.replace(live, written)
        return printed


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(number)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [socket.getsockname()[1] for socket in sockets]


def on_one_core() -> None:
    """Let servers start one process each, and not one for every core."""
    # Linux only; macOS has no CPU affinity.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])


@pytest.fixture(scope="module")
def fictional(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve(copy_of(sample_home(tmp_path_factory), "documented", tmp_path_factory))


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve(copy_of(starter_home(tmp_path_factory), "starter", tmp_path_factory))


def serve(home: Path) -> Iterator[Running]:
    tiers, log = home.parent / "tiers.json", home.parent / "log"
    tiers.write_text(_TIERS)
    rest, mcp, other = free_ports(3)
    live = {REST: f"127.0.0.1:{rest}", MCP: f"127.0.0.1:{mcp}", OTHER: str(other)}
    options = ("--no-dagster", "--port", str(rest), "--mcp-port", str(mcp))
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipelines.commands.main", "up", *options],
            env={**os.environ, "SANKOFA_HOME": str(home), "SANKOFA_TIERS": str(tiers)},
            stdout=file,
            stderr=file,
            preexec_fn=on_one_core,
        )
    try:

        def is_up() -> bool:
            assert process.poll() is None, log.read_text()
            return "Stop with Ctrl-C" in log.read_text()

        wait_until(is_up, 120, every=0.1, failure=log.read_text)
        yield Running(home, live, log.read_text())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@pytest.mark.skipif(which("curl") is None, reason="left out: there is no curl")
@pytest.mark.parametrize("name", PAGES_TO_RUN)
def test_every_command_of_a_page_does_what_it_shows(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    running: Running = request.getfixturevalue("starter" if name in STARTER else "fictional")
    to_run = [block for block in blocks(ROOT / name) if block.is_run]
    changed = any("/" in (block.file or "") or block.language == "diff" for block in to_run)
    checkout = Checkout(tmp_path, running.home, running.addresses, changed=changed)
    for block in to_run:
        printed = running.as_written(checkout.run(block))
        line = None if block.output is None else missing(block.output, printed)
        assert line is None, f"{block.location} does not print\n{line}\nbut\n{printed}"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: str(notebook.stem))
def test_every_notebook_runs_from_its_first_cell_to_its_last(
    notebook: Path, fictional: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Jupyter runs them: one namespace, one event loop, ``await`` in a cell."""
    (key,) = set(re.findall(r"sk_live_[\w-]+", fictional.output))
    monkeypatch.setenv("SANKOFA_API_KEY", key)
    monkeypatch.setenv("SANKOFA_URL", f"http://{fictional.addresses[REST]}")
    monkeypatch.setenv("SANKOFA_MCP", f"http://{fictional.addresses[MCP]}/mcp")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    namespace = {"__name__": "__main__"}
    with asyncio.Runner() as loop:
        for number, cell in enumerate(json.loads(notebook.read_text("utf-8"))["cells"]):
            if cell["cell_type"] != "code":
                continue
            assert cell["outputs"] == [], "notebooks are kept without what they print"
            place = f"{notebook.name}, cell {number}"
            text, flags = "".join(cell["source"]), ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            awaited = eval(compile(text, place, "exec", flags), namespace)
            if inspect.iscoroutine(awaited):
                loop.run(awaited)


@pytest.mark.parametrize("name", NAMES)
def test_every_block_is_run_or_shown_or_says_why_not(name: str) -> None:
    for block in blocks(ROOT / name):
        # Entries in TOML are read by tests/unit/pipelines/test_declaration_docs.py.
        assert block.language in (*RUN, *SHOWN, "diff", "toml"), block.location


def test_shown_lines_must_be_printed_in_order() -> None:
    printed = "first 12 rows\nsecond\n"
    assert missing("first … rows\n…\nsecond", printed) is None
    assert missing("second\nfirst", printed) == "first"
    assert missing("first 13 rows", printed) == "first 13 rows"


def test_few_blocks_are_left_out() -> None:
    not_run = [block for block in LEFT_OUT if block.mark == "not run"]
    # Some are run by a test of their own, which they name.
    assert len([block for block in not_run if "tests/" not in (block.why or "")]) <= 10
    assert len([block for block in LEFT_OUT if block.mark == "slow"]) <= 6


@pytest.mark.parametrize("block", LEFT_OUT, ids=lambda block: str(block.location))
def test_a_block_that_is_left_out_says_why(block: Block) -> None:
    assert block.why and len(block.why.split()) > 3
    if not block.is_run:
        pytest.skip(f"{block.location} is {block.mark}: {block.why}")


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file_and_a_heading_of_it(name: str) -> None:
    page = ROOT / name
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text):
        address = target[0] or target[1]
        if address.startswith(("http://", "https://")):
            continue
        path, _, heading = address.partition("#")
        target_page = (page.parent / path).resolve() if path else page
        assert target_page.exists(), f"{name}: {address}"
        assert not heading or heading in headings(target_page), f"{name}: {address}"


def headings(page: Path) -> set[str]:
    """Return the anchors of a page as GitHub names them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_targets_of_make_that_are_named_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in pages():
        named = set(re.findall(r"(?:`|^)make (\w+)", page.read_text("utf-8"), re.MULTILINE))
        assert named <= targets, page


def test_the_readme_shows_the_greeting_of_sankofa_up(starter: Running) -> None:
    """All but the lines of Dagster, which takes longer to start and is left out here."""
    (text,) = (block.text for block in blocks(ROOT / "README.md") if "Sandbox key" in block.text)
    shown = re.sub(r"^(Pipeline|Runs).*\n", "", text, flags=re.MULTILINE)
    assert missing(shown, starter.as_written(starter.output)) is None, starter.output


@pytest.mark.nightly
def test_the_procurement_dashboard_prints_what_its_page_shows(fictional: Running) -> None:
    """Through fsspec: DuckDB's own extension for HTTP is downloaded when first used."""
    folder = ROOT / "docs" / "examples"
    (shown,) = (block.output for block in blocks(folder / "README.md") if "duckdb <" in block.text)
    text = (folder / "procurement.sql").read_text("utf-8")
    printed = query(text.replace(REST, fictional.addresses[REST]))
    assert shown and missing(shown, printed) is None, printed
