"""An upgrade without an outage: the previous release serves while the new code publishes.

Run as ``python -m tests.helpers.upgrade_trial``. The previous release, taken from the history of
the repository, loads some of the sample world, publishes it, creates a key and serves REST and MCP.
Then the new code publishes into the same home and serves beside it, the old code publishes once
more, the new code takes over, and the old servers are stopped. All servers are asked all the while.
At last something is withheld, which the old servers then must not serve. Prints what happened, and
fails if any question was not answered, or not as before.
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.paths import ROOT
from tests.helpers.rest_service import port_of
from warehouse.mart.pointers import LAST_WITH_ONE_POINTER
from warehouse.mart.tables import MART_SCHEMA_VERSION
from warehouse.read.conditions import Condition
from warehouse.read.mart import Mart
from warehouse.read.rows import fetch_rows

# The last commit of the release before, which writes mart schema version 11.
PREVIOUS_RELEASE = "6466f9f5e92d9e66972bc3c7f90875bec13fea55"
_PACKAGES = ("api", "assets", "mcp", "pipelines", "quality", "tests", "warehouse")
_VERSIONS = Path("warehouse", "mart", "tables.py")
# What is loaded first, and later, so that there is something new to publish.
_FIRST, _LATER = ("sec-companyfacts", "sec-submissions", "gleif", "ecb"), ("worldbank",)
_COMMAND = "pipelines.commands.main"
_LOAD = """
import sys
from pathlib import Path
from tests.helpers.installation import load_sample, write_sample
home, *sources = Path(sys.argv[1]), *sys.argv[2:]
if not home.exists():
    write_sample(home)
