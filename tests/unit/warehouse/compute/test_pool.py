"""Tasks in processes of this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.tasks import counting, task
from warehouse.compute.pool import ProcessPool
from warehouse.compute.task import TaskFailed
from warehouse.machine import cores


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
    for threads, memory, zone in pool.run([task("limits"), task("limits")]):
        assert threads == max(cores() // 2, 1)
        assert memory == "488.2 MiB"  # 512 MB
        assert zone == "UTC"


def test_a_foreseen_failure_is_its_own_sentence_with_the_task(pool: ProcessPool) -> None:
    with pytest.raises(TaskFailed) as failed:
        pool.run([task("limits"), task("fail", "metrics 07")])

    assert str(failed.value) == "metrics 07: the file of figures is missing; load them"


def test_an_unforeseen_failure_arrives_with_where_it_happened(pool: ProcessPool) -> None:
    for compute in (pool, ProcessPool(processes=1)):
        with pytest.raises(TaskFailed, match="signals ZM: Unsendable: seven") as failed:
            compute.run([task("limits"), task("crash", "signals ZM")])

        assert "tests/helpers/tasks.py" in str(failed.value)


def test_after_a_failure_nothing_is_begun_and_nothing_still_writes(
    pool: ProcessPool, tmp_path: Path
) -> None:
    marks = [tmp_path / str(number) for number in range(3)]
    slow = [task("leave_a_mark", mark=str(mark), seconds=2) for mark in marks]

    with pytest.raises(TaskFailed):
        pool.run([task("fail"), *slow])

    assert [mark.exists() for mark in marks] == [True, False, False]


@pytest.mark.slow
def test_a_killed_process_is_reported_with_what_it_ran_and_the_pool_goes_on(
    tmp_path: Path,
) -> None:
    with ProcessPool(processes=2, worth_a_pool=0) as pool:
        with pytest.raises(TaskFailed, match=r"metrics 07.*killed.*SANKOFA_PROCESSES"):
            pool.run([task("die", "metrics 07"), task("limits", "metrics 08")])

        assert [result["rows"] for result in pool.run(counting(tmp_path, 2))] == [1, 6]


@pytest.mark.slow
def test_a_function_that_does_not_exist_is_named(pool: ProcessPool) -> None:
    with pytest.raises(TaskFailed, match=r"typo: AttributeError.*no_such_function"):
        pool.run([task("limits"), task("no_such_function", "typo")])
