"""One step for one partition, as a value that can be sent to another process or machine."""

import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, Self

import duckdb

from warehouse.compute.tables import Scatter
from warehouse.errors import SankofaError


@dataclass(frozen=True)
class Task:
    """A call of ``function(task, sql)``, where ``sql`` is a DuckDB connection of its own.

    ``function`` is ``"module:function"``. It reads the files of ``inputs`` (by name: paths or URLs
    of Parquet files) and writes into ``folder``; what it returns is small and can be pickled. It is
    pure: run again, or on another machine, it writes the same. ``name`` is for people.
    """

    name: str
    function: str
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folder: str = ""
    partition: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """What one task may take of a machine, and where it may spill what does not fit."""

    threads: int
    memory_mb: int
    spill: str | None = None


class Compute(Protocol):
    """Runs tasks. Open it once for a publication: starting processes takes seconds."""

    @property
    def words(self) -> str:
        """What it is, for people."""
        ...

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run tasks that do not need each other; return their results, in the order of the tasks.

        Raises ``TaskFailed`` if one fails. None of them runs any more then.
        """
        ...

    def scatter(self, rows: Scatter) -> None:
        """Write the rows of a statement, by partition, in one pass over whole tables."""
        ...

    def close(self) -> None:
        """Stop the processes."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None: ...


class TaskFailed(SankofaError):
    """A task failed; ``task`` is its name and ``reason`` what went wrong."""

    def __init__(self, task: str, reason: str) -> None:
        super().__init__(task, reason)
        self.task, self.reason = task, reason

    def __str__(self) -> str:
        return f"{self.task}: {self.reason}"


@dataclass(frozen=True)
class Outcome:
    """How a task ended. Never an exception: many cannot be sent to another process."""

    result: Any = None
    failure: str | None = None


def run_task(task: Task, share: Share) -> Outcome:
    """Run a task in this process."""
    try:
        function = _function(task.function)
        with (
            tempfile.TemporaryDirectory(prefix="sankofa-spill-", dir=share.spill) as spill,
            closing(connect(share, spill)) as sql,
        ):
            return Outcome(function(task, sql))
    except SankofaError as error:
        return Outcome(failure=str(error))
    # Whatever it is, it must reach whoever asked, with the name of the task.
    except Exception as error:
        return Outcome(failure=f"{type(error).__name__}: {error}\n{traceback.format_exc()}")


def result_of(task: Task, outcome: Outcome) -> Any:
    """Return the result of a task; raise ``TaskFailed`` if there is none."""
    if outcome.failure is not None:
        raise TaskFailed(task.name, outcome.failure)
    return outcome.result


def connect(share: Share, spill: str) -> duckdb.DuckDBPyConnection:
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


def _function(name: str) -> Callable[[Task, duckdb.DuckDBPyConnection], Any]:
    module, _, function = name.partition(":")
    found: Callable[[Task, duckdb.DuckDBPyConnection], Any] = getattr(
        import_module(module), function
    )
    return found
