"""A whole deployment under load, killed part by part, with every promise checked at the end.

Run as ``python -m tests.helpers.deployment_trial KILLS``. Two machines load the sample world into
the one record on S3, a third merges its files, builds are published one after the
other, and REST and MCP are asked all the while. The machines are killed at random KILLS times, and
every process of the deployment once. Prints what happened, and fails unless each row is there once,
as one undisturbed load would have stored it, and every question was answered whose servers ran.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from deploy.local import Deployment
from deploy.processes import BUCKET, PROCESSES
from tests.helpers.installation import SMALL_WORLD, load_sample, write_sample
from tests.helpers.paths import ROOT
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES

SURFACES = ("rest-1", "rest-2", "mcp-1", "mcp-2")
# Without these no surface can answer.
_NEEDED = ("postgres", "keys", "usage")
_SANKOFA = (str(Path(sys.executable).parent / "sankofa"),)


class Machine:
    """A command in a home of its own, started again when it has ended or was killed."""

    def __init__(self, environment: Mapping[str, str], home: Path, *words: str) -> None:
        self._environment = {**os.environ, **environment, "SANKOFA_HOME": str(home)}
        self._words = words
        self.process = self._started()

    def _started(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*_SANKOFA, *self._words],
            env=self._environment,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def go_on(self) -> None:
        """Start it again if it has ended."""
        if self.process.poll() is not None:
            self.process = self._started()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def finish(self, seconds: float) -> int:
        """Let it run once more, undisturbed; return how it ended."""
        self.kill()
        self.process = self._started()
        return self.process.wait(seconds)


class Questions(threading.Thread):
    """Asks every surface again and again; ``down`` are processes that were killed just now."""

    def __init__(self, deployment: Deployment, key: str) -> None:
        super().__init__(daemon=True)
        self._deployment, self._key = deployment, key
        self.down: set[str] = set()
        self.answered, self.failed = Counter[str](), list[str]()
        self.versions: set[str] = set()
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(0.2):
            for name in SURFACES:
                before = {*self.down}
                try:
                    self._ask(name)
                    self.answered[name] += 1
                except (OSError, ValueError) as error:
                    if not ({name, *_NEEDED} & (before | self.down)):
                        self.failed.append(f"{name}: {error}")

    def _ask(self, name: str) -> None:
        address = f"http://{self._deployment.address(name)}"
        if name.startswith("mcp"):
            with urllib.request.urlopen(f"{address}/health", timeout=10) as answer:
                answer.read()
            return
        request = urllib.request.Request(
            f"{address}/v1/macro?as_of=2026-01-01&limit=1", headers={"X-API-Key": self._key}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            rows = json.loads(answer.read())["data"]
            self.versions.add(answer.headers["X-Data-Version"])
        if not rows:
            raise ValueError("no rows")


def run(deployment: Deployment, kills: int, seed: int) -> dict[str, object]:
    """Try a deployment that runs; return what was counted."""
    chance = random.Random(seed)
    # Machines share a record in a store; a deployment on one machine has it in its home.
    store = {
        f"SANKOFA_{name}_URL": f"s3://{BUCKET}/{name.lower()}" for name in ("RECORD", "LANDING")
    }
    environment = {**deployment.environment(), **store}
    homes = [deployment.folder / name for name in ("home", "machine-1", "machine-2", "merger")]
    for home in homes[:3]:
        write_sample(home, SMALL_WORLD)
    command(environment, "ingest", "ecb")
    command(environment, "publish")
    key = command(environment, "keys", "create", "--tier", "professional", "--json")
    questions = Questions(deployment, json.loads(key)["key"])
    questions.start()
    loaders = [Machine(environment, home, "ingest") for home in homes[1:3]]
    merger = Machine(environment, homes[3], "compact")
    publisher = Machine(environment, homes[0], "publish")
    parts = _killable(deployment)
    killed: list[str] = []
    try:
        for number in range(kills):
            time.sleep(chance.uniform(1, 6))
            chance.choice([*loaders, *loaders, merger]).kill()
            for each in (*loaders, merger, publisher):
                each.go_on()
            # One after the other, spread over the whole time.
            if number * len(parts) // kills >= len(killed):
                killed.append(parts[len(killed)])
                restart(deployment, questions, killed[-1])
        for each in (publisher, merger):
            each.kill()
        ended = [loader.finish(900) for loader in loaders]
        command(environment, "compact")
        command(environment, "publish")
    finally:
        for each in (*loaders, merger, publisher):
            each.kill()
        questions.stopped.set()
        questions.join()
    return {
        "kills of machines": kills,
        "processes killed and back": killed,
        "builds seen": len(questions.versions),
        "answers": dict(questions.answered),
        "questions without an answer": questions.failed,
        "loaders ended with": ended,
        "rows": compared(environment),
        "health": {name: deployment.health(name) for name in _killable(deployment)},
    }


def _killable(deployment: Deployment) -> list[str]:
    """Return the processes that keep what they hold when they are killed."""
    return [
        process.name
        for process in PROCESSES
        if not process.once
        and process.name not in deployment.left_out
        and not deployment.chosen[process.name].loses
    ]


def restart(deployment: Deployment, questions: Questions, name: str) -> None:
    """Kill a process of the deployment, and bring it back."""
    process_id = deployment.process_id(name)
    assert process_id is not None, f"{name} does not run"
    questions.down.add(name)
    os.killpg(process_id, signal.SIGKILL)
    while deployment.process_id(name) is not None:
        time.sleep(0.1)
    deployment.start([name], lambda line: None)
    # What was asked meanwhile has ended by then.
    time.sleep(2)
    questions.down.discard(name)


def command(environment: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(
        [*_SANKOFA, *words],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stderr[-2000:]}"
    return done.stdout


_COUNT = """
import json
from warehouse.record.store import open_record
from warehouse.settings import read_settings
from tests.helpers.deployment_trial import counted
import os
print(json.dumps(counted(open_record(read_settings(os.environ)))))
"""


def counted(record: Record) -> dict[str, list[int]]:
    """Return of each table how many rows it has, and how many that differ."""
    counts: dict[str, list[int]] = {}
    for table in RECORD_TABLES:
        (row,) = record.query(
            "SELECT count(*) AS rows, "
            "count(DISTINCT (sighting, figure_check, content)) AS distinct_rows "
            f"FROM {record.relation(table.name)}"
        ).to_pylist()
        counts[table.name] = [row["rows"], row["distinct_rows"]]
    return counts


def compared(environment: Mapping[str, str]) -> dict[str, list[int]]:
    """Return the rows by table; raise unless they are those of one undisturbed load."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_sample(home, SMALL_WORLD)
        expected = counted(load_sample(home))
    found: dict[str, list[int]] = json.loads(
        subprocess.run(
            [sys.executable, "-c", _COUNT],
            env={**os.environ, **environment},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert found == expected, f"found {found}, expected {expected}"
    return found


def main(kills: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sankofa-trial-") as name:
        Path(name).chmod(0o755)
        deployment = Deployment(Path(name), any_ports=True)
        try:
            deployment.start([], print)
            result = run(deployment, kills, seed=kills)
        finally:
            deployment.stop()
    print(json.dumps(result, indent=1))
    assert not result["questions without an answer"]


if __name__ == "__main__":
    main(int(sys.argv[1]))
