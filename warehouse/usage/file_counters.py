"""Counters in one file, shared by all processes of a machine.

The file is a table of buckets, each of a few slots, one slot for whoever asks. A change locks
its bucket; the kernel frees the lock of a process that dies. Slots stand alone: whatever a power
failure leaves of one is at worst a wrong count. Nothing waits for the disk.
"""

import errno
import fcntl
import os
import struct
import threading
import time
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Self

from warehouse.tiers import Tier
from warehouse.usage.counters import MINUTE, Month, RequestCounts, UsageUnavailable, month_before

_HEAD = b"sankofa usage 1\n"
_BEGIN = 4_096
# Room for a million who ask; the file is sparse and takes what is used of it.
_BUCKETS, _SLOTS = 32_768, 32
_LAYOUT = struct.Struct("<16s16sdI8sQQ8x")
_BUCKET = _SLOTS * _LAYOUT.size
_REMEMBERED = 100_000
# For so long it is not looked whether another file has taken the place.
_A_MOMENT = 0.05


class _Slot(NamedTuple):
    """One who asks: its mark, its key, its minute, its month and the one before."""

    mark: bytes
    key: bytes
    minute_ends: float
    minute_used: int
    month: bytes
    month_used: int
    before_used: int

    def in_month(self, month: str) -> "_Slot":
        """Give the slot as it is in a month: one that is over counts as the one before."""
        name = _month(month)
        if self.month == name:
            return self
        before = self.month_used if self.month == _month(month_before(month)) else 0
        return self._replace(month=name, month_used=0, before_used=before)

    def used(self, month: str) -> int:
        """Give what was charged in a month, if it is still known."""
        if self.month == _month(month):
            return self.month_used
        known = self.month.strip(b"\0").decode("ascii", "replace")
        return self.before_used if known and month_before(known) == month else 0


@cache
def file_counters(path: Path) -> "FileCounters":
    """Give the counters at a path: a process holds its locks on a file as one."""
    return FileCounters(path)


class FileCounters:
    """Counters in a file, made where there is none."""

    def __init__(self, path: Path, buckets: int = _BUCKETS) -> None:
        self.path, self._place, self._buckets = path, str(path), buckets
        self._turn = threading.Lock()
        self._opened: tuple[int, int] | None = None
        self._looked = 0.0
        self._asked: dict[str, _Bucket] = {}

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> RequestCounts:
        """Count a request against the minute and, unless refused, against the month."""
        with self._turn, self._bucket_of(who) as bucket:
            at, slot = bucket.find(now)
            mark, key, ends, used, named, spent, before = slot
            if named != _month(month.name):
                mark, key, ends, used, named, spent, before = slot.in_month(month.name)
            # A minute that ends later than it can was begun by a clock that has been set back.
            if not now < ends <= now + MINUTE:
                used, ends = 0, now + MINUTE
            used += 1
            charged = charge and used <= tier.per_minute and spent < tier.per_month
            spent += charged
            bucket.write(at, mark, key, ends, used, named, spent, before)
        return RequestCounts(used, ends, spent, charged)

    def _bucket_of(self, who: str) -> "_Bucket":
        bucket = self._asked.get(who)
        if bucket is None:
            if len(self._asked) >= _REMEMBERED:
                self._asked.clear()
            bucket = self._asked[who] = _Bucket(self, who)
        return bucket

    def give_back(self, who: str, month: Month) -> None:
        """Take back what a request was charged."""
        with self._turn, self._bucket_of(who) as bucket:
            at, slot = bucket.find(month.starts)
            if slot.month == _month(month.name) and slot.month_used:
                bucket.write(at, *slot._replace(month_used=slot.month_used - 1))

    def used(self, who: str, month: str) -> int:
        """Sum the month of a key, over all networks where it is the sandbox's."""
        key, total = _key(who), 0
        with self._turn:
            try:
                for held in self._written():
                    if key in held:
                        total += sum(slot.used(month) for slot in _slots(held) if slot.key == key)
            except OSError as error:
                raise self.failed(error) from error
        return total

    def _written(self) -> Iterator[bytes]:
        """Give the buckets that were ever written; what lies between takes no place."""
        file, number = self.file(), 0
        size = os.fstat(file).st_size
        while (begin := _start(number)) < size:
            try:
                number += max(0, os.lseek(file, begin, os.SEEK_DATA) - begin) // _BUCKET
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return
                raise
            yield os.pread(file, _BUCKET, _start(number))
            number += 1

    def check(self) -> None:
        """Make a real read."""
        with self._turn:
            try:
                self._looked = 0.0
                os.pread(self.file(), _LAYOUT.size, _BEGIN)
            except OSError as error:
                raise self.failed(error) from error

    def file(self) -> int:
        """Give the open file, opened anew where another has taken its place."""
        try:
            if self._opened is not None:
                now = time.monotonic()
                if now < self._looked + _A_MOMENT:
                    return self._opened[0]
                self._looked = now
                if os.stat(self._place).st_ino == self._opened[1]:  # noqa: PTH116
                    return self._opened[0]
                self._close()
            return self._open()
        except OSError as error:
            raise self.failed(error) from error

    def failed(self, error: OSError) -> UsageUnavailable:
        """Make the error of a file that cannot be used."""
        self._close()
        return UsageUnavailable(f"the usage store does not answer: {error.strerror}")

    def bucket(self, mark: bytes) -> int:
        """Say where the bucket of a mark begins."""
        return _start(int.from_bytes(mark[:8], "little") % self._buckets)

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.fstat(file).st_size == 0:
            os.pwrite(file, _HEAD, 0)
        if os.pread(file, len(_HEAD), 0) != _HEAD:
            os.close(file)
            raise UsageUnavailable("the file of the usage store is another; move it away")
        self._opened = file, os.fstat(file).st_ino
        return file

    def _close(self) -> None:
        held, self._opened = self._opened, None
        if held is not None:
            os.close(held[0])


