"""Find damage in the record: every file of a table has a check, noted in ``.checks/<table>.json``.

Files of a Delta table never change, those of its log included. Each is noted once it is committed:
after a load, when a publication begins, and after files were merged or deleted. What is noted and
no longer the same, or gone, is damage that only a backup can undo.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath

from deltalake import DeltaTable

from warehouse.record.store import DataFile, Record
from warehouse.shared.errors import DamagedFile, DamagedRecord
from warehouse.shared.files import (
    FileCheck,
    check_of_stream,
    decode_checks,
    difference,
    encode_checks,
)
from warehouse.shared.locks import file_lock

_CHECKS = ".checks"
_LOG = "_delta_log"
_THREADS = 4


@dataclass(frozen=True)
class RecordDamage:
    """A file of a table that is missing or is not what was written."""

    table: str
    path: str
    says: str

    @property
    def is_list(self) -> bool:
        """True if it is nothing but the list of checks, which can be made again."""
        return self.path.startswith(f"{_CHECKS}/")


def note_files(record: Record, tables: Iterable[str] | None = None) -> None:
    """Note the check of every file of the tables, or of all, that has none yet."""
    with file_lock(record.locks / "checks"):
        for name in record.schemas if tables is None else tables:
            delta = record.stored_table(name)
            if delta is not None:
                _note(record, name, _listed(record, name, delta, _sizes(record, name)))


def _note(record: Record, name: str, listed: dict[str, int]) -> None:
    noted = _noted(record, name)
    new = [path for path in listed if path not in noted]
    kept = {path: noted[path] for path in noted.keys() & (listed.keys() | _needed(noted, listed))}
    if new or kept.keys() != noted.keys():
        # Of two machines that do this at once one may undo what the other noted: it is noted again
        # the next time.
        with ThreadPoolExecutor(_THREADS) as threads:
            found = threads.map(partial(_check, record), new)
            checks = {**kept, **dict(zip(new, found, strict=True))}
        record.store.put(encode_checks(checks), _CHECKS, f"{name}.json")


def damaged_files(
    record: Record, tables: Iterable[str] | None = None, *, thorough: bool = False
) -> Iterator[RecordDamage]:
    """Yield the damaged files of the tables, or of all: by name and size, or by every byte."""
    for name in record.schemas if tables is None else tables:
        try:
            noted = _noted(record, name)
        except DamagedFile:
            yield RecordDamage(name, f"{_CHECKS}/{name}.json", "the list of checks is damaged")
            noted = {}
        # In this order: what others commit meanwhile is in no list yet, or in all that follow.
        try:
            delta = record.stored_table(name)
            sizes = _sizes(record, name)
            listed = {} if delta is None else _listed(record, name, delta, sizes)
        except DamagedRecord as error:
            yield RecordDamage(name, f"{name}/{_LOG}", error.says)
            # Which files have changed says more than the library.
            listed = sizes = _sizes(record, name)
        yield from _damaged(record, name, listed, sizes, noted, thorough=thorough)


def require_intact(
    record: Record, tables: Iterable[str] | None = None, *, thorough: bool = False
) -> None:
    """Raise ``DamagedRecord`` if a file of the tables is damaged; say which, and what to do."""
    _refuse(record, list(damaged_files(record, tables, thorough=thorough)))


def _refuse(record: Record, damage: Sequence[RecordDamage]) -> None:
    if damage:
        first = damage[0]
        more = f" (and {len(damage) - 1} more)" if len(damage) > 1 else ""
        raise DamagedRecord(f"{first.says}{more}. {advice(record, first)}")


def require_intact_files(record: Record, name: str, files: Iterable[DataFile]) -> None:
    """Raise ``DamagedRecord`` if any byte of some data files of a table is not what was noted.

    A record in an object store is checked by its store; to read all of it twice would take long.
    """
    if not record.is_shared:
        sizes = {file.path[len(record.root) + 1 :]: file.size for file in files}
        noted = {path: check for path, check in _noted(record, name).items() if path in sizes}
        _refuse(record, list(_damaged(record, name, sizes, sizes, noted, thorough=True)))


def advice(record: Record, damage: RecordDamage) -> str:
    """Return what to do about damage of a table."""
    if damage.is_list:
        return "`sankofa verify --repair` notes the files anew"
    return (
        f"Restore the folder {record.root}/{damage.table} from your backup; or move {record.root} "
        "away and run `sankofa ingest`, which loads again what the landing has. "
        "`sankofa verify` lists all that is damaged"
    )


def _damaged(
    record: Record,
    name: str,
    listed: dict[str, int],
    sizes: dict[str, int],
    noted: dict[str, FileCheck],
    *,
    thorough: bool,
) -> Iterator[RecordDamage]:
    needed = _needed(noted, listed)
    # What every use of the table reads: commits can be damaged and still be JSON.
    whole = noted if thorough else () if record.is_shared else needed

    def wrong(path: str) -> str | None:
        written = noted[path] if path in noted else FileCheck(listed[path], "")
        read = partial(_check, record, path) if path in whole else None
        return difference(written, sizes.get(path), read)

    paths = sorted(listed.keys() | needed)
    with ThreadPoolExecutor(_THREADS) as threads:
        for path, says in zip(paths, threads.map(wrong, paths), strict=True):
            if says is not None:
                words = f"the table {name} of the record is damaged: {path}: {says}"
                yield RecordDamage(name, path, words)


def _sizes(record: Record, name: str) -> dict[str, int]:
    """Return the size of every file in the folder of a table, by its path in the record."""
    return {file.path: file.size for file in record.store.listing(name)}


def _listed(record: Record, name: str, delta: DeltaTable, sizes: dict[str, int]) -> dict[str, int]:
    """Return the files of a table with their sizes: its data, and its log as far as it is there."""
    below = len(record.root) + 1
    log = {path: size for path, size in sizes.items() if _is_log(path)}
    return {file.path[below:]: file.size for file in record.files(name, delta)} | log


def _is_log(path: str) -> bool:
    """Return whether a file of the log is one that never changes."""
    file = PurePosixPath(path)
    # Others are being written, or point to the last checkpoint.
    return (
        file.parent.name == _LOG and re.fullmatch(r"\d+\..*(json|parquet)", file.name) is not None
    )


def _needed(noted: Iterable[str], listed: Iterable[str]) -> set[str]:
    """Return the noted files of the log that have to be there.

    Erasures delete commits before a checkpoint; data files that are no longer listed were replaced.
    """
    checkpoint = max((_version(path) for path in listed if ".checkpoint" in path), default=0)
    log = (path for path in noted if PurePosixPath(path).parent.name == _LOG)
    return {path for path in log if _version(path) >= checkpoint}


def _version(path: str) -> int:
    return int(PurePosixPath(path).name.split(".", 1)[0])


def _noted(record: Record, name: str) -> dict[str, FileCheck]:
    try:
        body = record.store.read(_CHECKS, f"{name}.json")
    except FileNotFoundError:
        return {}
    return decode_checks(body, record.store.path(_CHECKS, f"{name}.json"))


def _check(record: Record, path: str) -> FileCheck:
    with record.store.open(path) as file:
        return check_of_stream(file)
