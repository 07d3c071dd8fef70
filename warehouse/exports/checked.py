"""Check a published file before it is first sent, and again if it is another one since.

A service answers requests in one loop, which a large file must not stop: it is checked in a thread,
and whoever asks for it meanwhile is told to come back.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from warehouse.errors import DamagedFile, DatastoreUnavailable
from warehouse.file_checks import damage_of
from warehouse.read.checked_files import Identity, identity_of

# Bytes that are checked in about 20 ms, by XXH3 and by SHA-256.
_AT_ONCE, _AT_ONCE_SHA256 = 64 << 20, 2 << 20


class CheckedExports:
    """What is known of local files by path; any number of threads may ask."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Identity, str | None]] = {}
        self._checking: set[str] = set()
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    def require(self, path: str, size: int, xxh3: str, sha256: str) -> None:
        """Raise ``DamagedFile`` unless a file is what was published.

        Raises ``DatastoreUnavailable`` while that is being found out.
        """
        identity = identity_of(path)
        if identity is None:
            raise DamagedFile(f"{path} is missing")
        known = self._known.get(path)
        if known is None or known[0] != identity:
            if identity[2] == size and size > (_AT_ONCE if xxh3 else _AT_ONCE_SHA256):
                self._check_later(path, identity, size, xxh3, sha256)
                raise DatastoreUnavailable(f"{path} is being checked; ask again")
            known = self._check(path, identity, size, xxh3, sha256)
        if known[1] is not None:
            raise DamagedFile(f"{path} is damaged: {known[1]}")

    def _check(
        self, path: str, identity: Identity, size: int, xxh3: str, sha256: str
    ) -> tuple[Identity, str | None]:
        known = self._known[path] = identity, damage_of(Path(path), size, xxh3, sha256)
        return known

    def _check_later(
        self, path: str, identity: Identity, size: int, xxh3: str, sha256: str
    ) -> None:
        def check() -> None:
            try:
                self._check(path, identity, size, xxh3, sha256)
            finally:
                self._checking.discard(path)

        with self._lock:
            if path in self._checking:
                return
            self._checking.add(path)
            if self._executor is None:
                # Made when it is needed: threads do not survive the fork of a worker.
                self._executor = ThreadPoolExecutor(1, "check")
            self._executor.submit(check)
