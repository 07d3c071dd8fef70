"""Tasks in processes of this machine, each with its own DuckDB and its share of the memory."""

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

from warehouse.compute.tables import Scatter
from warehouse.compute.task import Outcome, Share, Task, TaskFailed, result_of, run_task
from warehouse.machine import cores, usable_memory_mb

# Below this a process costs more than it saves: it imports for a second or two before it begins.
WORTH_A_POOL = 16 << 20
_LEAST_MB = 256


@dataclass
class ProcessPool:
    """Runs tasks in ``processes`` processes, or in this one if that is enough.

    ``memory`` is what all of them may take together, in MB. The processes start with the first
    run whose inputs have ``worth_a_pool`` bytes, and are kept until ``close``.
    """

    processes: int = field(default_factory=cores)
    memory: int = field(default_factory=usable_memory_mb)
    spill: str | None = None
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
            return [result_of(task, run_task(task, share)) for task in tasks]
        results: dict[int, Any] = {}
        for number, outcome in self._outcomes(tasks):
            results[number] = result_of(tasks[number], outcome)
        return [results[number] for number in range(len(tasks))]

    def scatter(self, rows: Scatter) -> None:
        """Write the rows of a statement, by partition, with the DuckDB of this process."""
        folder = rows.folder.replace("'", "''")
        rows.sql.execute(
            f"COPY ({rows.statement}) TO '{folder}' (FORMAT parquet, COMPRESSION lz4_raw, "
            "PARTITION_BY (partition), OVERWRITE_OR_IGNORE)"
        )

    def close(self) -> None:
        """Stop the processes once they have finished what they run."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _share(self, processes: int) -> Share:
        memory = max(self.memory // processes, _LEAST_MB)
        return Share(max(cores() // processes, 1), memory, self.spill)

    def _is_worth_a_pool(self, tasks: Sequence[Task]) -> bool:
        if self.processes == 1 or len(tasks) == 1:
            return False
        return self._executor is not None or sum(map(_bytes, tasks)) >= self.worth_a_pool

    def _outcomes(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        """Yield the number of each task with how it ended, as soon as it has."""
        share, running = self._share(self.processes), dict[Future[Outcome], int]()
        # The largest first: a large one at the end would leave the other processes idle.
        waiting = sorted(range(len(tasks)), key=lambda number: -_bytes(tasks[number]))
        try:
            while waiting or running:
                # As many as there are processes, so that what waits here can still be left out.
                while waiting and len(running) < self.processes:
                    number = waiting.pop(0)
                    running[self._started().submit(run_task, tasks[number], share)] = number
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


def _bytes(task: Task) -> int:
    """Return the size of a task's inputs; 0 for those that are not in this file system."""
    paths = [Path(path) for files in task.inputs.values() for path in files]
    return sum(path.stat().st_size for path in paths if path.is_file())