class _Bucket:
    """The bucket of one who asks, locked while it is open."""

    def __init__(self, counters: FileCounters, who: str) -> None:
        self._counters, self._who = counters, who
        self._mark = blake2b(who.encode(), digest_size=16).digest()
        self._begin = counters.bucket(self._mark)
        # Where the slot was found; looked for again where another has taken its place.
        self._at = -1

    def __enter__(self) -> Self:
        self._file = self._counters.file()
        # Locks one bucket, a range of bytes, not the whole file as warehouse.locks does: requests
        # of different keys must not wait for each other.
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX, _BUCKET, self._begin)
        except OSError as error:
            raise self._counters.failed(error) from error
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, OSError):
            raise self._counters.failed(error) from error
        fcntl.lockf(self._file, fcntl.LOCK_UN, _BUCKET, self._begin)

    def find(self, now: float) -> tuple[int, _Slot]:
        """Find the slot; for a newcomer a free one, or that of whoever asked least."""
        if self._at >= 0:
            held = os.pread(self._file, _LAYOUT.size, self._begin + self._at)
            if held.startswith(self._mark) and len(held) == _LAYOUT.size:
                return self._at, _Slot._make(_LAYOUT.unpack(held))
        held = os.pread(self._file, _BUCKET, self._begin)
        at = held.find(self._mark)
        if at >= 0 and at % _LAYOUT.size == 0 and at + _LAYOUT.size <= len(held):
            self._at = at
            return at, _Slot._make(_LAYOUT.unpack_from(held, at))
        slots = _slots(held)
        least = min(range(_SLOTS), key=lambda number: _weight(slots[number], now))
        return least * _LAYOUT.size, _Slot(self._mark, _key(self._who), 0.0, 0, _month(""), 0, 0)

    def write(self, at: int, *slot: object) -> None:
        """Write a slot."""
        os.pwrite(self._file, _LAYOUT.pack(*slot), self._begin + at)


def _weight(slot: _Slot, now: float) -> tuple[bytes, int, bool]:
    """Weigh a slot: an empty one least, then those of months ago, then by use."""
    return slot.month, slot.month_used, now < slot.minute_ends


def _slots(held: bytes) -> list[_Slot]:
    whole = held.ljust(_BUCKET, b"\0")
    return [_Slot._make(each) for each in _LAYOUT.iter_unpack(whole)]


def _start(number: int) -> int:
    return _BEGIN + number * _BUCKET


def _key(who: str) -> bytes:
    return who.partition("@")[0].encode()[:16].ljust(16, b"\0")


@lru_cache(64)
def _month(name: str) -> bytes:
    return name.encode().ljust(8, b"\0")
