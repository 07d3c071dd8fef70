"""Verdicts about names, in a file of the cache folder that all processes and later runs share.

A verdict follows from its inputs and our code alone, and takes longer than all else that is done
with a name. No name is in the file: an entry is found by a hash of the inputs. Each version of code
and word lists has a file of its own, and deletes those of others.

SQLite, because to it damage is an error, where a memory map would end the process; and each entry
has a check. So a file that is damaged, locked, full or missing only costs time.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from warehouse.shared.code_version import code_hash

# The most pages, of 4 kB, are 1 GB or ten million names: what is new then is not kept.
_OPENING = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA max_page_count = 262144;
CREATE TABLE IF NOT EXISTS verdicts (key BLOB PRIMARY KEY, verdict TEXT, mark BLOB) WITHOUT ROWID;
"""


class VerdictFile:
    """The verdicts of one version in a file of a folder; new ones are written by ``flush``."""

    def __init__(self, folder: Path, version: str) -> None:
        path = folder / f"verdicts-{_hash(version, 8).hex()}.sqlite"
        self._new: dict[bytes, str] = {}
        # Where no file can be opened nothing is known.
        self._file = sqlite3.connect(":memory:")
        with suppress(sqlite3.Error, OSError):
            folder.mkdir(parents=True, exist_ok=True)
            for other in folder.glob("verdicts-*"):
                if not other.name.startswith(path.name):
                    other.unlink()
            path.touch(mode=0o600)
            self._file = sqlite3.connect(path, timeout=0.5)
            self._file.executescript(_OPENING)

    def verdict(self, judge: Callable[..., object], inputs: tuple[str | None, ...]) -> str:
        """Return what a function says of inputs, in words; it is called if that is not known."""
        key = _hash((judge.__name__, inputs), 16)
        known = self._new.get(key) or self._stored(key)
        if known is None:
            known = self._new[key] = str(judge(*inputs))
        return known

    def _stored(self, key: bytes) -> str | None:
        query = "SELECT verdict, mark FROM verdicts WHERE key = ?"
        with suppress(sqlite3.Error):
            for verdict, mark in self._file.execute(query, (key,)):
                if mark == _hash((key, verdict), 4):
                    return str(verdict)
        return None

    def flush(self) -> None:
        """Write what is new, for other processes and for later."""
        new, self._new = self._new, {}
        rows = [(key, verdict, _hash((key, verdict), 4)) for key, verdict in new.items()]
        if rows:
            with suppress(sqlite3.Error), self._file:
                self._file.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", rows)


_opened: VerdictFile | None = None


def open_verdicts(folder: Path | None) -> None:
    """Let this process take verdicts from the file of a folder, and add to it; None: from none."""
    global _opened
    _opened = None if folder is None else VerdictFile(folder, code_hash("quality.persons"))


def flush_verdicts() -> None:
    """Write the new verdicts of this process."""
    if _opened is not None:
        _opened.flush()


def remembered(judge: Callable[..., object], *inputs: str | None) -> str:
    """Return what a function says of inputs, on which alone it depends, in words."""
    return str(judge(*inputs)) if _opened is None else _opened.verdict(judge, inputs)


def _hash(value: object, size: int) -> bytes:
    text = repr(value).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=size).digest()
