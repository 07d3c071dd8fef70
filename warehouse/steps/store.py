"""Files of steps, found by key.

The files of a key are a folder that appears under its name when it is complete, with a list of
them (``files.json``). A folder never changes; it can be deleted at any time that nobody uses it,
and is made again when it is needed.
"""

import hashlib
import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from warehouse import file_checks
from warehouse.errors import DamagedFile
from warehouse.file_checks import break_seal, check_of_file, damage_of
from warehouse.steps.files import BuildFile

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
            if reason := damage_of(folder / name, file.bytes, file.xxh3):
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
    inner, sealed = break_seal(path.read_bytes(), str(path))
    try:
        if sealed:
            return _decode_files(inner)["files"]
    except (msgspec.MsgspecError, KeyError):
        pass
    raise DamagedFile(f"{path} is damaged: it is no list of files")


def seal(partial: Path, folder: Path) -> None:
    """List the files of a finished step and move them into place, unless another has done it."""
    listed = [_describe(path) for path in sorted(partial.glob("*.parquet"))]
    for other in partial.iterdir():
        if other.suffix != ".parquet":
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    (partial / _LIST).write_bytes(file_checks.seal(msgspec.json.encode({"files": listed})))
    for path in (*partial.iterdir(), partial):
        _sync(path)
    try:
        partial.rename(folder)
    except OSError:
        # Two runs of a step make the same files; the first is as good as the second.
        if not (folder / _LIST).is_file():
            raise
    _sync(folder.parent)


def _describe(path: Path) -> _File:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    rows = pq.read_metadata(path).num_rows
    return _File(path.stem, digest, rows, path.stat().st_size, check_of_file(path).xxh3)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