load_sample(home, *sources)
"""
_PUBLISH = """
import sys
from pathlib import Path
from pipelines.builds import delete_old_versions
from tests.helpers.installation import BriefPublication, publication, settings_of
settings = settings_of(Path(sys.argv[1]))
print(publication(settings, BriefPublication).run())
delete_old_versions(settings.marts, settings.exports, 1)
"""
_MCP_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
}


def has_history() -> bool:
    """Return whether the previous release can be taken from the repository."""
    return _git("cat-file", "-e", f"{PREVIOUS_RELEASE}^{{commit}}").returncode == 0


def _git(*words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)


def previous_release(folder: Path) -> Path:
    """Write the code of the previous release into a folder; return that."""
    archive = _git("archive", PREVIOUS_RELEASE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


def new_code(folder: Path) -> Path:
    """Return the folder of code that writes a newer schema version than the previous release."""
    if MART_SCHEMA_VERSION > LAST_WITH_ONE_POINTER:
        return ROOT
    for package in _PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "data")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    shutil.copy(ROOT / "setup.cfg", folder)
    text = (folder / _VERSIONS).read_text("utf-8")
    number, newer = MART_SCHEMA_VERSION, MART_SCHEMA_VERSION + 1
    text = text.replace(f"MART_SCHEMA_VERSION = {number}", f"MART_SCHEMA_VERSION = {newer}")
    text = text.replace(f", {number})\n", f", {number}, {newer})\n")
    (folder / _VERSIONS).write_text(text, "utf-8")
    return folder


@dataclass(frozen=True)
class Release:
    """Code of one version in a folder, at work in a home."""

    name: str
    code: Path
    home: Path

    @property
    def _environment(self) -> Mapping[str, str]:
        path = os.pathsep.join((str(self.code), str(self.code / "mcp")))
        others = {k: v for k, v in os.environ.items() if not k.startswith("SANKOFA_")}
        tiers = self.home.with_name("tiers.json")
        # A tier that no trial exhausts: limits are counted all the same.
        tiers.write_text('{"professional": {"per_minute": 100000000, "per_month": 100000000}}')
        settings = {"SANKOFA_HOME": str(self.home), "SANKOFA_TIERS": str(tiers)}
        return {**others, **settings, "PYTHONPATH": path}

    def run(self, *words: str) -> str:
        """Run Python with this code until it ends; return what it printed."""
        completed = subprocess.run(
            [sys.executable, *words],
            cwd=self.code,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.returncode == 0, completed.stderr
        return completed.stdout.strip()

    def command(self, *words: str) -> str:
        """Run the command ``sankofa``; return what it printed."""
        return self.run("-m", _COMMAND, *words)

    def load(self, *sources: str) -> None:
        """Load some sources of the sample world."""
        self.run("-c", _LOAD, str(self.home), *sources)

    def publish(self) -> str:
        """Publish what is loaded, keep as few builds as possible; return the data_version."""
        return self.run("-c", _PUBLISH, str(self.home)).splitlines()[-1]

    @contextmanager
    def served(self, surface: str) -> Iterator["Server"]:
        """Run a server at a free port until the end of the block."""
        log = self.home / f"{self.name}-{surface}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", _COMMAND, surface, "--port", "0", "--workers", "1"],
                cwd=self.code,
                env=self._environment,
                stderr=file,
            )
        try:
            yield Server(f"{self.name} {surface}", port_of(process, log), surface == "mcp")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@dataclass
class Server:
    """A running server, and what it answered to whom."""

    name: str
    port: int
    is_mcp: bool
    answers: "Counter[str]" = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def ask(self, question: str, key: str, pinned: str | None = None) -> bytes:
        """Ask for a path, or call a tool of the same meaning; return the rows as they came."""
        headers = {"X-API-Key": key} | ({"X-Data-Version": pinned} if pinned else {})
        if not self.is_mcp:
            return self._body(question, headers, None)
        tool, arguments = _tool(question)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        params = {"name": tool, "arguments": arguments}
        message = json.dumps({**call, "params": params}).encode()
        body = self._body("/mcp", {**headers, **_MCP_HEADERS}, message)
        result = json.loads(body)["result"]
        assert not result["isError"], body
        return json.dumps(result["structuredContent"]).encode()

    def _body(self, path: str, headers: Mapping[str, str], data: bytes | None) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            body: bytes = response.read()
        return body


def _tool(question: str) -> tuple[str, dict[str, str]]:
    match = re.fullmatch(r"/v1/(\w+)/(\w+)", question)
    assert match is not None
    tool = {"entities": "get_entity", "fundamentals": "get_fundamentals"}[match[1]]
    return tool, {"service_id": match[2]}


class Asking:
    """Asks servers the same questions in turn, from one thread each, until it is stopped."""

    def __init__(self, questions: Sequence[str], key: str) -> None:
        self._questions, self._key = questions, key
        self._threads: dict[str, tuple[threading.Thread, threading.Event]] = {}

    def start(self, server: Server) -> None:
        """Begin to ask a server."""
        stop = threading.Event()
        thread = threading.Thread(target=self._ask, args=(server, stop))
        self._threads[server.name] = thread, stop
        thread.start()

    def stop(self, *servers: Server) -> None:
        """Ask some servers no more."""
        for server in servers:
            thread, stop = self._threads.pop(server.name)
            stop.set()
            thread.join()

    def _ask(self, server: Server, stop: threading.Event) -> None:
        while not stop.is_set():
            for question in self._questions:
                try:
                    body = server.ask(question, self._key)
                    server.answers[str(json.loads(body)["data_version"])] += 1
                except (OSError, AssertionError, KeyError, ValueError) as error:
                    detail = error.read() if isinstance(error, urllib.error.HTTPError) else b""
                    server.failures.append(f"{question}: {error!r} {detail!r}")
            # Publications need the processor too.
            stop.wait(0.1)


@dataclass(frozen=True)
class Outcome:
    """What the servers answered, and the builds in the order in which they were published."""

    builds: tuple[str, ...]
    servers: tuple[Server, ...]
    held: tuple[str, ...]
    exported: tuple[str, ...]
    paged: tuple[str, ...]


def upgrade(folder: Path) -> Outcome:
    """Run the upgrade in a folder; raise if an answer pinned to an old build changed."""
    home = folder / "home"
    old = Release("old", previous_release(folder / "old"), home)
    new = Release("new", new_code(folder / "new"), home)
    old.load(*_FIRST)
    first = old.publish()
    key = json.loads(old.command("keys", "create", "--tier", "professional", "--json"))["key"]
    with ExitStack() as stack:
        rest = stack.enter_context(old.served("serve"))
        mcp = stack.enter_context(old.served("mcp"))
        questions = _questions(home / "marts")
        before = {server.name: _asked(server, questions, key) for server in (rest, mcp)}
        asking = Asking(questions, key)
        stack.callback(lambda: asking.stop(*running))
        running = [rest, mcp]
        for server in running:
            asking.start(server)
        second = new.publish()
        with ExitStack() as later:
            beside = [
                later.enter_context(new.served("serve")),
                later.enter_context(new.served("mcp")),
            ]
            for server in beside:
                asking.start(server)
            running += beside
            for old_server, new_server in zip((rest, mcp), beside, strict=True):
                for server in (old_server, new_server):
                    assert _asked(server, questions, key, first) == before[old_server.name]
            old.load(*_LATER)
            shared = old.publish()
            builds = [first, second, shared, new.publish()]
            # The new servers take over: the old ones get no more requests and are stopped.
            asking.stop(rest, mcp)
            running[:] = beside
            for old_server, new_server in zip((rest, mcp), beside, strict=True):
                assert _asked(new_server, questions, key, shared) == _asked(
                    old_server, questions, key, shared
                )
            held = json.loads(new.command("builds", "--json"))
            assert [build["data_version"] for build in held if build["for_older"]] == [shared]
            assert [build["data_version"] for build in held if build["current"]] == builds[-1:]
            asking.stop(*beside)
            running.clear()
            exported, paged = _folders(home / "exports"), _folders(home / "docs")
            _withhold(new, rest, key, questions)
    return Outcome(
        tuple(builds),
        (rest, mcp, *beside),
        tuple(build["data_version"] for build in held),
        exported,
        paged,
    )


def _withhold(new: Release, rest: Server, key: str, questions: Sequence[str]) -> None:
    """Withhold an organisation: the servers of the old code have no build without it."""
    new.command("withhold", questions[0].rpartition("/")[2], "--why", "a trial")
    new.publish()
    try:
        rest.ask(questions[-1], key)
    except urllib.error.HTTPError as error:
        assert error.code == 503, error
    else:
        raise AssertionError("the old server serves what is withheld")


def _asked(
    server: Server, questions: Sequence[str], key: str, pinned: str | None = None
) -> list[bytes]:
    return [server.ask(question, key, pinned) for question in questions]


def _questions(marts: Path) -> list[str]:
    with closing(Mart(marts)) as mart:
        latest = [Condition("latest = 1")]
        rows = fetch_rows(mart.build(), "service_id", "fundamentals", latest, limit=400)
    ids = sorted({str(service_id) for (service_id,) in rows})[:3]
    return [
        f"/v1/{path}/{service_id}" for path in ("entities", "fundamentals") for service_id in ids
    ]


def _folders(path: Path) -> tuple[str, ...]:
    return tuple(sorted(each.name for each in path.iterdir() if each.name[:1].isdigit()))


def main() -> None:
    """Run the trial and print what happened."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = upgrade(Path(folder))
    print("builds:", *outcome.builds)
    print("held at the end:", *outcome.held)
    for server in outcome.servers:
        answers = ", ".join(f"{count:,} of {name}" for name, count in server.answers.items())
        print(f"{server.name}: {answers}; {len(server.failures)} failed")
        print(*server.failures[:3], sep="\n")
    sys.exit(any(server.failures for server in outcome.servers))


if __name__ == "__main__":
    main()
