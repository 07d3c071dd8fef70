"""Steps of a publication: functions of files for one partition, run in processes of this machine.

A step function reads the Parquet files of a task's inputs and writes one Parquet file for each
table into its folder. It must be a function of a module (or a ``partial`` of one), so that another
process can run it, and must know no clock, no network and no other partition: its key says what it
is made from. What steps do belongs to ``nodes`` and ``assets``.
"""

import shutil
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, Self
from uuid import uuid4

import duckdb
import msgspec
import pyarrow.parquet as pq

from warehouse.publish.manifest import BuildFile, step_key
from warehouse.shared import files
from warehouse.shared.errors import DamagedFile, SankofaError
from warehouse.shared.file_store import require_known_store
from warehouse.shared.files import check_of_file, decode_sealed, sha256_of_file
from warehouse.shared.settings import Settings, cores, spill_folder, usable_memory_mb

# Below this a process costs more than it saves: it imports for a second or two before it begins.
_WORTH_A_POOL = 16 << 20
_LEAST_MB = 256


@dataclass(frozen=True)
class Task:
    """A call of ``function(task, sql)``, where ``sql`` has a database in memory of its own.

    ``function`` is one of a module, or a ``partial`` of one. It reads the files of ``inputs`` (by
    name: paths of Parquet files) and writes into ``folder``; what it returns is small and can be
    pickled. It is pure: run again, it writes the same. ``name`` is for people.
    """

    name: str
    function: "TaskFunction"
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folder: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


TaskFunction = Callable[[Task, duckdb.DuckDBPyConnection], Any]


class TaskFailed(SankofaError):
    """A task failed; the message is its name and what went wrong."""


class Compute(Protocol):
    """What runs tasks: processes of this machine, or a cluster (``cluster.DaskCluster``).

    ``memory`` is what may be taken of this machine, in MB.
    """

    memory: int

    @property
    def words(self) -> str:
        """What it is, for people."""

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run tasks; return their results, in the order of the tasks."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None: ...


def compute_of(settings: Settings) -> Compute:
    """Return what the settings choose to run tasks."""
    if not settings.compute:
        return ProcessPool(settings.processes, settings.memory_mb)
    if not settings.compute_store:
        raise SankofaError(
            "SANKOFA_COMPUTE is set, SANKOFA_COMPUTE_STORE is not: name an object store through "
            "which the workers get and return files"
        )
    require_known_store(settings.compute_store, "SANKOFA_COMPUTE_STORE")
    try:
        # Loaded here: an installation of one machine does not have Dask.
        cluster = import_module("warehouse.publish.cluster")
    except ModuleNotFoundError as error:
        raise SankofaError(
            f"SANKOFA_COMPUTE needs the extra `dask`: pip install -e .[dask] ({error})"
        ) from error
    compute: Compute = cluster.DaskCluster(
        settings.compute, settings.compute_store, settings.memory_mb
    )
    return compute


