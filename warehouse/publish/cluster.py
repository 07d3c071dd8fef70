"""Tasks on the workers of a Dask scheduler: the same functions as in ``steps``, on other machines.

Machines share no folder. Files of tasks go through a store that all reach, under the hash of their
content: an input is uploaded once, whatever reads it, and what a task made is not uploaded again
for the next. The store has them until the cluster is left. A task whose worker is lost runs on
another: it is pure, and its files appear here only when it has ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self
from uuid import uuid4

from distributed import Client, Future, as_completed

from warehouse.publish.steps import Task, TaskFailed, bytes_of, result_of, run_task
from warehouse.shared.code_version import PACKAGES, ROOT, code_hash, release
from warehouse.shared.errors import SankofaError
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import move_into_place, sha256_of_file
from warehouse.shared.settings import cores, usable_memory_mb

# Times that a task is run again if it fails for another reason than its own. One whose worker is
# lost is run again by the scheduler, as often as its setting `allowed-failures` says.
_RETRIES = 3
_SECONDS_TO_CONNECT = 20


class TaskFile(NamedTuple):
    """A file in the store: its hash, and its path in the folder of its task."""

    sha256: str
    path: str


class Parcel(NamedTuple):
    """A task with its files by hash instead of by path, and the code that it was made with."""

    task: Task
    inputs: Mapping[str, Sequence[str]]
    store: str
    code: str


@dataclass
class DaskCluster:
    """Runs tasks on the workers of a scheduler; ``store`` is where files are exchanged."""

    address: str
    store: str
    memory: int
    _client: Client = field(init=False)
    # Hashes of files by path and time of writing: paths are used again.
    _hashes: dict[tuple[str, int], str] = field(init=False, default_factory=dict)
    _stored: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        # A folder for this run: what a killed one left is none of ours.
        self.store = f"{self.store.rstrip('/')}/{uuid4().hex}"
        scheme, _, place = self.address.partition("://")
        address = f"tcp://{place}" if scheme == "dask" else self.address
        try:
            self._client = Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
            self._client.wait_for_workers(1, timeout=_SECONDS_TO_CONNECT)
        except (OSError, ValueError) as error:
            raise SankofaError(
                f"no Dask scheduler with a worker answers at {self.address} (SANKOFA_COMPUTE): "
                f"{error}; start them with `dask scheduler` and `dask worker`"
            ) from error

    @property
    def words(self) -> str:
        """What it is, for people."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return f"{len(workers)} workers of {self.address}; see {self._client.dashboard_link}"

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run tasks, the largest first; return their results, in the order of the tasks."""
        order = sorted(range(len(tasks)), key=lambda number: -bytes_of(tasks[number]))
        # The first begins while the inputs of the next are uploaded.
        futures = {self._submit(tasks[number]): number for number in order}
        results: dict[int, Any] = {}
        try:
            for done in as_completed(futures, loop=self._client.loop):
                task = tasks[futures[done]]
                outcome, made = self._outcome(done, task)
                results[futures[done]] = result_of(task, outcome)
                self._fetch(Path(task.folder), made)
        finally:
            # After a failure, the other results are not needed.
            self._client.cancel([*futures])
        return [results[number] for number in range(len(tasks))]

    def _submit(self, task: Task) -> Future[Any]:
        inputs = {name: list(map(self._upload, paths)) for name, paths in task.inputs.items()}
        parcel = Parcel(task, inputs, self.store, code_of_machine())
        key = f"{task.name}-{uuid4().hex}"
        return self._client.submit(run_parcel, parcel, key=key, pure=False, retries=_RETRIES)

    def _outcome(self, done: Future[Any], task: Task) -> Any:
        try:
            return done.result()
        except Exception as error:
            raise TaskFailed(
                f"{task.name}: no worker of {self.address} could run it ({error}). What was "
                "finished is kept; publish again to go on"
            ) from error

    def _upload(self, path: str) -> str:
        """Return the hash of a file, under which the store has it."""
        written = path, Path(path).stat().st_mtime_ns
        if written not in self._hashes:
            self._hashes[written] = sha256_of_file(path)
        digest = self._hashes[written]
        if digest not in self._stored:
            FileStore.of(self.store).upload(Path(path), digest)
            self._stored.add(digest)
        return digest

    def _fetch(self, folder: Path, made: Sequence[TaskFile]) -> None:
        """Put the files of a task into its folder; if this is killed, the folder is incomplete."""
        for file in made:
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f"{target.name}.{uuid4().hex[:8]}.partial")
            FileStore.of(self.store).download(partial, file.sha256)
            move_into_place(partial, target)
            self._hashes[str(target), target.stat().st_mtime_ns] = file.sha256
            self._stored.add(file.sha256)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Leave the cluster, and delete what was exchanged."""
        self._client.close()
        store, _, folder = self.store.rpartition("/")
        FileStore.of(store).remove(folder)


def run_parcel(parcel: Parcel) -> tuple[Any, list[TaskFile]]:
    """Run a task in this process, a worker; return its outcome and the files that it made."""
    if parcel.code != code_of_machine():
        reason = (
            f"a worker has {code_of_machine()}, the machine that publishes {parcel.code}; install "
            "the same release on all machines, and restart the workers"
        )
        return (None, reason), []
    task, store = parcel.task, FileStore.of(parcel.store)
    with TemporaryDirectory(prefix="sankofa-task-") as name:
        made = Path(name, Path(task.folder).name)
        for digest in {digest for given in parcel.inputs.values() for digest in given}:
            store.download(Path(name, digest), digest)
        inputs = {
            table: [str(Path(name, digest)) for digest in given]
            for table, given in parcel.inputs.items()
        }
        limits = {"threads": "1", "memory_limit": f"{usable_memory_mb() // cores()}MB"}
        outcome = run_task(replace(task, inputs=inputs, folder=str(made)), limits)
        files = [
            TaskFile(sha256_of_file(path), path.relative_to(made).as_posix())
            for path in sorted(made.rglob("*"))
            if path.is_file()
        ]
        for file in files:
            store.upload(made / file.path, file.sha256)
        return outcome, files


@cache
def code_of_machine() -> str:
    """Return the release, and a hash of the code that tasks may run."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return f"{release()} {code_hash(*modules)[:8]}"
