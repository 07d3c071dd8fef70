"""A step and its tasks: a function of files for one partition, and where its files go.

A step function reads the Parquet files of a task's inputs and writes one Parquet file for each
table into its folder. It must be a function of a module (or a ``partial`` of one), so that another
process can run it, and must know no clock, no network and no other partition: its key says what it
is made from.
"""

import hashlib
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import duckdb
import msgspec
import pyarrow.parquet as pq

from warehouse.publish.manifest import BuildFile, step_key
from warehouse.publish.tasks import ProcessPool, Task
from warehouse.shared import files
from warehouse.shared.errors import DamagedFile
from warehouse.shared.files import FileCheck, check_of_file, damage_of, decode_sealed

# Files of steps, found by key.
#
# The files of a key are a folder that appears under its name when it is complete, with a list of
# them (``files.json``). A folder never changes; it can be deleted at any time that nobody uses
# it, and is made again when it is needed.

_LIST = "files.json"


class _File(msgspec.Struct, frozen=True):
    table: str
    sha256: str
    rows: int
    bytes: int
    xxh3: str


_decode_files = msgspec.json.Decoder(dict[str, list[_File]]).decode


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
        listed = self._intact(key)
        if listed is None:
            return None
        return tuple(
            BuildFile(
                kind="snapshot",
                table=file.table,
                partition=partition,
                path=f"{key[:2]}/{key}/{file.table}.parquet",
                key=key,
                sha256=file.sha256,
                rows=file.rows,
                bytes=file.bytes,
            )
            for file in listed
        )

    def damage(self, folder: Path) -> str | None:
        """Return what is wrong with the files of a key; None if they are what was made."""
        try:
            listed = _listed(folder)
        except (OSError, DamagedFile) as error:
            return f"{_LIST} cannot be read ({error})"
        for file in listed:
            name = f"{file.table}.parquet"
            if reason := damage_of(folder / name, FileCheck(file.bytes, file.xxh3)):
                return f"{name}: {reason}"
        return None

    def _intact(self, key: str) -> list[_File] | None:
        folder = self.folder(key)
        if not folder.is_dir():
            return None
        if self.damage(folder) is not None:
            # Made from what is kept: it can be made again.
            shutil.rmtree(folder)
            return None
        return _listed(folder)

    def path(self, file: BuildFile) -> Path:
        """Return where a file is."""
        return self.root / file.path

    def delete_all_but(self, keys: Collection[str]) -> int:
        """Delete the folders of all other keys, and of killed tasks; return how many.

        Nobody may be making files meanwhile: take the publishing lock.
        """
        deleted = 0
        for folder in self.root.glob("*/*"):
            if folder.name not in keys:
                shutil.rmtree(folder)
                deleted += 1
        return deleted


def _listed(folder: Path) -> list[_File]:
    path = folder / _LIST
    return decode_sealed(_decode_files, path.read_bytes(), str(path)).get("files", [])


def seal_files(partial: Path, folder: Path) -> None:
    """List the files of a finished step and move them into place, unless another has done it."""
    listed = [_describe(path) for path in sorted(partial.glob("*.parquet"))]
    for other in partial.iterdir():
        if other.suffix != ".parquet":
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    (partial / _LIST).write_bytes(files.seal(msgspec.json.encode({"files": listed})))
    for path in (*partial.iterdir(), partial):
        files.sync(path)
    try:
        partial.rename(folder)
    except OSError:
        # Two runs of a step make the same files; the first is as good as the second.
        if not (folder / _LIST).is_file():
            raise
    files.sync(folder.parent)


def _describe(path: Path) -> _File:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    rows = pq.read_metadata(path).num_rows
    return _File(path.stem, digest, rows, path.stat().st_size, check_of_file(path).xxh3)


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
        seal_files(unfinished, folder)
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
