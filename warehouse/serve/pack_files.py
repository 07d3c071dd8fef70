"""Read packs from the LMDB file beside a file of the mart.

Published files never change and are mapped read-only, without locks. Packs that were decompressed
are kept up to a number of bytes: what is asked for often is cut out of memory.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import lmdb
import msgspec
import zstandard

from warehouse.publish.pack_files import COUNT, ENTRY, PARTS, ROW_NUMBER, ROWS, key_prefix
from warehouse.shared.errors import DatastoreUnavailable

# Files that stay open: below the 1,024 that a process may usually open, beside those of SQLite.
_MAX_OPEN = 256
# Bytes of decompressed packs that a process keeps.
_MAX_KEPT = 256 << 20
_ROW = len(ROWS)
INDEX_OF_ONE = 16
_PREFIX = len(key_prefix(""))
_parts = msgspec.json.Decoder(list[tuple[str, str]]).decode
_T = TypeVar("_T", bound=bytes | memoryview)
# Decompressors are not safe to share among threads.
_thread = threading.local()


class StoredPack(NamedTuple):
    """A pack as it is stored: the number of its first row, two flags, its rows and their bytes."""

    first_row: int
    has_next: bool
    all_latest: bool
    row_count: int
    data: bytes


class LazyPack(NamedTuple):
    """A pack whose bytes are read only if a row of it is needed."""

    first_row: int
    row_count: int
    read: Callable[[], bytes]


def decompress(packed: bytes | memoryview) -> bytes:
    """Return index and rows of a pack, which small packs have uncompressed."""
    if not _is_compressed(packed):
        return bytes(packed)
    decompressor = _thread.__dict__.get("decompressor")
    if decompressor is None:
        _thread.decompressor = decompressor = zstandard.ZstdDecompressor()
    try:
        data: bytes = decompressor.decompress(packed)
    except zstandard.ZstdError as error:
        raise DatastoreUnavailable(
            f"a pack of the build cannot be read ({error}); run `sankofa verify`"
        ) from error
    return data


def _is_compressed(packed: bytes | memoryview) -> bool:
    # No day number looks like the beginning of a compressed pack.
    return packed[: len(zstandard.FRAME_HEADER)] == zstandard.FRAME_HEADER


class OpenPackFiles:
    """The pack files that a process has open, and the packs that it has decompressed."""

    def __init__(self, max_open: int = _MAX_OPEN, max_kept: int = _MAX_KEPT) -> None:
        self._max_open, self._max_kept, self._bytes = max_open, max_kept, 0
        self._lock = threading.Lock()
        # Those opened last: to open one again is cheap, and to note each use is not.
        self._open: dict[str, lmdb.Environment] = {}
        # Those used last.
        self._kept: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def file(self, path: str) -> lmdb.Environment:
        """Return an open file."""
        env = self._open.get(path)
        if env is None:
            with self._lock:
                self._open[path] = env = _opened(path)
                if len(self._open) > self._max_open:
                    del self._open[next(iter(self._open))]
        return env

    def kept(self, path: str, first_row: int) -> bytes | None:
        """Return a pack that was decompressed before; None if it is not kept."""
        with self._lock:
            data = self._kept.get((path, first_row))
            if data is not None:
                self._kept.move_to_end((path, first_row))
            return data

    def keep(self, path: str, first_row: int, data: bytes) -> None:
        """Keep a decompressed pack instead of those that were not used for the longest time."""
        with self._lock:
            self._bytes += len(data) - len(self._kept.pop((path, first_row), b""))
            self._kept[path, first_row] = data
            while self._bytes > self._max_kept:
                self._bytes -= len(self._kept.popitem(last=False)[1])

    def forget(self, path: str) -> None:
        """Close a file that is no longer the one that was opened."""
        with self._lock:
            if self._open.pop(path, None) is not None:
                _ALIVE.pop(path, None)
                for kept in [kept for kept in self._kept if kept[0] == path]:
                    self._bytes -= len(self._kept.pop(kept))

    def close(self) -> None:
        """Close every file; the next read opens it again."""
        with self._lock:
            self._open.clear()
            self._kept.clear()
            self._bytes = 0


class PackFile:
    """The packs of one file."""

    def __init__(
        self,
        path: str,
        open_files: OpenPackFiles,
        intact: Container[str],
        require: Callable[[], None],
    ) -> None:
        self._path, self._open_files = path, open_files
        self._intact, self._require = intact, require

    def _file(self) -> lmdb.Environment:
        """Return the open file, which was checked before it is read."""
        if self._path not in self._intact:
            self._require()
        return self._open_files.file(self._path)

    def keys_and_parts(self) -> list[tuple[str, str]]:
        """Return every key, with the part of the file that its rows lie in."""
        with self._file().begin() as transaction:
            return _parts(transaction.get(PARTS) or b"[]")

    def of_key(self, key: str, after: int = 0) -> Iterator[StoredPack]:
        """Yield the packs of a key, from the one with the first row after ``after``."""
        prefix = key_prefix(key)
        with self._file().begin(buffers=True) as transaction:
            cursor = transaction.cursor()
            next_row = prefix + ROW_NUMBER.pack(after + 1)
            found = cursor.set_range(next_row)
            if after and not (found and cursor.key() == next_row):
                # The row lies in the pack before, if that is one of this key.
                found = cursor.prev() if found else cursor.last()
                if not found or cursor.key()[:_PREFIX] != prefix:
                    found = cursor.set_range(next_row)
            while found and cursor.key()[:_PREFIX] == prefix:
                (first_row,) = ROW_NUMBER.unpack(cursor.key()[_PREFIX:])
                count, has_next, all_latest = ENTRY.unpack(cursor.value())
                data = self._data(transaction, first_row)
                yield StoredPack(first_row, has_next, all_latest, count, data)
                found = has_next and cursor.next()

    def row_of_key(self, key: str) -> bytes | None:
        """Return the row of a key that has only one; None if there is no such key."""
        prefix = key_prefix(key)
        with self._file().begin() as transaction:
            cursor = transaction.cursor()
            if not cursor.set_range(prefix):
                return None
            found = cursor.key()
            if not found.startswith(prefix):
                return None
            packed = self._packed(transaction, found[_PREFIX:])
        # Without its index, of three numbers and the end of the row, and without its comma.
        return decompress(packed[COUNT.size :])[INDEX_OF_ONE:-1]

    def with_rows(self, first: int, last: int) -> Iterator[LazyPack]:
        """Yield the packs that have rows from ``first`` to ``last``."""
        with self._file().begin(buffers=True) as transaction:
            cursor = transaction.cursor()
            found = cursor.set_range(ROWS + ROW_NUMBER.pack(first + 1))
            # The pack that begins at or before the row.
            found = cursor.prev() if found else cursor.last()
            while found:
                (first_row,) = ROW_NUMBER.unpack(cursor.key()[_ROW:])
                if first_row > last:
                    return
                (count,) = COUNT.unpack_from(cursor.value())
                yield LazyPack(first_row, count, partial(self._data, transaction, first_row))
                found = cursor.next()

    def _data(self, transaction: lmdb.Transaction, first_row: int) -> bytes:
        packed = self._packed(transaction, ROW_NUMBER.pack(first_row))[COUNT.size :]
        if not _is_compressed(packed):
            # It is in memory as it is: nothing to keep.
            return bytes(packed)
        data = self._open_files.kept(self._path, first_row)
        if data is None:
            data = decompress(packed)
            self._open_files.keep(self._path, first_row, data)
        return data

    def _packed(self, transaction: "lmdb.Transaction[_T]", row_number: bytes) -> _T:
        """Return a pack as it is stored, after the number of its rows."""
        packed = transaction.get(ROWS + row_number)
        if packed is None:
            raise DatastoreUnavailable(f"the build cannot be read: {self._path} lacks a pack")
        return packed


# Every file that is open in the process: LMDB must not open one twice, and a thread may still read
# one that was closed here.
_ALIVE: WeakValueDictionary[str, lmdb.Environment] = WeakValueDictionary()
_OPENING = threading.Lock()


def _opened(path: str) -> lmdb.Environment:
    try:
        with _OPENING:
            env = _ALIVE.get(path)
            if env is None:
                _ALIVE[path] = env = lmdb.open(
                    path, subdir=False, readonly=True, lock=False, max_spare_txns=8
                )
            return env
    except lmdb.Error as error:
        raise DatastoreUnavailable(f"the build cannot be read: {error}") from error
