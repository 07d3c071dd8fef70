"""The upkeep of the record: merge small files, delete old ones. One process does it at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from warehouse.record.integrity import note_files, require_intact, require_intact_files
from warehouse.record.row_index import delete_stale_indexes
from warehouse.record.store import (
    CLUSTERS,
    COMMIT_ATTEMPTS,
    NO_HOOKS,
    ROW_GROUP,
    DataFile,
    Record,
    write_file,
)
from warehouse.record.tables import stored_columns
from warehouse.shared.errors import SankofaError, WriteConflict

# Delete files of which a table no longer consists: replaced ones, and those of killed writers.
#
# A file is deleted if it was replaced, or written and never committed, long enough ago: whoever
# opened the table since then does not need it. No published version needs it either: a data_version
# is made from the rows that the table has now, up to a load.


def vacuum(record: Record, name: str, hours: int) -> str | None:
    """Delete files that were no part of a table for ``hours``, and say so; None if there is none.

    Call it within ``Record.upkeep``.
    """
    delta = record.stored_table(name)
    if delta is None:
        return None
    # It is for whoever runs this to say how long others may read what they opened.
    deleted = delta.vacuum(
        hours,
        dry_run=False,
        enforce_retention_duration=False,
        post_commithook_properties=NO_HOOKS,
        full=True,
    )
    if not deleted:
        return None
    delete_stale_indexes(record.index_folder(name), [file.path for file in record.files(name)])
    note_files(record, [name])
    return f"{len(deleted):,} old files deleted"


# Merge the small files of a table; no row changes.
#
# Delta lets two compactions of one version both succeed, and every row is there twice. So the
# commit is written here, as the very next version of the state that was looked at: it names the
# files that it replaces, all of which are part of that state, and as many rows as they have. If
# another commit came first, the store refuses the version and the new state is looked at. If one
# of the files has been replaced meanwhile, the work is given up. Appends go on at the same time.

# A file of half this size or more is left as it is.
FILE_SIZE = 64 << 20
# A table is compacted if it has more small files than this.
MAX_SMALL_FILES = 32
# And within a load, which it holds up, with more than this: every append looks into them.
MAX_IN_LOAD = 64


def small_files(record: Record, name: str) -> list[DataFile]:
    """Return the files of a table that are worth merging."""
    return [file for file in record.files(name) if file.size < FILE_SIZE // 2]


def compact(
    record: Record,
    name: str,
    check: Callable[[], None] = lambda: None,
    max_small_files: int = MAX_SMALL_FILES,
) -> str | None:
    """Merge the small files of a table if there are many, and say what; None if there are few.

    Call it within ``Record.upkeep``, with the check that this yields.
    """
    small = small_files(record, name)
    if len(small) <= max_small_files:
        return None
    # Damage that is merged would look like rows.
    require_intact(record, [name])
    require_intact_files(record, name, small)
    # A writer adds the columns of newer code: they belong into the merged files.
    record.table(name)
    before = record.files(name)
    for bundle in _bundles(small_files(record, name)):
        _merge(record, name, bundle, check)
    record.table(name).create_checkpoint()
    after = record.files(name)
    delete_stale_indexes(record.index_folder(name), [file.path for file in after])
    note_files(record, [name])
    rows = sum(file.rows for file in after)
    return f"{len(before):,} files became {len(after):,}, {rows:,} rows"


def _bundles(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Group files into bundles of about the size of a file."""
    bundle: list[DataFile] = []
    size = 0
    for file in files:
        if bundle and size + file.size > FILE_SIZE:
            yield bundle
            bundle, size = [], 0
        bundle.append(file)
        size += file.size
    if len(bundle) > 1:
        yield bundle


def _merge(
    record: Record, name: str, bundle: Sequence[DataFile], check: Callable[[], None]
) -> None:
    merged = _write(record, name, bundle)
    rows = sum(file.rows for file in bundle)
    if merged.rows != rows:
        raise SankofaError(
            f"{name}: {len(bundle)} files say that they have {rows} rows, but have {merged.rows}; "
            "nothing was changed. Compare the record with its backup"
        )
    replaced = {file.path for file in bundle}
    for _ in range(COMMIT_ATTEMPTS):
        with record.write_lock:
            delta = record.table(name)
            # Files never change: that those are present which were read, row by row, is enough.
            if not replaced <= {file.path for file in record.files(name, delta)}:
                raise WriteConflict(
                    f"{name}: its files were replaced by somebody else meanwhile; "
                    "nothing was changed"
                )
            check()
            if record.put_version(name, delta, merged, bundle):
                return
    raise WriteConflict(f"{name}: other writers kept committing first; nothing was changed")


def _write(record: Record, name: str, bundle: Sequence[DataFile]) -> DataFile:
    """Write the rows of files as one file, in order."""
    delta = record.table(name)
    schema = stored_columns(delta).remove_metadata()
    schema = pa.schema([field.remove_metadata() for field in schema])
    columns = ", ".join(f'"{column}"' for column in schema.names)
    order = f"ORDER BY {CLUSTERS[name]}, figure" if name in CLUSTERS else ""
    statement = f"SELECT {columns} FROM {record.relation(name, delta, bundle)} {order}"
    cursor = record.connection.cursor()
    try:
        return write_file(record, name, schema, cursor.sql(statement).to_arrow_reader(ROW_GROUP))
    finally:
        cursor.close()


def compact_after_appends(record: Record, tables: Iterable[str]) -> None:
    """Merge the small files of tables to which a load has added many, in the middle of it."""
    many = [name for name in tables if len(small_files(record, name)) > MAX_IN_LOAD]
    if many:
        with record.upkeep() as check:
            for name in many:
                compact(record, name, check, MAX_IN_LOAD)


def keep_up(
    record: Record, vacuum_hours: int, max_small_files: int = MAX_SMALL_FILES
) -> Iterator[tuple[str, str]]:
    """Merge the small files of every table that has many, and delete unneeded files.

    Each table is yielded with what was done to it. It waits until no other process, on whatever
    machine, does this or erases. Loads and publications go on.
    """
    with record.upkeep() as check:
        for name in record.schemas:
            done = (
                compact(record, name, check, max_small_files),
                vacuum(record, name, vacuum_hours),
            )
            if any(done):
                yield name, "; ".join(filter(None, done))
