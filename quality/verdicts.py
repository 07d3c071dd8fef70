"""Verdicts about names, in a file of the cache folder that all processes and later runs share.

A verdict follows from its inputs and our code alone, and takes longer than all else that is done
with a name. No name is in the file: an entry is found by a hash of the inputs under the version of
code and word lists. Entries of another version are deleted.

SQLite, because to it damage is an error, where a memory map would end the process; and each entry
has a check. So a file that is damaged, locked, full or missing only costs time.
"""

import sqlite3
from contextlib import suppress
from hashlib import blake2b, sha256
from pathlib import Path

from warehouse.shared.code_version import code_hash

_VERDICTS_OF = "quality.persons"
_TABLE = "CREATE TABLE verdicts (key BLOB PRIMARY KEY, verdict BLOB NOT NULL) WITHOUT ROWID"
# Of 4 kB: 1 GB, or ten million names. What is new then is not kept.
_MOST_PAGES = 1 << 18
_CHECK = 4


class VerdictFile:
    """The verdicts in a file; new ones are written by ``flush``."""

    def __init__(self, path: Path, version: str) -> None:
        self._path, self._version = path, sha256(version.encode()).digest()
        self._new: dict[bytes, bytes] = {}
        self._file: sqlite3.Connection | None = None
        # Twice: one that is damaged is deleted and begun anew.
        for _ in range(2):
            if self._file is None:
                self._open()

    def key(self, *inputs: str | None) -> bytes:
        """Return the hash of inputs."""
        text = repr(inputs).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=16, key=self._version).digest()

    def get(self, key: bytes) -> bytes | None:
        """Return a verdict; None if it is not known."""
        if key in self._new:
            return self._new[key]
        row = None
        if self._file is not None:
            try:
                row = self._file.execute(
                    "SELECT verdict FROM verdicts WHERE key = ?", (key,)
                ).fetchone()
            except sqlite3.Error as error:
                self._give_up(error)
        if row is None or not isinstance(row[0], bytes):
            return None
        verdict, check = row[0][:-_CHECK], row[0][-_CHECK:]
        return verdict if check == self._check(key, verdict) else None

    def put(self, key: bytes, verdict: bytes) -> None:
        """Remember a verdict."""
        self._new[key] = verdict

    def flush(self) -> None:
        """Write what is new, for other processes and for later."""
        new, self._new = self._new, {}
        if new and self._file is not None:
            rows = [(key, verdict + self._check(key, verdict)) for key, verdict in new.items()]
            try:
                with self._file:
                    self._file.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?)", rows)
            except sqlite3.Error as error:
                self._give_up(error)

    def _check(self, key: bytes, verdict: bytes) -> bytes:
        return blake2b(key + verdict, digest_size=_CHECK).digest()

    def _open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            self._file = sqlite3.connect(self._path, timeout=0.5)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(f"PRAGMA max_page_count = {_MOST_PAGES}")
            number = int.from_bytes(self._version[:4], "big") >> 1
            with self._file:
                self._file.execute("BEGIN IMMEDIATE")
                if self._file.execute("PRAGMA user_version").fetchone() != (number,):
                    self._file.execute("DROP TABLE IF EXISTS verdicts")
                    self._file.execute(_TABLE)
                    self._file.execute(f"PRAGMA user_version = {number}")
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Go on without the file; delete it if it is damaged, not if it is only locked or full."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(sqlite3.Error):
                file.close()
        if not isinstance(error, (sqlite3.OperationalError, OSError)):
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink()


_files: dict[Path, VerdictFile] = {}


def verdict_file(path: Path) -> VerdictFile:
    """Return the verdicts of the current code in a file; this process opens it once."""
    if path not in _files:
        _files[path] = VerdictFile(path, code_hash(_VERDICTS_OF))
    return _files[path]
