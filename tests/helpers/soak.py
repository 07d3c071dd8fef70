"""A soak: REST and MCP at full speed while a build is published every minute.

Run as ``python -m tests.helpers.soak MINUTES``. Prints memory and open files of both servers as
they were after the first publication and at the end, the requests, and which of them failed.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from tests.helpers.paths import ROOT
from tests.helpers.reads import issuers
from tests.helpers.rest_service import port_of
from warehouse.serve.build import Mart

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
delete_old_versions(settings.model_copy(update={"keep_builds": 1}))
"""
# Loads one release more, so that there is something to publish.
_LOAD_ONE = """
import sys
from pathlib import Path
from tests.helpers.installation import settings_of
from tests.helpers.record_rows import load, release_row
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES
settings, number = settings_of(Path(sys.argv[1])), int(sys.argv[2])
row = release_row(number, country="ZA", ocid=f"ocds-soak-{number}")
load(Record(settings.record), TENDER_RELEASES, row)
"""
_SOURCES = ("sec-companyfacts", "sec-submissions", "gleif", "ecb", "za-etenders")
_THREADS = 2


@dataclass(frozen=True)
class Service:
    """The service at work in a home, in processes of its own."""

    home: Path

    @property
    def _environment(self) -> Mapping[str, str]:
        others = {k: v for k, v in os.environ.items() if not k.startswith("SANKOFA_")}
        tiers = self.home.with_name("tiers.json")
        # A tier that no trial exhausts: limits are counted all the same.
        tiers.write_text('{"professional": {"per_minute": 100000000, "per_month": 100000000}}')
        settings = {"SANKOFA_HOME": str(self.home), "SANKOFA_TIERS": str(tiers)}
        return {**others, **settings}

    def run(self, *words: str) -> str:
        """Run Python until it ends; return what it printed."""
        completed = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
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
    def served(self, surface: str) -> Iterator[int]:
        """Run a server at a free port until the end of the block; yield the port."""
        log = self.home / f"{surface}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", _COMMAND, surface, "--port", "0", "--workers", "1"],
                cwd=ROOT,
                env=self._environment,
                stderr=file,
            )
        try:
            yield port_of(process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


class Requests:
    """The requests to one server, and which of them failed."""

    def __init__(self, port: int, key: str, ids: list[str], is_mcp: bool) -> None:
        self._port, self._key, self._ids, self._is_mcp = port, key, ids, is_mcp
        self.statuses: Counter[int] = Counter()
        self.failed: Counter[str] = Counter()

    def ask_until(self, stop: threading.Event) -> None:
        """Ask one question after the other over one connection."""
        connection, number = HTTPConnection("127.0.0.1", self._port, timeout=60), 0
        while not stop.is_set():
            number += 1
            try:
                status, body = self._ask(connection, number)
                self.statuses[status] += 1
                if status != 200 or (self._is_mcp and b'"isError":true' in body):
                    self.failed[f"{status} {body[:200]!r}"] += 1
            except (OSError, ValueError) as error:
                self.failed[type(error).__name__] += 1
                connection.close()

    def _ask(self, connection: HTTPConnection, number: int) -> tuple[int, bytes]:
        issuer, headers = self._ids[number % len(self._ids)], {"X-API-Key": self._key}
        paths = (
            f"/v1/fundamentals/{issuer}?as_of=2024-06-30",
            f"/v1/entities/{issuer}",
            "/v1/tenders?country=ZA&limit=100",
            "/v1/search?query=holdings",
            f"/v1/metrics/{issuer}",
        )
        if self._is_mcp:
            tool = ("get_fundamentals", "get_entity")[number % 2]
            call = {"name": tool, "arguments": {"service_id": issuer}}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            headers |= {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2025-06-18",
            }
            connection.request("POST", "/mcp", json.dumps(message), headers)
        else:
            connection.request("GET", paths[number % len(paths)], headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def main(minutes: float) -> None:
    """Run a soak and print what was seen."""
    with tempfile.TemporaryDirectory(prefix="sankofa-soak-") as folder, ExitStack() as stack:
        code = Service(Path(folder, "home"))
        code.load(*_SOURCES)
        code.publish()
        created = code.command("keys", "create", "--tier", "professional", "--json")
        key = json.loads(created)["key"]
        ids = issuers(Mart(code.home / "marts"), 50)
        ports = {name: stack.enter_context(code.served(name)) for name in ("serve", "mcp")}
        requests = {n: Requests(port, key, ids, n == "mcp") for n, port in ports.items()}
        pids = {name: _pid_at(port) for name, port in ports.items()}
        stop = threading.Event()
        threads = [
            threading.Thread(target=each.ask_until, args=(stop,))
            for each in requests.values()
            for _ in range(_THREADS)
        ]
        for thread in threads:
            thread.start()
        until, published, early = time.monotonic() + minutes * 60, 0, dict[str, str]()
        while time.monotonic() < until:
            began = time.monotonic()
            code.run("-c", _LOAD_ONE, str(code.home), str(published + 1))
            code.publish()
            published += 1
            seen = {name: _process(pid) for name, pid in pids.items()}
            early = early or seen
            print(f"  {published:3} publications", seen, flush=True)
            time.sleep(max(0.0, min(60 - (time.monotonic() - began), until - time.monotonic())))
        stop.set()
        for thread in threads:
            thread.join()
        print("after the first publication:", early)
        print("at the end:                 ", {name: _process(pid) for name, pid in pids.items()})
        for name, each in requests.items():
            print(name, "answered", dict(each.statuses), "failed", dict(each.failed))
        sys.exit(any(each.failed for each in requests.values()))


def _pid_at(port: int) -> int:
    """Return the process that listens at a port."""
    found = subprocess.run(["ss", "-ltnpH", f"sport = :{port}"], capture_output=True, check=True)
    return int(found.stdout.decode().split("pid=")[1].split(",")[0])


def _process(pid: int) -> str:
    """Return memory and number of open files of a process."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    memory = {name: int(status[name].split()[0]) // 1024 for name in ("RssAnon", "VmRSS")}
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return (
        f"{memory['RssAnon']} MB of its own, {memory['VmRSS']} MB with mapped files, {files} files"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30)
