"""Publications on a Dask cluster: real processes that share nothing but an object store."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pipelines.stages import checks, derivations
from tests.helpers.checkout_copy import UNFINISHED
from tests.helpers.facts import fact
from tests.helpers.installation import files_below, run_command, settings_of
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from tests.helpers.publishing import publish
from tests.helpers.random_world import everything
from tests.helpers.record_rows import load
from tests.helpers.s3_server import S3Server, s3_server
from tests.helpers.seed import seed_of_this_run
from tests.helpers.waiting import wait_until
from warehouse.publish.nodes import limit_amounts
from warehouse.publish.steps import Task, TaskFailed, compute_of
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.shared.code_version import PACKAGES
from warehouse.shared.errors import SankofaError
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import sha256_of_file

if TYPE_CHECKING:
    from distributed import Client

distributed = pytest.importorskip(
    "distributed", reason="left out: install the extra `dask` for tests of a cluster"
)

_NUMBERS = count(1)
# Dask looks at itself a hundred times a second, which takes more than these small tasks.
_QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "False",
}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


@dataclass
class Cluster:
    """A scheduler, and workers of which each has a home and a folder for its files."""

    address: str
    folder: Path
    stack: ExitStack

    def add_worker(self, **environment: str) -> "Worker":
        """Start a worker, and wait until the scheduler knows it."""
        name = f"worker-{next(_NUMBERS)}"
        home = self.folder / name
        home.mkdir()
        own = {"HOME": str(home), "TMPDIR": str(home), "SANKOFA_HOME": str(home / "home")}
        options = ("--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        process = self._start("worker", self.address, *options, cwd=home, **own, **environment)
        with self.client() as client:
            address = wait_until(lambda: _addresses(client).get(name))
        return Worker(process, address)

    def client(self) -> "Client":
        client: Client = distributed.Client(self.address, set_as_default=False)
        return client

    @contextmanager
    def killing(self, worker: "Worker", turn: int) -> Iterator[None]:
        """Kill a worker while it runs a task: after it has been seen with ``turn`` of them."""
        seen, ended = set[str](), threading.Event()

        def is_its_turn(client: "Client") -> bool:
            seen.update(client.processing(workers=[worker.address])[worker.address])
            return len(seen) >= turn or ended.is_set()

        def kill() -> None:
            with self.client() as client:
                wait_until(lambda: is_its_turn(client))
            worker.process.send_signal(signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        assert worker.process.wait() == -signal.SIGKILL

    def _start(
        self, role: str, *arguments: str, cwd: Path, **environment: str
    ) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *arguments]
        log = self.stack.enter_context((self.folder / f"{role}-{next(_NUMBERS)}.log").open("wb"))
        others = {name: text for name, text in os.environ.items() if "SANKOFA" not in name}
        process = subprocess.Popen(
            command, cwd=cwd, env={**others, **_QUIET, **environment}, stdout=log, stderr=log
        )
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator["Cluster"]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        with ExitStack() as stack:
            cluster = cls(f"tcp://127.0.0.1:{port}", folder, stack)
            place = ("--host", "127.0.0.1", "--port", str(port), "--dashboard-address", ":0")
            cluster._start("scheduler", *place, cwd=folder)
            yield cluster


class Worker(NamedTuple):
    """The process of a worker, and where the scheduler reaches it."""

    process: "subprocess.Popen[bytes]"
    address: str


def _addresses(client: "Client") -> dict[str, str]:
    """Return the addresses of the workers by name."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {str(worker["name"]): address for address, worker in workers.items()}


