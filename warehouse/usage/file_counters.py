"""Counters in one file, shared by all processes of a machine.

The file is a hash table: buckets of a few slots, one slot per client. A change locks its bucket;
the kernel releases the locks of a process that dies. Slots are independent: a power failure can
at worst leave a wrong count. Nothing waits for the disk.
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
# Room for a million clients; the file is sparse and takes only what is used of it.
_BUCKETS, _SLOTS = 32_768, 32
# The fields of ``_Slot`` and eight spare bytes.
_LAYOUT = struct.Struct("<16s16sdI8sQQ8x")
_BUCKET = _SLOTS * _LAYOUT.size
_MOST_CACHED = 100_000
# Seconds that a request may wait between looking at the clock and counting.
_LONGEST_WAIT = 5.0
# Seconds between two checks whether the file was replaced.
_CHECK_INTERVAL = 0.05


class _Slot(NamedTuple):
    """The counters of one client: hash, key, minute, month and previous month."""

    mark: bytes
    key: bytes
    minute_ends: float
    minute_used: int
    month: bytes
    month_used: int
    before_used: int

    def in_month(self, month: str) -> "_Slot":
        """Return the slot moved to a month; a month that is over becomes the previous one."""
        name = _month(month)
        if self.month == name:
            return self
        before = self.month_used if self.month == _month(month_before(month)) else 0
        return self._replace(month=name, month_used=0, before_used=before)

    def used(self, month: str) -> int:
        """Return the requests charged in a month; 0 if the slot no longer has it."""
        if self.month == _month(month):
            return self.month_used
        current = self.month.strip(b"\0").decode("ascii", "replace")
        return self.before_used if current and month_before(current) == month else 0


@cache
def file_counters(path: Path) -> "FileCounters":
    """Return the counters of a path, one object per process: POSIX locks belong to the process.

    With a second open file in the process, closing either one would release the locks of both.
    """
    return FileCounters(path)


class FileCounters:
    """Counters in a file, which is created if missing."""

    def __init__(self, path: Path, buckets: int = _BUCKETS) -> None:
        self.path, self._path_text, self._buckets = path, str(path), buckets
        # The lock on a bucket keeps other processes out but not the threads of this one.
        self._turn = threading.Lock()
        self._opened: tuple[int, int] | None = None
        self._looked = 0.0
        self._buckets_by_client: dict[str, _Bucket] = {}

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> RequestCounts:
        """Count a request against the minute and, unless it is refused, against the month."""
        with self._turn, self._bucket_of(who) as bucket:
            at, slot = bucket.find(now)
            mark, key, ends, used, named, spent, before = slot
            if named != _month(month.name):
                mark, key, ends, used, named, spent, before = slot.in_month(month.name)
            # A minute that ends much later than it can was begun by a clock that has been set back.
            # A little later: by another process, while this one waited for its turn.
            if not now < ends <= now + MINUTE + _LONGEST_WAIT:
                used, ends = 0, now + MINUTE
            used += 1
            charged = charge and used <= tier.per_minute and spent < tier.per_month
            spent += charged
            bucket.write(at, mark, key, ends, used, named, spent, before)
        return RequestCounts(used, ends, spent, charged)

    def _bucket_of(self, who: str) -> "_Bucket":
        bucket = self._buckets_by_client.get(who)
        if bucket is None:
            if len(self._buckets_by_client) >= _MOST_CACHED:
                self._buckets_by_client.clear()
            bucket = self._buckets_by_client[who] = _Bucket(self, who)
        return bucket

    def give_back(self, who: str, month: Month) -> None:
        """Refund a request."""
        with self._turn, self._bucket_of(who) as bucket:
            at, slot = bucket.find(month.starts)
            if slot.month == _month(month.name) and slot.month_used:
                bucket.write(at, *slot._replace(month_used=slot.month_used - 1))

    def used(self, who: str, month: str) -> int:
        """Return the sum of a month over all counters of a key."""
        key, total = _key(who), 0
        with self._turn:
            try:
                for bucket in self._written():
                    if key in bucket:
                        slots = _slots(bucket)
                        total += sum(slot.used(month) for slot in slots if slot.key == key)
            except OSError as error:
                raise self.failed(error) from error
        return total

    def _written(self) -> Iterator[bytes]:
        """Yield the buckets that were ever written, skipping the holes of the sparse file."""
        file, number = self.file(), 0
        size = os.fstat(file).st_size
        while (begin := _start(number)) < size:
            try:
                number += max(0, os.lseek(file, begin, os.SEEK_DATA) - begin) // _BUCKET
            except OSError as error:
                # No data after this offset.
                if error.errno == errno.ENXIO:
                    return
                raise
            yield os.pread(file, _BUCKET, _start(number))
            number += 1

    def check(self) -> None:
        """Read from the store; raise if it is unavailable."""
        with self._turn:
            try:
                self._looked = 0.0
                os.pread(self.file(), _LAYOUT.size, _BEGIN)
            except OSError as error:
                raise self.failed(error) from error

    def file(self) -> int:
        """Return the open file; reopen it if it was replaced."""
        try:
            if self._opened is not None:
                now = time.monotonic()
                if now < self._looked + _CHECK_INTERVAL:
                    return self._opened[0]
                self._looked = now
                if os.stat(self._path_text).st_ino == self._opened[1]:  # noqa: PTH116
                    return self._opened[0]
                self._close()
            return self._open()
        except OSError as error:
            raise self.failed(error) from error

    def failed(self, error: OSError) -> UsageUnavailable:
        """Close the file and return the error to raise."""
        self._close()
        return UsageUnavailable(f"the usage store is unavailable: {error.strerror}")

    def bucket(self, mark: bytes) -> int:
        """Return the offset of the bucket of a client hash."""
        return _start(int.from_bytes(mark[:8], "little") % self._buckets)

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path_text, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.fstat(file).st_size == 0:
            os.pwrite(file, _HEAD, 0)
        if os.pread(file, len(_HEAD), 0) != _HEAD:
            os.close(file)
            raise UsageUnavailable("the file is not a usage store; move it away")
        self._opened = file, os.fstat(file).st_ino
        return file

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            os.close(opened[0])


class _Bucket:
    """The bucket of one client, locked while it is open."""

    def __init__(self, counters: FileCounters, who: str) -> None:
        self._counters, self._who = counters, who
        self._mark = blake2b(who.encode(), digest_size=16).digest()
        self._begin = counters.bucket(self._mark)
        # Offset of the slot when last seen; searched again if another client has taken it.
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
        """Return offset and slot of the client; a new one gets a free slot or the least used."""
        if self._at >= 0:
            packed = os.pread(self._file, _LAYOUT.size, self._begin + self._at)
            if packed.startswith(self._mark) and len(packed) == _LAYOUT.size:
                return self._at, _Slot._make(_LAYOUT.unpack(packed))
        bucket = os.pread(self._file, _BUCKET, self._begin)
        at = bucket.find(self._mark)
        # The same bytes could occur across two slots: only a match at the start of one counts.
        if at >= 0 and at % _LAYOUT.size == 0 and at + _LAYOUT.size <= len(bucket):
            self._at = at
            return at, _Slot._make(_LAYOUT.unpack_from(bucket, at))
        slots = _slots(bucket)
        least = min(range(_SLOTS), key=lambda number: _weight(slots[number], now))
        return least * _LAYOUT.size, _Slot(self._mark, _key(self._who), 0.0, 0, _month(""), 0, 0)

    def write(self, at: int, *slot: object) -> None:
        """Write a slot."""
        os.pwrite(self._file, _LAYOUT.pack(*slot), self._begin + at)


def _weight(slot: _Slot, now: float) -> tuple[bytes, int, bool]:
    """Return the sort key for eviction: empty slots first, then old months, then least used."""
    return slot.month, slot.month_used, now < slot.minute_ends


def _slots(bucket: bytes) -> list[_Slot]:
    padded = bucket.ljust(_BUCKET, b"\0")
    return [_Slot._make(values) for values in _LAYOUT.iter_unpack(padded)]


def _start(number: int) -> int:
    return _BEGIN + number * _BUCKET


def _key(who: str) -> bytes:
    # Without the network behind the @, so that a key's use can be added up.
    return who.partition("@")[0].encode()[:16].ljust(16, b"\0")


@lru_cache(64)
def _month(name: str) -> bytes:
    return name.encode().ljust(8, b"\0")
