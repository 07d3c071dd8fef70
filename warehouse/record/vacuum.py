"""Delete files of which a table no longer consists: replaced ones, and those of killed writers.

A file is deleted if it has been part of no state of the table for a while, and was written before
that. So nobody who opened the table in that time misses one. No published version needs it: a
data_version is made from the rows that the table has now, up to a load.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from warehouse.file_store import StoredFile
from warehouse.record.index import delete_stale_indexes
from warehouse.record.store import Record

# From the upload of a file to its commit.
_UPLOADING = timedelta(hours=1)


@dataclass(frozen=True)
class Vacuum:
    """What was deleted of a table."""

    table: str
    files: int
    bytes: int


def vacuum(
    record: Record,
    name: str,
    hours: float,
    check: Callable[[], None] = lambda: None,
    *,
    now: datetime | None = None,
) -> Vacuum | None:
    """Delete files that were no part of a table for ``hours``; None if nothing is old enough.

    Call it within ``Record.upkeep``, with the check that this yields.
    """
    cutoff = (now or datetime.now(UTC)) - timedelta(hours=hours)
    delta = record.stored_table(name)
    if delta is None:
        return None
    files = record.store.listing(name)
    then = _state_at(record, name, files, cutoff)
    if then is None:
        return None
    kept = {file.path for state in (delta, then) for file in record.files(name, state)}
    deleted = size = 0
    for file in files:
        is_data = "/_delta_log/" not in f"/{file.path}"
        if (
            is_data
            and f"{record.root}/{file.path}" not in kept
            and file.modified_at < cutoff - _UPLOADING
        ):
            check()
            record.store.delete(file.path)
            deleted, size = deleted + 1, size + file.size
    delete_stale_indexes(record.index_folder(name), [file.path for file in record.files(name)])
    return Vacuum(name, deleted, size) if deleted else None


def _state_at(
    record: Record, name: str, files: Sequence[StoredFile], moment: datetime
) -> DeltaTable | None:
    """Return a table as it was at a moment; None if it is younger, or that is not known."""
    commits = [
        int(path.stem)
        for file in files
        if (path := PurePosixPath(file.path)).suffix == ".json"
        and path.parent.name == "_delta_log"
        and path.stem.isdecimal()
        and file.modified_at <= moment
    ]
    if not commits:
        return None
    try:
        return record.table_at(name, max(commits))
    except DeltaError:
        # An erasure has deleted the commits before it.
        return None
