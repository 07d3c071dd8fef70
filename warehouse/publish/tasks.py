"""Steps of a publication in processes of this machine.

A ``Task`` is one step for one partition, as a value that can be sent to another process: a
function, the files it reads and the folder it writes. A ``ProcessPool`` runs tasks, each with its
own DuckDB and its share of the memory. What steps do belongs to ``steps`` and ``assets``.
"""

import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

import duckdb

from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import cores, usable_memory_mb

# Below this a process costs more than it saves: it imports for a second or two before it begins.
WORTH_A_POOL = 16 << 20
_LEAST_MB = 256


@dataclass(frozen=True)
class Task:
    """A call of ``function(task, sql)``, where ``sql`` is a DuckDB connection of its own.

    ``function`` is one of a module, or a ``partial`` of one. It reads the files of ``inputs`` (by
    name: paths of Parquet files) and writes into ``folder``; what it returns is small and can be
    pickled. It is pure: run again, it writes the same. ``name`` is for people.
    """

    name: str
    function: "TaskFunction"
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folder: str = ""
    partition: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


TaskFunction = Callable[[Task, duckdb.DuckDBPyConnection], Any]


@dataclass(frozen=True)
class _Share:
    """What one task may take of a machine."""

    threads: int
    memory_mb: int


class TaskFailed(SankofaError):
    """A task failed; ``task`` is its name and ``reason`` what went wrong."""

    def __init__(self, task: str, reason: str) -> None:
        super().__init__(task, reason)
        self.task, self.reason = task, reason

    def __str__(self) -> str:
        return f"{self.task}: {self.reason}"


@dataclass(frozen=True)
class _Outcome:
    """How a task ended. Never an exception: many cannot be sent to another process."""

    result: Any = None
    failure: str | None = None


@dataclass
class ProcessPool:
    """Runs tasks in ``processes`` processes, or in this one if that is enough.

    ``memory`` is what all of them may take together, in MB. The processes start with the first
    run whose inputs have ``worth_a_pool`` bytes, and are kept until ``close``.
    """

    processes: int = field(default_factory=cores)
    memory: int = field(default_factory=usable_memory_mb)
    worth_a_pool: int = WORTH_A_POOL
    _executor: ProcessPoolExecutor | None = field(init=False, default=None)

    @property
    def words(self) -> str:
        """What it is, for people."""
        share = self._share(self.processes)
        return f"{self.processes} processes of this machine, {share.memory_mb:,} MB each"

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run tasks, the largest first; return their results, in the order of the tasks."""
        if not self._is_worth_a_pool(tasks):
            share = self._share(1)
            return [_result_of(task, _run_task(task, share)) for task in tasks]
        results: dict[int, Any] = {}
        for number, outcome in self._outcomes(tasks):
            results[number] = _result_of(tasks[number], outcome)
        return [results[number] for number in range(len(tasks))]

    def close(self) -> None:
        """Stop the processes once they have finished what they run."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _share(self, processes: int) -> _Share:
        memory = max(self.memory // processes, _LEAST_MB)
        return _Share(max(cores() // processes, 1), memory)

    def _is_worth_a_pool(self, tasks: Sequence[Task]) -> bool:
        if self.processes == 1 or len(tasks) == 1:
            return False
        return self._executor is not None or sum(map(_bytes, tasks)) >= self.worth_a_pool

    def _outcomes(self, tasks: Sequence[Task]) -> Iterator[tuple[int, _Outcome]]:
        """Yield the number of each task with how it ended, as soon as it has."""
        share, running = self._share(self.processes), dict[Future[_Outcome], int]()
        # The largest first: a large one at the end would leave the other processes idle.
        waiting = sorted(range(len(tasks)), key=lambda number: -_bytes(tasks[number]))
        try:
            while waiting or running:
                # As many as there are processes, so that what waits here can still be left out.
                while waiting and len(running) < self.processes:
                    number = waiting.pop(0)
                    running[self._started().submit(_run_task, tasks[number], share)] = number
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    outcome = done.result()
                    yield running.pop(done), outcome
        except BrokenProcessPool:
            self.close()
            names = ", ".join(sorted(tasks[number].name for number in running.values()))
            raise TaskFailed(
                names,
                "a process was killed while it ran this; if the machine ran out of memory, set "
                "SANKOFA_PROCESSES or SANKOFA_MEMORY_MB to less. What was finished is kept.",
            ) from None
        finally:
            # After a failure: whoever cleans up must not meet a process that still writes.
            wait(running)

    def _started(self) -> ProcessPoolExecutor:
        if self._executor is None:
            # Spawned and not forked: DuckDB and deltalake have threads that a fork loses.
            self._executor = ProcessPoolExecutor(self.processes, get_context("spawn"))
        return self._executor


def _run_task(task: Task, share: _Share) -> _Outcome:
    """Run a task in this process."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="sankofa-spill-") as spill,
            closing(_connect(share, spill)) as sql,
        ):
            return _Outcome(task.function(task, sql))
    except SankofaError as error:
        return _Outcome(failure=str(error))
    # Whatever it is, it must reach whoever asked, with the name of the task.
    except Exception as error:
        return _Outcome(failure=f"{type(error).__name__}: {error}\n{traceback.format_exc()}")


def _result_of(task: Task, outcome: _Outcome) -> Any:
    """Return the result of a task; raise ``TaskFailed`` if there is none."""
    if outcome.failure is not None:
        raise TaskFailed(task.name, outcome.failure)
    return outcome.result


def _connect(share: _Share, spill: str) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB in memory that stays within its share; days are days in UTC."""
    sql = duckdb.connect(
        config={
            "threads": share.threads,
            "memory_limit": f"{share.memory_mb}MB",
            "temp_directory": spill,
        }
    )
    sql.execute("SET GLOBAL TimeZone = 'UTC'")
    return sql


def _bytes(task: Task) -> int:
    """Return the size of a task's inputs."""
    paths = [Path(path) for files in task.inputs.values() for path in files]
    return sum(path.stat().st_size for path in paths)
