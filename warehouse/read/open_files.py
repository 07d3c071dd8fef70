"""Files of the mart that are open in this process, shared by its threads.

Published files never change and are opened read-only and immutable. A connection serves one query
at a time and waits for the next; of those that wait only the most recently used are kept open.
"""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Below the 1,024 files that a process may usually open, with room for what it does beside.
MAX_WAITING = 384
# The most that SQLite can map; what lies beyond is read page by page.
_MMAP_SIZE = 0x7FFF0000


class OpenFiles:
    """Connections to SQLite files, by path; any number of threads may query at once."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting, self._count = max_waiting, 0
        # Ordered by last use.
        self._waiting: dict[str, list[sqlite3.Connection]] = {}
        self._lock = threading.Lock()

    def query(self, path: str, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Run a statement in a file; raises ``sqlite3.Error``, also if the file is not there."""
        connection = self._take(path) or _connect(path)
        try:
            rows = connection.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError):
            connection.close()
            raise
        self._put_back(path, connection)
        return rows

    def close(self) -> None:
        """Close what waits; the next query opens its file again."""
        with self._lock:
            waiting, self._waiting, self._count = self._waiting, {}, 0
        for connections in waiting.values():
            for connection in connections:
                connection.close()

    def forget(self, path: str) -> None:
        """Close what waits of a file that is no longer the one that was opened."""
        with self._lock:
            connections = self._waiting.pop(path, [])
            self._count -= len(connections)
        for connection in connections:
            connection.close()

    def _take(self, path: str) -> sqlite3.Connection | None:
        with self._lock:
            connections = self._waiting.get(path)
            if not connections:
                return None
            self._count -= 1
            return connections.pop()

    def _put_back(self, path: str, connection: sqlite3.Connection) -> None:
        closed = None
        with self._lock:
            connections = self._waiting.pop(path, None) or []
            connections.append(connection)
            self._waiting[path] = connections
            self._count += 1
            if self._count > self._max_waiting:
                closed = self._oldest()
        if closed is not None:
            closed.close()

    def _oldest(self) -> sqlite3.Connection:
        """Take the connection whose file was not used for the longest time."""
        while True:
            path = next(iter(self._waiting))
            connections = self._waiting[path]
            if len(connections) <= 1:
                del self._waiting[path]
            if connections:
                self._count -= 1
                return connections.pop()


def _connect(path: str) -> sqlite3.Connection:
    # A published file never changes: immutable spares SQLite all locking and change detection.
    uri = f"{Path(path).as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA mmap_size = {_MMAP_SIZE}")
    return connection
