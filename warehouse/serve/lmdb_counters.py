"""Counters in one LMDB file, shared by all processes of a machine.

One entry per client has the minute and the last months, so that a request is one short
transaction. No commit waits for the disk: a process that is killed loses nothing, but a machine
that loses its power can leave a file whose pages do not fit together. The first process that opens
the file checks it; a damaged one is set aside, and counting starts anew.
"""

import fcntl
import logging
import os
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

import lmdb
from lmdb.verify import VerifyError, verify

from warehouse.serve.counters import (
    MINUTE,
    REPORTING_PERIOD,
    Month,
    RequestCounts,
    UsageUnavailable,
    month_number,
)
from warehouse.shared.tiers import Tier

# What an LMDB file begins with, after a few bytes.
_MAGIC = struct.pack("=I", 0xBEEFC0DE)
_LOG = logging.getLogger("sankofa.usage")
_FORMAT = (b"\0format", b"sankofa usage 1")
_CHECKED = b"\0checked"
_MONTHS = 4
# Room for some ten thousand clients; it grows.
_MAP_SIZE = 8 << 20
# End and count of the minute; number and count of each month, the one last counted first.
_LAYOUT = struct.Struct("<dI" + "HQ" * _MONTHS)
# The minute and the month last counted, which is what most requests need.
_FIRST = struct.Struct("<dIHQ")
_EMPTY = bytes(_LAYOUT.size)
# Seconds that a request may wait between looking at the clock and counting.
_LONGEST_WAIT = 5.0
# Seconds between two checks whether the file was replaced.
_CHECK_INTERVAL = 0.01
# A network without requests for so long is forgotten: its last month is no longer reported.
_FORGOTTEN_AFTER = (31 * 86_400) + REPORTING_PERIOD.total_seconds()
# Entries that are looked at when a client is new. More than one, so that more can go than come.
_LOOKED_AT = 8


_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


@cache
def lmdb_counters(path: Path) -> "LmdbCounters":
    """Return the counters of a path: a process must not open an LMDB file twice."""
    return LmdbCounters(path)


