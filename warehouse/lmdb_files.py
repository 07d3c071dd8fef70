"""LMDB files of the embedded stores: how they are opened, checked and created.

A store is one file with its ``-lock`` file beside it, both private to their user. Writers and
readers of all processes of a machine share them; a process that is killed blocks nobody, because
the mutex of LMDB is robust. What is put into them is in ``warehouse.usage``.
"""

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import lmdb
from lmdb.verify import VerifyError, verify

SUFFIX = ".lmdb"
# Address space that is reserved, not space on the disk.
MAP_SIZE = 1 << 30
_MAGIC = struct.pack("=I", 0xBEEFC0DE)


def open_lmdb(
    path: Path,
    *,
    readonly: bool = False,
    sync: bool = True,
    writemap: bool = False,
    map_size: int = MAP_SIZE,
) -> lmdb.Environment:
    """Open an LMDB file; ``sync``: whether a commit waits for the disk.

    Pages are written with ``pwrite``: on a full disk a write then fails with an error. With
    ``writemap`` they are stored into the memory map, which is faster and would end the process
    there, unless the disk space was reserved before.
    """
    return lmdb.open(
        str(path),
        map_size=map_size,
        subdir=False,
        readonly=readonly,
        sync=sync,
        metasync=sync,
        writemap=writemap,
        mode=0o600,
    )


def lock_file(path: Path) -> Path:
    """Return the lock file of an LMDB file; it stays for good once the file was opened."""
    return path.with_name(f"{path.name}-lock")


def damage(path: Path) -> str | None:
    """Return the first thing that is wrong with the structure of a file, or None.

    Reads the bytes without LMDB, which a damaged file can crash.
    """
    try:
        problems = verify(str(path), subdir=False)  # type: ignore[no-untyped-call]
    except (VerifyError, struct.error, ValueError, ArithmeticError, LookupError) as error:
        return str(error)
    return problems[0] if problems else None


def is_lmdb(path: Path) -> bool:
    """Return whether a file begins as an LMDB file does."""
    return _MAGIC in _head(path, 64)


def create_whole(path: Path, fill: Callable[["lmdb.Transaction[bytes]"], None]) -> None:
    """Create an LMDB file with its first entries, or not at all; keep one that exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        new = Path(folder) / path.name
        with open_lmdb(new) as environment, environment.begin(write=True) as transaction:
            fill(transaction)
        # A link, because a rename would replace the file of a process that was faster.
        with suppress(FileExistsError):
            os.link(new, path)


def _head(path: Path, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(length)
    except OSError:
        return b""
