"""Reading of the SQLite key store of earlier versions, to import it."""

import errno
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

SQLITE_HEAD = b"SQLite format 3\0"
_COLUMNS = "prefix, sha256, key_id, tier, label, created_at, ends_at, sandbox"

# A process that was killed when it created the store can have left a file without tables.
_HAS_TABLES = "SELECT 1 FROM sqlite_master WHERE name = 'secrets'"


def read_old_store(path: Path) -> tuple[list[tuple[Any, ...]], list[tuple[str, bytes]]]:
    """Return the issued keys, as the fields of ``IssuedKey``, and the secrets by name.

    Nothing is written, except that SQLite rolls back what a killed process left half done; a
    connection that may only read refuses such a file.
    """
    try:
        with closing(
            sqlite3.connect(f"{path.as_uri()}?mode=rw", timeout=1, uri=True)
        ) as connection:
            # One transaction, in which no other process changes the file.
            connection.execute("BEGIN")
            if not connection.execute(_HAS_TABLES).fetchone():
                return [], []
            rows = connection.execute(f"SELECT {_COLUMNS} FROM issued").fetchall()
            secrets = connection.execute("SELECT name, secret FROM secrets").fetchall()
    except sqlite3.Error as error:
        raise OSError(errno.EIO, f"{path} of an earlier version cannot be read: {error}") from error
    return [_fields(*row) for row in rows], secrets


def _fields(*row: Any) -> tuple[Any, ...]:
    *texts, created_at, ends_at, sandbox = row
    ends = None if ends_at is None else datetime.fromisoformat(ends_at)
    return (*texts, datetime.fromisoformat(created_at), ends, bool(sandbox))