@dataclass
class ProcessPool:
    """Runs tasks in ``processes`` processes, or in this one if that is enough.

    ``memory`` is what all of them may take together, in MB. The processes start with the first
    run whose inputs have ``worth_a_pool`` bytes, and are kept until ``close``. Tasks with less are
    run by threads: most of their time is DuckDB's, which plans each statement in one thread.
    """

    processes: int = field(default_factory=cores)
    memory: int = field(default_factory=usable_memory_mb)
    worth_a_pool: int = _WORTH_A_POOL
    _executor: ProcessPoolExecutor | None = field(init=False, default=None)

    @property
    def words(self) -> str:
        """What it is, for people."""
        memory = self._limits(self.processes)["memory_limit"].removesuffix("MB")
        return f"{self.processes} processes of this machine, {int(memory):,} MB each"

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run tasks, the largest first; return their results, in the order of the tasks."""
        is_large = sum(map(bytes_of, tasks)) >= self.worth_a_pool
        if (is_large or self._executor) and self.processes > 1 and len(tasks) > 1:
            results = dict(self._results(tasks))
            return [results[number] for number in range(len(tasks))]
        limits = self._limits(1)
        if is_large:
            return [result_of(task, run_task(task, limits)) for task in tasks]
        # To divide a small statement among threads costs more than it saves.
        limits["threads"] = "1"
        with ThreadPoolExecutor(cores()) as threads:
            outcomes = threads.map(partial(run_task, limits=limits), tasks)
            return [result_of(*each) for each in zip(tasks, outcomes, strict=True)]

    def close(self) -> None:
        """Stop the processes once they have finished what they run."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _limits(self, processes: int) -> dict[str, str]:
        """Return what the DuckDB of one of so many processes may take of the machine."""
        memory = max(self.memory // processes, _LEAST_MB)
        return {"threads": str(max(cores() // processes, 1)), "memory_limit": f"{memory}MB"}

    def _results(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
        """Yield the number of each task with its result, as soon as it has ended."""
        limits, running = self._limits(self.processes), dict[Future[_Outcome], int]()
        # The largest first: a large one at the end would leave the other processes idle.
        waiting = sorted(range(len(tasks)), key=lambda number: -bytes_of(tasks[number]))
        try:
            while waiting or running:
                # As many as there are processes, so that what waits here can still be left out.
                while waiting and len(running) < self.processes:
                    number = waiting.pop(0)
                    running[self._started().submit(run_task, tasks[number], limits)] = number
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    outcome = done.result()
                    number = running.pop(done)
                    yield number, result_of(tasks[number], outcome)
        except BrokenProcessPool:
            self.close()
            names = ", ".join(sorted(tasks[number].name for number in running.values()))
            raise TaskFailed(
                f"{names}: a process was killed while it ran this; if the machine ran out of "
                "memory, set SANKOFA_PROCESSES or SANKOFA_MEMORY_MB to less. What was finished is "
                "kept."
            ) from None
        finally:
            # After a failure: whoever cleans up must not meet a process that still writes.
            wait(running)

    def _started(self) -> ProcessPoolExecutor:
        if self._executor is None:
            # Spawned and not forked: DuckDB and deltalake have threads that a fork loses.
            self._executor = ProcessPoolExecutor(self.processes, get_context("spawn"))
        return self._executor


# A result, and what went wrong if there is none: many exceptions cannot be sent to another process.
_Outcome = tuple[Any, str | None]


def run_task(task: Task, limits: Mapping[str, str]) -> _Outcome:
    """Run a task in this process, in a database in memory whose days are days in UTC."""
    try:
        with _database(_engine(tuple(limits.items()))) as sql:
            return task.function(task, sql), None
    except SankofaError as error:
        return None, str(error)
    # Whatever it is, it must reach the caller, with the name of the task.
    except Exception as error:
        # After some errors DuckDB refuses all further work: the next task opens another.
        _engine.cache_clear()
        return None, f"{type(error).__name__}: {error}\n{traceback.format_exc()}"


@cache
def _engine(limits: tuple[tuple[str, str], ...]) -> duckdb.DuckDBPyConnection:
    """Open the DuckDB of this process's tasks: to open one takes longer than many a task."""
    engine = duckdb.connect(config={**dict(limits), "temp_directory": spill_folder()})
    engine.execute("SET GLOBAL TimeZone = 'UTC'")
    return engine


@contextmanager
def _database(engine: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to an empty database, which is gone afterwards."""
    name = f"task_{uuid4().hex}"
    with closing(engine.cursor()) as sql:
        sql.execute(f"ATTACH ':memory:' AS {name}")
        sql.execute(f"USE {name}")
        try:
            yield sql
        finally:
            sql.execute("USE memory")
            sql.execute(f"DETACH {name}")


def result_of(task: Task, outcome: _Outcome) -> Any:
    """Return the result of a task; raise ``TaskFailed`` if it has none."""
    result, failure = outcome
    if failure is not None:
        raise TaskFailed(f"{task.name}: {failure}")
    return result


def bytes_of(task: Task) -> int:
    """Return the size of a task's inputs."""
    return sum(Path(path).stat().st_size for paths in task.inputs.values() for path in paths)


# Files of steps, found by key.
#
# The files of a key are a folder that appears under its name when it is complete, with a list of
# them (``files.json``). A folder never changes; it can be deleted whenever it is not in use, and
# is made again when it is needed.

_LIST = "files.json"


_decode_files = msgspec.json.Decoder(dict[str, list[BuildFile]]).decode


@dataclass(frozen=True)
class StepStore:
    """A folder with a folder for each key."""

    root: Path

    def folder(self, key: str) -> Path:
        """Return the folder of a key, whether or not it exists."""
        return self.root / key[:2] / key

    def files(self, key: str, partition: str) -> tuple[BuildFile, ...] | None:
        """Return the files of a key in the order of their tables; None if it was not made.

        Damaged ones are deleted and count as not made.
        """
        folder = self.folder(key)
        if not folder.is_dir():
            return None
        if self.damage(folder) is not None:
            # Made from what is kept: it can be made again.
            shutil.rmtree(folder)
            return None
        return tuple(msgspec.structs.replace(file, partition=partition) for file in _listed(folder))

    def damage(self, folder: Path) -> str | None:
        """Return what is wrong with the files of a key; None if they are intact."""
        try:
            listed = _listed(folder)
        except (OSError, DamagedFile) as error:
            return f"{_LIST} cannot be read ({error})"
        for file in listed:
            if reason := file.damage(self.root):
                return f"{file.table}.parquet: {reason}"
        return None

    def path(self, file: BuildFile) -> Path:
        """Return where a file is."""
        return self.root / file.path

    def delete_all_but(self, keys: Collection[str]) -> int:
        """Delete the folders of all other keys, and of killed tasks; return how many.

        No files may be made meanwhile: take the publishing lock.
        """
        deleted = 0
        for folder in self.root.glob("*/*"):
            if folder.name not in keys:
                shutil.rmtree(folder)
                deleted += 1
        return deleted


def _listed(folder: Path) -> list[BuildFile]:
    path = folder / _LIST
    return decode_sealed(_decode_files, path.read_bytes(), str(path)).get("files", [])


def seal_files(unfinished: Path, folder: Path) -> None:
    """List the files of a finished step and move them into place, unless another has done it."""
    listed = [_described(path, folder.name) for path in sorted(unfinished.glob("*.parquet"))]
    for other in unfinished.iterdir():
        if other.suffix != ".parquet":
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    (unfinished / _LIST).write_bytes(files.seal(msgspec.json.encode({"files": listed})))
    for path in (*unfinished.iterdir(), unfinished):
        files.sync(path)
    try:
        unfinished.rename(folder)
    except OSError:
        # Two runs of a step make the same files; the first is as good as the second.
        if not (folder / _LIST).is_file():
            raise
    files.sync(folder.parent)


def _described(path: Path, key: str) -> BuildFile:
    """Return the file of a finished step; it is of whichever partition has this key."""
    rows, check = pq.read_metadata(path).num_rows, check_of_file(path)
    return BuildFile(
        *("snapshot", path.stem, "", f"{key[:2]}/{key}/{path.name}", key),
        *(sha256_of_file(path), rows, check.size),
        xxh3=check.xxh3,
    )


@dataclass(frozen=True)
class Input:
    """Parquet files that a step reads, and a hash of their content, which is part of its key.

    A path may have ``*`` as the name of the file: all files of that folder.
    """

    paths: tuple[str, ...]
    content: str

    def expanded(self) -> tuple[str, ...]:
        """Return the paths of the files themselves."""
        return tuple(
            file
            for path in map(Path, self.paths)
            for file in (
                sorted(map(str, path.parent.glob(path.name))) if "*" in path.name else [str(path)]
            )
        )


@dataclass(frozen=True)
class Step:
    """A step: ``version`` is made from its code."""

    name: str
    version: str
    function: TaskFunction

    def key(self, partition: str, inputs: Mapping[str, Input]) -> str:
        """Return the key of what the step makes of the inputs of a partition."""
        contents = {name: given.content for name, given in inputs.items()}
        return step_key(self.name, self.version, partition, contents)


def _make_files(function: TaskFunction, task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Make the files under another name and move them into place; once done, do nothing.

    Killed at any moment, it leaves either all files or a folder that is never read.
    """
    folder = Path(task.folder)
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.{uuid4().hex[:8]}.partial")
    unfinished.mkdir(parents=True)
    try:
        function(replace(task, folder=str(unfinished)), sql)
        seal_files(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def run_step(
    step: Step,
    partitions: Mapping[str, Mapping[str, Input]],
    store: StepStore,
    compute: Compute,
    prepare: Callable[[Collection[str]], None] = lambda _: None,
) -> list[BuildFile]:
    """Return the files of a step for every partition, made now or found by their keys.

    ``partitions`` are the inputs of each. ``prepare`` gets the partitions for which the step has to
    be run, before that: it writes the inputs that exist for no other purpose.
    """
    keys = {partition: step.key(partition, inputs) for partition, inputs in partitions.items()}
    missing = [name for name, key in keys.items() if store.files(key, name) is None]
    if missing:
        prepare(missing)
        compute.run(
            [
                Task(
                    f"{step.name}/{name}",
                    partial(_make_files, step.function),
                    {table: given.expanded() for table, given in partitions[name].items()},
                    str(store.folder(keys[name])),
                )
                for name in missing
            ]
        )
    files: list[BuildFile] = []
    for partition, key in sorted(keys.items()):
        made = store.files(key, partition)
        if made is None:
            raise FileNotFoundError(
                f"step {step.name}, partition {partition}: the task ended without its files"
            )
        files += made
    return files
