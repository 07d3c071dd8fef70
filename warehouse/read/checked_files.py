"""Files of builds that this process has checked, each before it is first read.

A file is checked whole when it is first needed, and again once it is another one: its inode, size
or time of change differ. Bytes that change on the disk without any of these are found by
``sankofa verify``.
"""

import os
import threading
from collections.abc import Iterable

from warehouse.errors import DamagedFile
from warehouse.file_checks import damage_of
from warehouse.steps.files import StoredFile

# Device, inode, size and time of change.
Identity = tuple[int, int, int, int]


class CheckedFiles:
    """What is known of files by path; any number of threads may ask."""

    def __init__(self) -> None:
        # Whoever reads a file may look here first: those that are in it need no check.
        self.intact: dict[str, Identity] = {}
        self._damaged: dict[str, tuple[Identity, str]] = {}
        self._lock = threading.Lock()

    def require(self, path: str, file: StoredFile) -> None:
        """Raise ``DamagedFile`` unless a file is what its manifest says."""
        with self._lock:
            identity = identity_of(path)
            if identity is None:
                raise DamagedFile(f"{path} is missing")
            if self.intact.get(path) == identity:
                return
            known = self._damaged.get(path)
            if known is None or known[0] != identity:
                reason = damage_of(path, file.bytes, file.xxh3, file.sha256)
                if reason is None:
                    self.intact[path] = identity
                    self._damaged.pop(path, None)
                    return
                self._damaged[path] = known = identity, reason
            raise DamagedFile(f"{path} is damaged: {known[1]}")

    def require_sizes(self, files: Iterable[tuple[str, StoredFile]]) -> None:
        """Raise ``DamagedFile`` if one is missing, has another size, or was found damaged."""
        for path, file in files:
            identity = identity_of(path)
            if identity is None or (file.bytes and identity[2] != file.bytes):
                self.require(path, file)
            known = self._damaged.get(path)
            if known is not None and known[0] == identity:
                raise DamagedFile(f"{path} is damaged: {known[1]}")

    def forget_changed(self) -> list[str]:
        """Forget the files that are no longer those that were checked, and return them."""
        changed = [
            path for path, identity in tuple(self.intact.items()) if identity_of(path) != identity
        ]
        for path in changed:
            self.intact.pop(path, None)
        return changed


def identity_of(path: str) -> Identity | None:
    """Return what tells a file from another one of the same name; None if there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
