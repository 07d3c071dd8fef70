"""A folder or an object store with exports, through one interface.

Files of a version are written once. A file that readers already see is replaced atomically: by a
rename in a folder, by a single upload in an object store.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from warehouse.mart.sqlite_builds import move_into_place


@dataclass(frozen=True)
class FileStore:
    """A root folder in any file system of fsspec."""

    files: fsspec.AbstractFileSystem
    root: str

    @classmethod
    def of(cls, destination: str) -> Self:
        """Open a folder or an fsspec URL."""
        files, root = fsspec.url_to_fs(destination)
        return cls(files, root.rstrip("/"))

    @property
    def is_local(self) -> bool:
        """True if it is a folder on this machine."""
        return isinstance(self.files, LocalFileSystem)

    def path(self, *parts: str) -> str:
        """Return the path of a file in its file system."""
        return "/".join((self.root, *parts))

    def url(self, *parts: str) -> str:
        """Return the path with its protocol, as DuckDB expects it."""
        return (
            self.path(*parts) if self.is_local else self.files.unstrip_protocol(self.path(*parts))
        )

    def exists(self, *parts: str) -> bool:
        """Return whether the file exists."""
        return bool(self.files.isfile(self.path(*parts)))

    def size(self, *parts: str) -> int:
        """Return the size of a file in bytes."""
        return int(self.files.size(self.path(*parts)))

    def folders(self) -> list[str]:
        """Return the names of the folders at the root, sorted."""
        if not self.files.isdir(self.path()):
            return []
        entries = self.files.ls(self.path(), detail=True)
        paths = [entry["name"] for entry in entries if entry["type"] == "directory"]
        # Some file systems of fsspec end the name of a folder with a slash.
        names = [str(path).rstrip("/") for path in paths]
        return sorted(name.rsplit("/", 1)[-1] for name in names)

    def read(self, *parts: str) -> bytes:
        """Read a small file whole."""
        return bytes(self.files.cat_file(self.path(*parts)))

    def open(self, *parts: str) -> BinaryIO:
        """Open a file to read any part of it."""
        return cast(BinaryIO, self.files.open(self.path(*parts), "rb"))

    def create(self, *parts: str) -> BinaryIO:
        """Create a file and open it for writing."""
        path = self.path(*parts)
        self.files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        return cast(BinaryIO, self.files.open(path, "wb"))

    def put(self, body: bytes, *parts: str) -> None:
        """Write a small file atomically: a reader sees the old one or the new one."""
        path = self.path(*parts)
        self.files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        if not self.is_local:
            # Object stores show an object only once its upload is complete.
            self.files.pipe_file(path, body)
            return
        partial = Path(f"{path}.partial")
        partial.write_bytes(body)
        move_into_place(partial, Path(path))

    def take_over(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Give a file that never changes a second name: a hard link, or a copy by the store."""
        old, new = self.path(*source), self.path(*target)
        self.files.makedirs(new.rsplit("/", 1)[0], exist_ok=True)
        if not self.is_local:
            self.files.cp_file(old, new)
            return
        try:
            Path(new).hardlink_to(old)
        except OSError:
            # Not every file system has links.
            shutil.copyfile(old, new)

    def remove(self, folder: str) -> None:
        """Delete a folder at the root with everything in it."""
        self.files.rm(self.path(folder), recursive=True)
