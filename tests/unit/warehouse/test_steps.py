"""Steps: made once, found again by what they were made from, whole or not at all."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warehouse.publish.steps import Input, ProcessPool, Step, StepStore, Task, TaskFailed, run_step


def _doubled(task: Task, _: duckdb.DuckDBPyConnection) -> None:
    folder = Path(task.folder)
    with (folder.parents[2] / "runs").open("a") as runs:
        runs.write(f"{task.name.removeprefix('doubled/')}\n")
    rows = pq.read_table(list(task.inputs["numbers"]))["n"].to_pylist()
    if not all(rows):
        raise ValueError("no such number")
    doubled = pa.table({"n": [2 * n for n in rows]})
    pq.write_table(doubled, folder / "doubled.parquet")


def _numbers(path: Path, *numbers: int, content: str) -> dict[str, Input]:
    pq.write_table(pa.table({"n": numbers}), path)
    return {"numbers": Input((str(path),), content)}


def test_a_step_runs_once_for_the_same_inputs(tmp_path: Path) -> None:
    store, step = StepStore(tmp_path / "store"), Step("doubled", "1", _doubled)
    one = _numbers(tmp_path / "one", 1, content="1")
    two = _numbers(tmp_path / "two", 2, content="2")
    first = run_step(step, {"a": one, "b": two}, store, ProcessPool(1))
    assert [(file.table, file.partition, file.rows) for file in first] == [
        ("doubled", "a", 1),
        ("doubled", "b", 1),
    ]
    assert run_step(step, {"a": one, "b": two}, store, ProcessPool(1)) == first
    changed = _numbers(tmp_path / "two", 5, content="5")
    again = run_step(step, {"a": one, "b": changed}, store, ProcessPool(1))
    assert again[0] == first[0]
    assert pq.read_table(store.path(again[1]))["n"].to_pylist() == [10]
    assert sorted((tmp_path / "runs").read_text().split()) == ["a", "b", "b"]


@pytest.mark.parametrize(
    "other",
    [
        Step("other", "1", _doubled),
        Step("doubled", "2", _doubled),
    ],
)
def test_name_and_version_are_part_of_the_key(other: Step) -> None:
    inputs = {"numbers": Input((), "1")}
    step = Step("doubled", "1", _doubled)
    assert other.key("a", inputs) != step.key("a", inputs)
    assert step.key("b", inputs) != step.key("a", inputs)


def test_a_step_that_fails_leaves_no_files(tmp_path: Path) -> None:
    store, step = StepStore(tmp_path / "store"), Step("doubled", "1", _doubled)
    inputs = {"a": _numbers(tmp_path / "one", 0, content="0")}
    with pytest.raises(TaskFailed, match="doubled/a: ValueError: no such number"):
        run_step(step, inputs, store, ProcessPool(1))
    assert [path for path in store.root.rglob("*") if path.is_file()] == []


def test_only_the_files_of_given_keys_are_kept(tmp_path: Path) -> None:
    store, step = StepStore(tmp_path / "store"), Step("doubled", "1", _doubled)
    partitions = {name: _numbers(tmp_path / name, 1, content=name) for name in "ab"}
    kept, dropped = run_step(step, partitions, store, ProcessPool(1))
    (store.folder(kept.key).parent / "killed.partial").mkdir()
    assert store.delete_all_but({kept.key}) == 2
    assert store.path(kept).exists()
    assert store.files(dropped.key, "b") is None
