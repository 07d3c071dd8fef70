"""Small tasks for tests of compute: what a spawned process can import."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.compute.task import Task
from warehouse.errors import SankofaError

HERE = __name__


def task(function: str, name: str = "", **settings: Any) -> Task:
    """Return a task of a function of this module."""
    return Task(name or function, f"{HERE}:{function}", settings=settings)


def counting(folder: Path, partitions: int) -> list[Task]:
    """Return a task for each partition of some numbers."""
    tasks = []
    for partition in range(partitions):
        path, out = folder / f"numbers-{partition}.parquet", folder / "out"
        pq.write_table(pa.table({"number": range(10 * partition + 1)}), path)
        out.mkdir(exist_ok=True)
        inputs = {"numbers": [str(path)]}
        tasks.append(Task(f"count {partition}", f"{HERE}:count", inputs, str(out), str(partition)))
    return tasks


def count(task: Task, sql: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Write the even numbers of a partition; return how many rows it wrote, and where it ran."""
    path = Path(task.folder, f"{task.partition}.parquet")
    files = list(task.inputs["numbers"])
    sql.execute(
        f"COPY (FROM read_parquet({files!r}) WHERE number % 2 = 0 ORDER BY ALL) TO '{path}'"
    )
    (rows,) = sql.execute(f"SELECT count(*) FROM read_parquet('{path}')").fetchall()
    return {"rows": rows[0], "process": os.getpid()}


def limits(task: Task, sql: duckdb.DuckDBPyConnection) -> tuple[int, str, str]:
    """Return the threads, the memory and the time zone that DuckDB has."""
    names = ("threads", "memory_limit", "TimeZone")
    columns = ", ".join(f"current_setting('{name}')" for name in names)
    (row,) = sql.execute(f"SELECT {columns}").fetchall()
    return row[0], row[1], row[2]


def fail(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Fail with an error that we foresee."""
    raise SankofaError("the file of figures is missing; load them")


def crash(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Fail with an error that cannot be sent to another process."""

    class Unsendable(Exception):
        pass

    raise Unsendable("seven")


def die(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Be killed, as by a machine without memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def leave_a_mark(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Write a file after a while."""
    time.sleep(task.settings["seconds"])
    Path(task.settings["mark"]).touch()
