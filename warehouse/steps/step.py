"""A step and its tasks: a function of files for one partition, and where its files go.

A step function reads the Parquet files of a task's inputs and writes one Parquet file for each
table into its folder. It must be a function of a module (or a ``partial`` of one), so that another
process can run it, and must know no clock, no network and no other partition: its key says what it
is made from.
"""

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import duckdb

from warehouse.compute import ProcessPool, Task
from warehouse.steps.files import BuildFile, step_key
from warehouse.steps.store import StepStore, seal

# Reads the inputs of the task, writes into its folder; the connection is its own.
StepFunction = Callable[[Task, duckdb.DuckDBPyConnection], None]


@dataclass(frozen=True)
class Input:
    """Parquet files that a step reads, and a hash of their content, which is part of its key.

    A path may have ``*`` as the name of the file: all files of that folder.
    """

    paths: tuple[str, ...]
    content: str


@dataclass(frozen=True)
class Step:
    """A step: ``version`` is made from its code, ``settings`` is all else that it depends on."""

    name: str
    version: str
    function: StepFunction
    settings: Mapping[str, str] = field(default_factory=dict)

    def key(self, partition: str, inputs: Mapping[str, Input]) -> str:
        """Return the key of what the step makes of the inputs of a partition."""
        contents = {name: given.content for name, given in inputs.items()}
        return step_key(self.name, self.version, partition, contents, self.settings)

    def task(self, partition: str, inputs: Mapping[str, Input], folder: Path) -> Task:
        """Return the task that makes the files of a partition; they are in ``folder`` then."""
        return Task(
            f"{self.name}/{partition}",
            partial(_make_files, self.function),
            {name: _expanded(given.paths) for name, given in inputs.items()},
            str(folder),
            partition,
            self.settings,
        )


def _expanded(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        file
        for path in map(Path, paths)
        for file in (
            sorted(map(str, path.parent.glob(path.name))) if "*" in path.name else [str(path)]
        )
    )


def _make_files(function: StepFunction, task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Make the files under another name and move them into place; once done, do nothing.

    Killed at any moment, it leaves either all files or a folder that nobody reads.
    """
    folder = Path(task.folder)
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.{uuid4().hex[:8]}.partial")
    unfinished.mkdir(parents=True)
    try:
        function(replace(task, folder=str(unfinished)), sql)
        seal(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def run_step(
    step: Step,
    partitions: Mapping[str, Mapping[str, Input]],
    store: StepStore,
    compute: ProcessPool,
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
            [step.task(name, partitions[name], store.folder(keys[name])) for name in missing]
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