@pytest.fixture(scope="module")
def cluster(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster.started(tmp_path_factory.mktemp("cluster")) as started:
        started.add_worker()
        yield started


@pytest.fixture(scope="module")
def record(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Record:
    stored = Record(server.url("record"), caches=tmp_path_factory.mktemp("caches"))
    tables = (
        everything(Random(1)) if is_nightly() else {FUNDAMENTALS: [fact(), fact("2", year=2019)]}
    )
    for table, rows in tables.items():
        load(stored, table, *rows)
    return stored


def published(record: Record, home: Path, **chosen: str) -> dict[str, str]:
    """Publish a record with all that a publication derives; return the hash of each file."""
    joins, *derived = derivations()
    with compute_of(settings_of(home).model_copy(update=chosen)) as compute:
        publish(
            record,
            home / "marts",
            checks=checks(),
            joins=joins,
            derivations=derived,
            work=home / "stage",
            compute=compute,
        )
    folders = (home / "marts" / "files", home / "stage" / "steps")
    return {
        path: sha256_of_file(folder / path) for folder in folders for path in files_below(folder)
    }


@pytest.fixture(scope="module")
def of_one_process(record: Record, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    files = published(record, tmp_path_factory.mktemp("alone"))
    assert len({Path(path).suffix for path in files}) > 2
    return files


def test_the_build_of_a_worker_is_that_of_one_process(
    record: Record,
    of_one_process: dict[str, str],
    cluster: Cluster,
    server: S3Server,
    tmp_path: Path,
) -> None:
    exchange = server.url("exchange")
    files = published(record, tmp_path, compute=cluster.address, compute_store=exchange)
    assert files == of_one_process
    # Nothing is left of what was exchanged.
    assert FileStore.of(exchange).listing() == []


@pytest.mark.nightly
@pytest.mark.parametrize("turn", range(10))
def test_the_build_of_two_workers_one_of_them_killed_is_that_of_one_process(
    turn: int,
    record: Record,
    of_one_process: dict[str, str],
    cluster: Cluster,
    server: S3Server,
    tmp_path: Path,
) -> None:
    moment, exchange = Random(seed_of_this_run() + turn).randint(1, 12), server.url("exchange")
    chosen = {"compute": cluster.address, "compute_store": exchange}
    with cluster.killing(cluster.add_worker(), moment):
        files = published(record, tmp_path, **chosen)
    assert files == of_one_process, moment
    # Nothing is left of what was exchanged.
    assert FileStore.of(exchange).listing() == []


@pytest.mark.nightly
def test_a_worker_with_other_code_is_refused_in_words(server: S3Server, tmp_path: Path) -> None:
    for package in PACKAGES:
        ignored = shutil.ignore_patterns(*UNFINISHED)
        shutil.copytree(ROOT / package, tmp_path / "other" / package, ignore=ignored)
    with (tmp_path / "other/quality/floors.py").open("a") as changed:
        changed.write("CHANGED = True\n")
    with Cluster.started(tmp_path) as cluster:
        cluster.add_worker(PYTHONPATH=str(tmp_path / "other"))
        chosen = {"compute": cluster.address, "compute_store": server.url("exchange")}
        refused = "task: a worker has .*, the machine that publishes .*; install the same release"
        with (
            compute_of(settings_of(tmp_path).model_copy(update=chosen)) as compute,
            pytest.raises(TaskFailed, match=refused),
        ):
            compute.run([Task("task", limit_amounts)])


def test_doctor_names_the_workers_and_the_dashboard(
    cluster: Cluster, server: S3Server, tmp_path: Path
) -> None:
    chosen = {
        "SANKOFA_COMPUTE": cluster.address.replace("tcp://", "dask://"),
        "SANKOFA_COMPUTE_STORE": server.url("exchange"),
    }
    said = run_command(tmp_path / "home", "doctor", **chosen)[1]
    assert "workers of dask://127.0.0.1" in said and "/status" in said


@pytest.mark.parametrize(
    ("store", "words"),
    [("", "SANKOFA_COMPUTE_STORE is not"), ("s3://bucket", "no Dask scheduler with a worker")],
)
def test_a_cluster_that_cannot_be_used_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, words: str
) -> None:
    monkeypatch.setattr("warehouse.publish.cluster._SECONDS_TO_CONNECT", 1)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    chosen = {"compute": address, "compute_store": store}
    with pytest.raises(SankofaError, match=words):
        compute_of(settings_of(tmp_path).model_copy(update=chosen))
