"""A folder or an object store, through one interface: the record, exports, pages, leases.

A file that readers already see is replaced atomically: by a rename in a folder, by a single upload
in an object store.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Self, cast
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

from warehouse.shared.errors import BadStore
from warehouse.shared.files import create_file, move_into_place

# Object stores that fsspec and deltalake both know, with the package through which we read them
# and what installs it.
_DRIVERS = {
    "s3": ("s3fs", "the extra `s3`: pip install -e .[s3]"),
    "gs": ("gcsfs", "the package `gcsfs`"),
    "az": ("adlfs", "the package `adlfs`"),
    "abfs": ("adlfs", "the package `adlfs`"),
}


def is_object_store(place: str) -> bool:
    """Return whether a place is the URL of an object store, not a folder."""
    return "://" in place


def require_known_store(place: str, setting: str) -> None:
    """Raise BadStore for a URL of a scheme that is not known, or whose driver is missing."""
    if not is_object_store(place):
        return
    scheme = place.partition("://")[0]
    if scheme not in _DRIVERS:
        raise BadStore(
            f"{setting} begins with {scheme}://, which is not known; give a folder, or a URL that "
            f"begins with {', '.join(f'{known}://' for known in _DRIVERS)}"
        )
    if not place.partition("://")[2].strip("/"):
        raise BadStore(f"{setting} names no bucket; give {scheme}://BUCKET/FOLDER")
    package, remedy = _DRIVERS[scheme]
    if find_spec(package) is None:
        raise BadStore(f"{setting} is a URL of {scheme}://, which needs {remedy}")


@dataclass(frozen=True)
class StoredFile:
    """A file of a store: its path below the root, its size, and when it was written."""

    path: str
    size: int
    modified_at: datetime


@dataclass(frozen=True)
class FileStore:
    """A root folder in any file system of fsspec."""

    files: fsspec.AbstractFileSystem
    root: str

    @classmethod
    def of(cls, destination: str) -> Self:
        """Open a folder or an fsspec URL."""
        # What other machines write is to be seen: nothing is remembered of a listing.
        options = {"use_listings_cache": False} if destination.startswith("s3://") else {}
        files, root = fsspec.url_to_fs(destination, **options)
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

    def listing(self, *parts: str) -> list[StoredFile]:
        """Return every file below a folder, in the order of their paths; none if there is none."""
        return sorted(self._listed(self.path(*parts)), key=lambda file: file.path)

    def _listed(self, folder: str) -> Iterator[StoredFile]:
        try:
            found: dict[str, dict[str, Any]] = self.files.find(folder, detail=True)
        except FileNotFoundError:
            return
        for path, entry in found.items():
            if entry["type"] == "file" and path.startswith(f"{folder}/"):
                name = path[len(self.root) + 1 :]
                yield StoredFile(name, int(entry["size"]), _modified_at(entry))

    def read(self, *parts: str) -> bytes:
        """Read a small file whole."""
        return bytes(self.files.cat_file(self.path(*parts)))

    def open(self, *parts: str) -> BinaryIO:
        """Open a file to read any part of it."""
        return cast(BinaryIO, self.files.open(self.path(*parts), "rb"))

    def create(self, *parts: str) -> BinaryIO:
        """Create a file and open it for writing."""
        path = self.path(*parts)
        self._make_folder(path)
        return cast(BinaryIO, self.files.open(path, "wb"))

    def put(self, body: bytes, *parts: str) -> None:
        """Write a small file atomically: a reader sees the old one or the new one."""
        path = self.path(*parts)
        self._make_folder(path)
        if not self.is_local:
            # Object stores show an object only once its upload is complete.
            self.files.pipe_file(path, body)
            return
        partial = Path(f"{path}.partial")
        partial.write_bytes(body)
        move_into_place(partial, Path(path))

    def put_new(self, body: bytes, *parts: str) -> bool:
        """Write a small file unless there is one by that name; return whether it was written.

        Of several that do it at once, on whatever machines, one succeeds: an object store has to
        refuse the others (``require_refusals`` finds out whether it does).
        """
        path = self.path(*parts)
        if self.is_local:
            return create_file(Path(path), body, Path(f"{path}.{uuid4().hex}.partial"))
        try:
            self.files.pipe_file(path, body, mode="create")
        except FileExistsError:
            return False
        except OSError as error:
            # S3 says so if the other upload was still going on.
            if "ConditionalRequestConflict" in str(error) or "PreconditionFailed" in str(error):
                return False
            raise
        return True

    def upload(self, file: Path, *parts: str) -> None:
        """Copy a local file into the store; it appears when it is complete."""
        path = self.path(*parts)
        self._make_folder(path)
        if not self.is_local:
            self.files.put_file(str(file), path)
            return
        partial = Path(f"{path}.{uuid4().hex}.partial")
        shutil.copyfile(file, partial)
        move_into_place(partial, Path(path))

    def download(self, file: Path, *parts: str) -> None:
        """Copy a file of the store to a local one, which is written in place."""
        self.files.get_file(self.path(*parts), str(file))

    def take_over(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Give a file that never changes a second name: a hard link, or a copy by the store."""
        old, new = self.path(*source), self.path(*target)
        self._make_folder(new)
        if not self.is_local:
            self.files.cp_file(old, new)
            return
        try:
            Path(new).hardlink_to(old)
        except OSError:
            # Not every file system has links.
            shutil.copyfile(old, new)

    def delete(self, *parts: str) -> None:
        """Delete a file; nothing happens if there is none."""
        try:
            self.files.rm_file(self.path(*parts))
        except FileNotFoundError:
            return

    def remove(self, folder: str) -> None:
        """Delete a folder at the root with everything in it; nothing happens if there is none."""
        try:
            self.files.rm(self.path(folder), recursive=True)
        except FileNotFoundError:
            return

    def _make_folder(self, path: str) -> None:
        # An object store has none; asking for one would ask for the bucket.
        if self.is_local:
            self.files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)


def require_refusals(store: FileStore, setting: str) -> None:
    """Raise BadStore unless the store refuses to write an object that is there (``put_new``)."""
    if store.is_local:
        return
    name = f".conditional-put-{uuid4().hex}"
    try:
        first, second = store.put_new(b"1", name), store.put_new(b"2", name)
    except Exception as error:
        raise BadStore(
            f"{setting}: nothing can be written there ({error}); check the URL, the bucket and the "
            "credentials (docs/deployment.md)"
        ) from error
    store.delete(name)
    if not first or second:
        raise BadStore(
            f"{setting}: this store overwrites an object even if told not to (it ignores "
            "the header If-None-Match of a PUT), so that two machines could overwrite each other's "
            "commits; use a store with conditional writes, such as Amazon S3 or MinIO"
        )


def _modified_at(entry: dict[str, Any]) -> datetime:
    """Return when a file was written: each file system of fsspec has its own name for it."""
    for name in ("LastModified", "last_modified", "updated", "mtime"):
        value = entry.get(name)
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return value.astimezone(UTC)
    raise BadStore(f"{entry['name']}: the store does not say when it was written")