class LmdbCounters:
    """Counters in an LMDB file, which is created if missing."""

    def __init__(self, path: Path, map_size: int = _MAP_SIZE) -> None:
        self.path, self._path_text, self._map_size = path, str(path), map_size
        # Transactions of LMDB exclude each other; this also covers opening, closing and growing.
        self._turn = threading.Lock()
        self._environment: lmdb.Environment | None = None
        self._file, self._inode, self._size = -1, 0, 0
        self._looked = 0.0
        _ALL.add(self)

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> RequestCounts:
        """Count a request against the minute and, unless it is refused, against the month."""
        return self._run(_count, _name(who), tier, month.number, charge, now)

    def give_back(self, who: str, month: Month) -> None:
        """Refund a request."""
        self._run(_refund, _name(who), month.number)

    def used(self, who: str, month: str) -> int:
        """Return the sum of a month over all counters of a key."""
        return self._run(_total, who, month_number(month))

    def check(self) -> None:
        """Write to the store; raise if that fails."""
        self._looked = 0.0
        self._run(lambda transaction: transaction.put(_CHECKED, struct.pack("<d", time.time())))

    def _run(
        self,
        work: "Callable[Concatenate[lmdb.Transaction[bytes], _Arguments], _Result]",
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> _Result:
        """Run one transaction; let the map grow if it is full or was made larger elsewhere."""
        with self._turn:
            try:
                while True:
                    environment = self._opened()
                    try:
                        with environment.begin(write=True) as transaction:
                            return work(transaction, *arguments, **named)
                    except lmdb.MapFullError:
                        self._map_size = 2 * environment.info()["map_size"]
                        _reserve(self._file, self._map_size)
                        environment.set_mapsize(self._map_size)
                    except lmdb.MapResizedError:
                        environment.set_mapsize(0)
            except (OSError, lmdb.Error, struct.error) as error:
                self.close()
                reason = error.strerror if isinstance(error, OSError) else error
                raise UsageUnavailable(
                    f"the usage store is unavailable: {self.path}: {reason}"
                ) from error

    def _opened(self) -> lmdb.Environment:
        """Return the open file; open it again if it was replaced or cut off.

        To read a page behind the end of the file would end the process, so its size is looked at
        each time.
        """
        if self._environment is not None:
            # Takes a fifth of the time of os.fstat.
            now, size = time.monotonic(), os.lseek(self._file, 0, os.SEEK_END)
            if size >= self._size:
                self._size = size
                if now < self._looked + _CHECK_INTERVAL:
                    return self._environment
                self._looked = now
                if os.stat(self._path_text).st_ino == self._inode:  # noqa: PTH116
                    return self._environment
            self.close()
        self._environment = self._open()
        return self._environment

    def _open(self) -> lmdb.Environment:
        self._file = self._locked_file()
        # Looked at before anything is written: it may be the file of something else.
        with _open_lmdb(self.path, readonly=True) as environment:
            end = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
            if os.fstat(self._file).st_size < end:
                raise lmdb.CorruptedError("it was cut off; move it away")
            with environment.begin() as transaction:
                if transaction.get(_FORMAT[0]) != _FORMAT[1]:
                    raise lmdb.IncompatibleError("it is not a usage store; correct SANKOFA_USAGE")
        _reserve(self._file, self._map_size)
        # Stored into the memory map, which is faster, and would end the process on a full disk:
        # hence the space is reserved.
        environment = _open_lmdb(
            self.path, map_size=self._map_size, sync=False, metasync=False, writemap=True
        )
        # Slots of processes that were killed while they read.
        environment.reader_check()
        status = os.fstat(self._file)
        self._inode, self._size, self._looked = status.st_ino, status.st_size, time.monotonic()
        return environment

    def _locked_file(self) -> int:
        """Open the file and lock it as one of its users; if there is no other one, check it."""
        if not self.path.exists():
            self._create()
        file = os.open(self._path_text, os.O_RDWR | os.O_CLOEXEC)
        try:
            problem = None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                problem = _damage(self.path)
            except BlockingIOError:
                # Another process uses the file, or is checking it.
                fcntl.flock(file, fcntl.LOCK_SH)
            if _MAGIC not in os.pread(file, 64, 0):
                raise lmdb.InvalidError("it is not an LMDB file; move it away")
            if problem is None and os.path.samestat(os.fstat(file), self.path.stat()):
                fcntl.flock(file, fcntl.LOCK_SH)
                return file
            if problem is not None:
                aside = self.path.rename(self.path.with_name(f"{self.path.name}.damaged"))
                _LOG.error("the usage store was damaged and is now %s: %s", aside, problem)
        except BaseException:
            os.close(file)
            raise
        # Set aside, by this process or while it waited.
        os.close(file)
        return self._locked_file()

    def _create(self) -> None:
        """Create the file with its first entry, or not at all; keep one that exists."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{self.path.name}-", dir=self.path.parent) as folder:
            new = Path(folder) / self.path.name
            with _open_lmdb(new) as environment, environment.begin(write=True) as transaction:
                transaction.put(*_FORMAT)
            # A link, because a rename would replace the file of a process that was faster.
            with suppress(FileExistsError):
                os.link(new, self.path)

    def close(self) -> None:
        """Close the file; the next request opens it again."""
        environment, self._environment = self._environment, None
        if environment is not None:
            environment.close()
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def close_inherited(self) -> None:
        """Close what a forked process has inherited: LMDB must be opened after a fork."""
        self._turn = threading.Lock()
        self.close()


def _open_lmdb(path: Path, **options: Any) -> lmdb.Environment:
    """Open a file, which is private to its user, as is its ``-lock`` file.

    All processes of a machine share them; one that is killed blocks no other, because the mutex of
    LMDB is robust.
    """
    return lmdb.open(str(path), subdir=False, mode=0o600, **options)


def _damage(path: Path) -> str | None:
    """Return the first thing that is wrong with the structure of a file, or None.

    Reads the bytes without LMDB, which a damaged file can crash.
    """
    try:
        problems = verify(str(path), subdir=False)  # type: ignore[no-untyped-call]
    except (VerifyError, struct.error, ValueError, ArithmeticError, LookupError) as error:
        return str(error)
    return problems[0] if problems else None


def _reserve(file: int, size: int) -> None:
    """Reserve space on the disk: to store into a page for which there is none ends a process."""
    # macOS has no such call: there a full disk can end a process, which is then started again.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)


_ALL: WeakSet[LmdbCounters] = WeakSet()


def _close_inherited() -> None:
    for counters in _ALL:
        counters.close_inherited()


os.register_at_fork(after_in_child=_close_inherited)


def _count(
    transaction: "lmdb.Transaction[bytes]",
    name: bytes,
    tier: Tier,
    month: int,
    charge: bool,
    now: float,
) -> RequestCounts:
    entry = transaction.get(name)
    if entry is None:
        _forget_some(transaction, name, now)
        entry = _EMPTY
    ends, used, number, spent = _FIRST.unpack_from(entry)
    if number != month:
        entry = _with_month_first(entry, month)
        ends, used, number, spent = _FIRST.unpack_from(entry)
    # A minute that ends much later than it can was begun by a clock that has been set back. A
    # little later: by another process, while this one waited for its turn.
    if not now < ends <= now + MINUTE + _LONGEST_WAIT:
        used, ends = 0, now + MINUTE
    used += 1
    charged = charge and used <= tier.per_minute and spent < tier.per_month
    spent += charged
    transaction.put(name, _FIRST.pack(ends, used, number, spent) + entry[_FIRST.size :])
    return RequestCounts(used, ends, spent, charged)


def _refund(transaction: "lmdb.Transaction[bytes]", name: bytes, month: int) -> None:
    entry = _with_month_first(transaction.get(name) or _EMPTY, month)
    ends, used, number, spent = _FIRST.unpack_from(entry)
    if spent:
        packed = _FIRST.pack(ends, used, number, spent - 1)
        transaction.put(name, packed + entry[_FIRST.size :])


def _total(transaction: "lmdb.Transaction[bytes]", who: str, month: int) -> int:
    spent, networks = _spent(transaction.get(_name(who)) or _EMPTY, month), who.encode() + b"@"
    cursor = transaction.cursor()
    if cursor.set_range(networks):
        for name, stored in cursor:
            if not name.startswith(networks):
                break
            spent += _spent(stored, month)
    return spent


def _with_month_first(entry: bytes, number: int) -> bytes:
    """Return an entry with a month first; others move back, and the last is dropped."""
    if _FIRST.unpack_from(entry)[2] == number:
        return entry
    ends, used, *fields = _LAYOUT.unpack(entry)
    months = dict(zip(fields[::2], fields[1::2], strict=True))
    months = {number: months.pop(number, 0), **months}
    padded = (list(months.items()) + [(0, 0)] * _MONTHS)[:_MONTHS]
    return _LAYOUT.pack(ends, used, *chain.from_iterable(padded))


def _spent(entry: bytes, number: int) -> int:
    """Return the count of a month."""
    return int(_FIRST.unpack_from(_with_month_first(entry, number))[3])


def _forget_some(transaction: "lmdb.Transaction[bytes]", name: bytes, now: float) -> None:
    """Delete the networks after a new one that were forgotten, of the few that follow it."""
    cursor = transaction.cursor()
    if b"@" not in name or not cursor.set_range(name):
        return
    for _ in range(_LOOKED_AT):
        if b"@" in cursor.key() and _LAYOUT.unpack(cursor.value())[0] < now - _FORGOTTEN_AFTER:
            # Moves on to the next one.
            if not cursor.delete():
                return
        elif not cursor.next():
            return


@lru_cache(maxsize=100_000)
def _name(who: str) -> bytes:
    """Return the name of a client's entry; that of a network has its hash, of one length."""
    key_id, at, _ = who.partition("@")
    mark = b"@" + blake2b(who.encode(), digest_size=16).digest() if at else b""
    return key_id.encode() + mark
