"""Tasks on Apache Spark: the same functions, each with its own DuckDB, on the executors.

Spark decides where a task runs, and runs it again if an executor is lost. The tasks name files:
all executors must see the folders of the home under the same path. They must have the same code,
which every one of them checks.
"""

import hashlib
import os
import pickle
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from warehouse.code_version import PACKAGES, ROOT
from warehouse.compute.spark_sql import spark_rows, write_partitions
from warehouse.compute.tables import Scatter
from warehouse.compute.task import Outcome, Share, Task, TaskFailed, result_of, run_task
from warehouse.errors import SankofaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Memory of DuckDB in a task, unless the settings say what all may use together.
_TASK_MB = 1024
_CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The statements cast timestamps to days, and those are days in UTC.
    "spark.sql.session.timeZone": "UTC",
    # Else Spark writes moments as 96-bit numbers, which nobody else does any more.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.log.level": "ERROR",
}
_TASKS = pa.schema([("number", pa.int32()), ("task", pa.binary())])
_OUTCOMES = "number int, outcome binary"
# What Spark says of a task that failed, and what our own code said on the executor. Task and row
# have the same number.
_LOST = re.compile(r"Task (\d+) in stage \S+ failed")
_SAID = re.compile(r"RuntimeError: (.* has no code of Sankofa .*)")


@dataclass
class Spark:
    """Runs tasks on a Spark master; the session starts with the first run.

    ``memory`` is what all tasks that run at the same time may take together, in MB; without it each
    may take 1,024 MB.
    """

    master: str
    memory: int | None = None
    spill: str | None = None
    _session: "SparkSession | None" = field(init=False, default=None)

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"Apache Spark, {self.master}"

    @property
    def session(self) -> "SparkSession":
        """The session; raises if Spark cannot be started or the master does not answer."""
        if self._session is None:
            self._session = _start(self.master)
        return self._session

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run tasks on the executors; return their results, in the order of the tasks."""
        if not tasks:
            return []
        _require_folders(tasks)
        rows = pa.table([range(len(tasks)), list(map(pickle.dumps, tasks))], schema=_TASKS)
        # One partition for each: Spark gives the next one to whichever executor is free.
        frame = self.session.createDataFrame(rows).repartitionById(len(tasks), "number")
        with _without_warnings():
            run = _runner(self._share(), code_fingerprint())
            outcomes = frame.mapInArrow(run, _OUTCOMES)
            try:
                found = outcomes.toArrow().to_pylist()
            # Spark gives up on a task that lost its process several times.
            except Exception as error:
                raise _lost(tasks, str(error)) from error
        # Pickled by ourselves, on executors of our own.
        ended = {row["number"]: pickle.loads(row["outcome"]) for row in found}  # noqa: S301
        return [result_of(task, ended[number]) for number, task in enumerate(tasks)]

    def scatter(self, rows: Scatter) -> None:
        """Write the rows of a statement, run as Spark SQL, by partition."""
        with _without_warnings():
            found = spark_rows(self.session, rows.statement, rows.tables())
            write_partitions(found, rows.folder)

    def close(self) -> None:
        """Stop the session."""
        if self._session is not None:
            self._session.stop()
            self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _share(self) -> Share:
        at_once = self.session.sparkContext.defaultParallelism
        return Share(1, _TASK_MB if self.memory is None else max(self.memory // at_once, 256))


def missing_for_spark() -> str | None:
    """Return what has to be installed on this machine before Spark can be used, if anything."""
    if find_spec("pyspark") is None or find_spec("sqlglot") is None:
        return "the extra `spark`"
    has_java = shutil.which("java") is not None or "JAVA_HOME" in os.environ
    return None if has_java else "Java 17 or later"


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence pyspark, which warns of every pandas newer than itself; we use none of it there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _lost(tasks: Sequence[Task], words: str) -> TaskFailed:
    """Return the failure of the task that Spark could not bring to an end."""
    number = _LOST.search(words)
    names = ", ".join(task.name for task in tasks) if number is None else tasks[int(number[1])].name
    reason = _SAID.search(words)
    if reason is not None:
        return TaskFailed(names, reason[1])
    return TaskFailed(
        names,
        "Spark lost the process that ran this; if an executor ran out of memory, give it more, or "
        "set SANKOFA_MEMORY_MB to less. What was finished is kept.",
    )


def _start(master: str) -> "SparkSession":
    # Executors run the Python of this process unless the environment names another.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if missing := missing_for_spark():
        raise SankofaError(f"SANKOFA_COMPUTE is {master}, which needs {missing}; install it")
    with _without_warnings():
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    builder = SparkSession.builder.master(master).appName("sankofa")
    for name, value in _CONFIGURATION.items():
        builder = builder.config(name, value)
    try:
        with _without_warnings():
            return builder.getOrCreate()
    # Without a JVM or a master it raises exceptions of several kinds.
    except (PySparkException, RuntimeError, OSError) as error:
        raise SankofaError(
            f"Spark does not start on {master}: {error}; it needs Java 17 or later, and a master "
            "that answers"
        ) from error


def _runner(share: Share, fingerprint: str) -> Any:
    """Return the function that runs the tasks of a partition on an executor."""

    # Local, so that it is sent as code: an executor that lacks ours can then say so.
    def run_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle
        import socket

        import pyarrow as pa

        try:
            from warehouse.compute.spark import run_here
        except ImportError as error:
            raise RuntimeError(
                f"{socket.gethostname()} has no code of Sankofa ({error}); install the same "
                "release on every worker, and set PYSPARK_PYTHON to its Python"
            ) from None
        for batch in batches:
            outcomes = [
                pickle.dumps(run_here(task, share, fingerprint))
                for task in batch["task"].to_pylist()
            ]
            yield pa.RecordBatch.from_arrays(
                [batch["number"], pa.array(outcomes, pa.binary())], ["number", "outcome"]
            )

    return run_all


def run_here(task: bytes, share: Share, fingerprint: str) -> Outcome:
    """Run a pickled task on this executor, if it has the code and the files of the driver."""
    host = socket.gethostname()
    if code_fingerprint() != fingerprint:
        return Outcome(
            failure=f"{host} has other code of Sankofa than the machine that publishes; install "
            "the same release on every worker"
        )
    # Pickled by the driver, of the same code.
    given: Task = pickle.loads(task)  # noqa: S301
    shared = [Path(path) for files in given.inputs.values() for path in files]
    shared += [Path(given.folder).parent] if given.folder else []
    for path in shared:
        if "://" not in str(path) and not path.exists():
            return Outcome(
                failure=f"{host} does not see {path}; on Spark the home must be a folder that all "
                "workers have under the same path"
            )
    return run_task(given, share)


@cache
def code_fingerprint() -> str:
    """Return a hash of all code and data files that tasks run with."""
    digest = hashlib.sha256()
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.*"))
    for path in sorted(path for path in files if _is_code(path)):
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _is_code(path: Path) -> bool:
    return path.suffix != ".md" and "__pycache__" not in path.parts


def _require_folders(tasks: Sequence[Task]) -> None:
    """Make the folders in which tasks make theirs, so that an executor can tell if it sees them."""
    for folder in {Path(task.folder).parent for task in tasks if task.folder}:
        folder.mkdir(parents=True, exist_ok=True)
