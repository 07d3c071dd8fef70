"""A lease: the right to do something alone, among machines that share an object store.

Each taking, renewal and release is a small object with the next number, which the store writes for
one of those who try at once (``FileStore.put_new``); the highest number counts. The holder renews
it while it works. A holder that was killed renews no more, and after a while another takes over.

Clocks of machines differ, so no machine trusts another's: one that waits takes over once the lease
was not renewed for its whole duration by its own clock, or if it ran out longer ago than clocks
differ. The holder measures from before its request, and stops earlier (``check``).
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import msgspec

from warehouse.shared.errors import SankofaError
from warehouse.shared.file_store import FileStore
from warehouse.shared.locks import announced_wait

SECONDS = 60.0
_FOLDER = ".leases"
# By how much the clocks of two machines may differ.
_SKEW = timedelta(minutes=5)
# The holder stops when this share of the time is left.
_MARGIN = 0.2
# How often the holder renews it within its duration, so that a renewal or two may fail.
_RENEWALS = 3


class _State(msgspec.Struct, frozen=True):
    owner: str
    seconds: float
    until: datetime
    released: bool = False


_decode = msgspec.json.Decoder(_State).decode


def _is_free(state: _State | None) -> bool:
    return state is None or state.released or state.until + _SKEW < datetime.now(UTC)


class Lease:
    """A lease to take; once taken, it is renewed in the background until it is released."""

    def __init__(self, store: FileStore, name: str, owner: str, seconds: float) -> None:
        self._store, self._name, self._owner, self._seconds = store, name, owner, seconds
        self._number = 0
        self._deadline = 0.0
        self._ended = threading.Event()
        self._renewing: threading.Thread | None = None

    def check(self) -> None:
        """Raise if another machine may have taken over: call it before what matters."""
        if time.monotonic() > self._deadline:
            raise SankofaError(
                f"the lease {self._name!r} could not be renewed in time, so another machine may be "
                "at it by now; nothing was changed since. Try again"
            )

    def take(self, number: int) -> bool:
        """Take it with a number; False if somebody else has done so."""
        if not self._advance(number):
            return False
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()
        return True

    def release(self) -> None:
        """Let others take it."""
        self._ended.set()
        if self._renewing is not None:
            self._renewing.join()
        if time.monotonic() <= self._deadline:
            self._advance(self._number + 1, released=True)

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / _RENEWALS):
            # The store may be away for a moment; ``check`` notices when that takes too long.
            with suppress(Exception):
                if time.monotonic() > self._deadline or not self._advance(self._number + 1):
                    return

    def _advance(self, number: int, *, released: bool = False) -> bool:
        """Write the next object; extend the deadline if it is the newest one."""
        began, now = time.monotonic(), datetime.now(UTC)
        until = now + timedelta(seconds=self._seconds)
        body = msgspec.json.encode(_State(self._owner, self._seconds, until, released))
        name = f"{number:020}.json"
        if not self._store.put_new(body, _FOLDER, self._name, name):
            # An upload whose answer was lost is sent again, and refused because of itself.
            with suppress(FileNotFoundError):
                if self._store.read(_FOLDER, self._name, name) == body:
                    return self._advanced(number, began)
            return False
        return self._advanced(number, began)

    def _advanced(self, number: int, began: float) -> bool:
        numbers = _numbers(self._store, self._name)
        # Numbers before the newest are deleted, so one that was used can be written again by
        # whoever slept meanwhile.
        if not numbers or numbers[-1] != number:
            self._store.delete(_FOLDER, self._name, f"{number:020}.json")
            self._deadline = 0.0
            return False
        self._number = number
        self._deadline = began + self._seconds * (1 - _MARGIN)
        for old in numbers[:-1]:
            self._store.delete(_FOLDER, self._name, f"{old:020}.json")
        return True


@contextmanager
def hold_lease(
    store: FileStore, name: str, *, seconds: float = SECONDS, poll: float = 1.0
) -> Iterator[Lease]:
    """Wait for a lease and hold it."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
    lease = Lease(store, name, owner, seconds)
    # Since when the same object was seen to be the newest: how long it has not been renewed.
    last, since = -1, 0.0
    with announced_wait(f"the lease `{name}`", lambda: holder_of(store, name) or "another machine"):
        while True:
            number, state = _newest(store, name)
            if number != last:
                last, since = number, time.monotonic()
            is_left = state is None or time.monotonic() - since > state.seconds
            if (is_left or _is_free(state)) and lease.take(number + 1):
                break
            time.sleep(poll)
    try:
        yield lease
    finally:
        lease.release()


def holder_of(store: FileStore, name: str) -> str | None:
    """Return who holds a lease: machine and process; None if it is free."""
    _, state = _newest(store, name)
    return None if state is None or _is_free(state) else state.owner.rpartition(":")[0]


def _newest(store: FileStore, name: str) -> tuple[int, _State | None]:
    """Return the number and the content of the newest object; 0 if it was never taken."""
    while True:
        numbers = _numbers(store, name)
        if not numbers:
            return 0, None
        # It can have been replaced since.
        with suppress(FileNotFoundError):
            return numbers[-1], _decode(store.read(_FOLDER, name, f"{numbers[-1]:020}.json"))


def _numbers(store: FileStore, name: str) -> list[int]:
    names = [file.path.rsplit("/", 1)[-1] for file in store.listing(_FOLDER, name)]
    return [int(name.removesuffix(".json")) for name in names if name.endswith(".json")]
