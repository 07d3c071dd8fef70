"""Tasks in processes of this machine."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warehouse.publish.steps import ProcessPool, Task, TaskFailed, TaskFunction
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import cores


def task(function: TaskFunction, name: str = "", **settings: Any) -> Task:
    return Task(name or function.__name__, function, settings=settings)


def counting(folder: Path, partitions: int) -> list[Task]:
    """Return a task for each partition of some numbers."""
    tasks = []
    for partition in range(partitions):
        path, out = folder / f"numbers-{partition}.parquet", folder / "out"
        pq.write_table(pa.table({"number": range(10 * partition + 1)}), path)
        out.mkdir(exist_ok=True)
        inputs = {"numbers": [str(path)]}
        tasks.append(Task(f"count {partition}", count, inputs, str(out), {"partition": partition}))
    return tasks


def count(task: Task, sql: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Write the even numbers of a partition; return how many rows it wrote, and where it ran."""
    path = Path(task.folder, f"{task.settings['partition']}.parquet")
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


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPool]:
    with ProcessPool(processes=2, memory=1024, worth_a_pool=0) as pool:
        yield pool


def test_results_come_in_the_order_of_the_tasks_from_other_processes(
    pool: ProcessPool, tmp_path: Path
) -> None:
    results = pool.run(counting(tmp_path, 6))

    assert [result["rows"] for result in results] == [1, 6, 11, 16, 21, 26]
    assert os.getpid() not in {result["process"] for result in results}
    assert len(list(Path(tmp_path, "out").iterdir())) == 6


def test_one_process_is_this_one_and_writes_the_same(pool: ProcessPool, tmp_path: Path) -> None:
    pool.run(counting(tmp_path, 3))
    written = {path.name: path.read_bytes() for path in Path(tmp_path, "out").iterdir()}

    results = ProcessPool(processes=1, worth_a_pool=0).run(counting(tmp_path, 3))

    assert {result["process"] for result in results} == {os.getpid()}
    assert {path.name: path.read_bytes() for path in Path(tmp_path, "out").iterdir()} == written


def test_little_work_starts_no_process(tmp_path: Path) -> None:
    with ProcessPool(processes=2) as pool:
        assert {result["process"] for result in pool.run(counting(tmp_path, 2))} == {os.getpid()}


def test_all_processes_together_stay_within_the_memory_and_the_cores(pool: ProcessPool) -> None:
    for threads, memory, zone in pool.run([task(limits), task(limits)]):
        assert threads == max(cores() // 2, 1)
        assert memory == "488.2 MiB"  # 512 MB
        assert zone == "UTC"


def test_a_foreseen_failure_is_its_own_sentence_with_the_task(pool: ProcessPool) -> None:
    with pytest.raises(TaskFailed) as failed:
        pool.run([task(limits), task(fail, "metrics 07")])

    assert str(failed.value) == "metrics 07: the file of figures is missing; load them"


def test_an_unforeseen_failure_arrives_with_where_it_happened(pool: ProcessPool) -> None:
    for compute in (pool, ProcessPool(processes=1)):
        with pytest.raises(TaskFailed, match="signals ZM: Unsendable: seven") as failed:
            compute.run([task(limits), task(crash, "signals ZM")])

        assert "test_compute.py" in str(failed.value)


def test_after_a_failure_nothing_is_begun_and_nothing_still_writes(
    pool: ProcessPool, tmp_path: Path
) -> None:
    marks = [tmp_path / str(number) for number in range(3)]
    slow = [task(leave_a_mark, mark=str(mark), seconds=2) for mark in marks]

    with pytest.raises(TaskFailed):
        pool.run([task(fail), *slow])

    assert [mark.exists() for mark in marks] == [True, False, False]


@pytest.mark.slow
def test_a_killed_process_is_reported_with_what_it_ran_and_the_pool_goes_on(
    tmp_path: Path,
) -> None:
    with ProcessPool(processes=2, worth_a_pool=0) as pool:
        with pytest.raises(TaskFailed, match=r"metrics 07.*killed.*SANKOFA_PROCESSES"):
            pool.run([task(die, "metrics 07"), task(limits, "metrics 08")])

        assert [result["rows"] for result in pool.run(counting(tmp_path, 2))] == [1, 6]
