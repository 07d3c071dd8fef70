"""Tasks on the workers of a Dask scheduler: the same functions as in ``steps``, on other machines.

Machines share no folder. Files of tasks go through a store that all reach, under the hash of their
content: an input is uploaded once, whatever reads it, and what a task made is not uploaded again
for the next. The store has them until the cluster is left. A task whose worker is lost runs on
another: it is pure, and its files appear here only when it has ended.
"""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self
from uuid import uuid4

from distributed import Client, Future, as_completed

from warehouse.publish.steps import Task, TaskFailed, result_of, run_task
from warehouse.shared.code_version import ROOT, code_hash, release
from warehouse.shared.errors import SankofaError
from warehouse.shared.file_store import FileStore
from warehouse.shared.settings import cores, usable_memory_mb

# Times that a task is run again if it fails for another reason than its own, or its worker is lost.
_RETRIES = 3
_SECONDS_TO_CONNECT = 20
_INPUTS, _MADE = "inputs", "made"


class TaskFile(NamedTuple):
    """A file in the store: its hash, and its path in the folder of its task."""

    sha256: str
    path: str


class Parcel(NamedTuple):
    """A task with its files by hash instead of by path, and the code that it was made with."""

    task: Task
    files: Mapping[str, Sequence[TaskFile]]
    store: str
    code: str


@dataclass
class DaskCluster:
    """Runs tasks on the workers of a scheduler.

    ``store`` is where files are exchanged: an object store, or a folder that all machines have.
    """

    address: str
    store: str
    _client: Client = field(init=False)
    _uploaded: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        # A folder for this publication: what a killed one left is none of ours.
        self.store = f"{self.store.rstrip('/')}/{uuid4().hex}"
        try:
            self._client = Client(self.address, timeout=f"{_SECONDS_TO_CONNECT}s")
        except (OSError, ValueError) as error:
            raise SankofaError(
                f"no Dask scheduler answers at {self.address} (SANKOFA_COMPUTE): {error}; start one "
                "with `dask scheduler`, and workers with `dask worker`"
            ) from error

    @property
    def words(self) -> str:
        """What it is, for people."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return f"{len(workers)} workers at {self.address}; see {self._client.dashboard_link}"

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run tasks, the largest first; return their results, in the order of the tasks."""
        parcels = [self._packed(task) for task in tasks]
        order = sorted(range(len(tasks)), key=lambda number: -_bytes(tasks[number]))
        futures: dict[Future, int] = {
            self._client.submit(
                run_parcel,
                parcels[number],
                key=f"{tasks[number].name}-{uuid4().hex}",
                pure=False,
                retries=_RETRIES,
                priority=-place,
            ): number
            for place, number in enumerate(order)
        }
        results: dict[int, Any] = {}
        try:
            for done in as_completed(futures):
                number = futures[done]
                outcome, made = self._result(done, tasks[number])
                results[number] = result_of(tasks[number], outcome)
                self._fetch(Path(tasks[number].folder), made)
        finally:
            self._client.cancel([*futures])
        return [results[number] for number in range(len(tasks))]

    def _result(self, done: Future, task: Task) -> Any:
        try:
            return done.result()
        except Exception as error:
            raise TaskFailed(
                f"{task.name}: no worker of {self.address} could run it ({error}). What was "
                "finished is kept; publish again to go on"
            ) from error

    def _packed(self, task: Task) -> Parcel:
        files = {
            name: [TaskFile(self._upload(path), Path(path).name) for path in paths]
            for name, paths in task.inputs.items()
        }
        return Parcel(task, files, self.store, code_of_machine())

    def _upload(self, path: str) -> str:
        """Return the hash of a file, under which the store has it."""
        if path not in self._uploaded:
            digest = _sha256(Path(path))
            if digest not in self._uploaded.values():
                FileStore.of(self.store).upload(Path(path), digest)
            self._uploaded[path] = digest
        return self._uploaded[path]

    def _fetch(self, folder: Path, made: Sequence[TaskFile]) -> None:
        """Put the files of a task into its folder: a new folder appears with all of them."""
        unfinished = folder.with_name(f"{folder.name}.{uuid4().hex[:8]}.partial")
        for file in made:
            target = unfinished / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            FileStore.of(self.store).download(target, file.sha256)
            self._uploaded[str(folder / file.path)] = file.sha256
        if not folder.exists():
            unfinished.mkdir(parents=True, exist_ok=True)
            unfinished.rename(folder)
            return
        for file in made:
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            (unfinished / file.path).replace(target)
        shutil.rmtree(unfinished, ignore_errors=True)

    def close(self) -> None:
        """Leave the cluster, and delete what was exchanged."""
        self._client.close()
        store, _, folder = self.store.rpartition("/")
        FileStore.of(store).remove(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()


def run_parcel(parcel: Parcel) -> tuple[Any, list[TaskFile]]:
    """Run a task in this process, a worker; return its outcome and the files that it made."""
    if parcel.code != code_of_machine():
        reason = (
            f"a worker has {code_of_machine()}, the machine that publishes {parcel.code}; install "
            "the same release on all machines, and restart the workers"
        )
        return (None, reason), []
    store = FileStore.of(parcel.store)
    with TemporaryDirectory(prefix="sankofa-task-") as name:
        inputs, made = Path(name, _INPUTS), Path(name, _MADE, Path(parcel.task.folder).name)
        inputs.mkdir()
        made.parent.mkdir()
        paths: dict[str, list[str]] = {}
        for table, files in parcel.files.items():
            for number, file in enumerate(files):
                path = inputs / f"{len(paths)}-{number}-{file.path}"
                store.download(path, file.sha256)
                paths.setdefault(table, []).append(str(path))
            paths.setdefault(table, [])
        limits = {"threads": "1", "memory_limit": f"{usable_memory_mb() // cores()}MB"}
        outcome = run_task(replace(parcel.task, inputs=paths, folder=str(made)), limits)
        return outcome, [
            _stored(store, made, path) for path in sorted(made.rglob("*")) if path.is_file()
        ]


def _stored(store: FileStore, folder: Path, path: Path) -> TaskFile:
    file = TaskFile(_sha256(path), path.relative_to(folder).as_posix())
    store.upload(path, file.sha256)
    return file


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes(task: Task) -> int:
    return sum(Path(path).stat().st_size for paths in task.inputs.values() for path in paths)


@cache
def code_of_machine() -> str:
    """Return the release, and a hash of the code that tasks may run."""
    folders = (ROOT / package for package in ("warehouse", "quality", "assets"))
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for folder in folders
        for path in folder.rglob("*.py")
        if path.name != "__init__.py"
    ]
    return f"{release()} {code_hash(*modules)[:8]}"
