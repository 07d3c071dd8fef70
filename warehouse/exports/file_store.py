"""A folder or an object store that holds exports, addressed the same way.

Files of a version are written once. What replaces something that readers see is put there
at once: by renaming in a folder, by one upload in an object store.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from warehouse.mart.sqlite_builds import move_into_place


@dataclass(frozen=True)
class FileStore:
    """The root of all exports in some file system."""

    files: fsspec.AbstractFileSystem
    root: str

    @classmethod
    def of(cls, destination: str) -> Self:
        """Open a folder, or any URL that fsspec knows."""
        files, root = fsspec.url_to_fs(destination)
        return cls(files, root.rstrip("/"))

    @property
    def is_local(self) -> bool:
        """Tell whether it is a folder of this machine."""
        return isinstance(self.files, LocalFileSystem)

    def path(self, *parts: str) -> str:
        """Give the path of a file as its file system writes it."""
        return "/".join((self.root, *parts))

    def address(self, *parts: str) -> str:
        """Give the path with its protocol, as other engines ask for it."""
        return (
            self.path(*parts) if self.is_local else self.files.unstrip_protocol(self.path(*parts))
        )

    def exists(self, *parts: str) -> bool:
        """Tell whether there is a file."""
        return bool(self.files.isfile(self.path(*parts)))

    def size(self, *parts: str) -> int:
        """Give the size of a file in bytes."""
        return int(self.files.size(self.path(*parts)))

    def folders(self) -> list[str]:
        """Name the folders at the root."""
        if not self.files.isdir(self.path()):
            return []
        found = self.files.ls(self.path(), detail=True)
        names = [str(each["name"]).rstrip("/") for each in found if each["type"] == "directory"]
        return sorted(name.rsplit("/", 1)[-1] for name in names)

    def read(self, *parts: str) -> bytes:
        """Read a small file whole."""
        return bytes(self.files.cat_file(self.path(*parts)))

    def open(self, *parts: str) -> BinaryIO:
        """Open a file to read any part of it."""
        return cast(BinaryIO, self.files.open(self.path(*parts), "rb"))

    def create(self, *parts: str) -> BinaryIO:
        """Open a file to write it from its beginning."""
        place = self.path(*parts)
        self.files.makedirs(place.rsplit("/", 1)[0], exist_ok=True)
        return cast(BinaryIO, self.files.open(place, "wb"))

    def put(self, body: bytes, *parts: str) -> None:
        """Put a small file in its place at once: a reader sees the old one or the new one."""
        place = self.path(*parts)
        self.files.makedirs(place.rsplit("/", 1)[0], exist_ok=True)
        if not self.is_local:
            self.files.pipe_file(place, body)
            return
        beside = Path(f"{place}.partial")
        beside.write_bytes(body)
        move_into_place(beside, Path(place))

    def remove(self, folder: str) -> None:
        """Remove a folder of the root with all that is in it."""
        self.files.rm(self.path(folder), recursive=True)
