"""The Delta tables of the record: opening, querying, committing and compacting them.

Every table is created with ``delta.appendOnly``: the storage format itself rejects updates,
deletes and overwrites. Deciding which rows to write belongs to ``append``, ``ledger``,
``quarantine`` and ``versions``.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError
from sqlmodel import SQLModel

from warehouse.errors import SankofaError
from warehouse.locks import try_file_lock
from warehouse.record.index import delete_stale_indexes
from warehouse.record.tables import RECORD_TABLES, RecordTable, arrow_schema, record_schema
from warehouse.tables import LoadEntry, QualityMetric, QuarantineEntry, RetryEntry, VersionEntry

# What the record keeps about itself, beside the tables of sightings.
_OPERATIONS: dict[str, type[SQLModel]] = {
    "loads": LoadEntry,
    "quarantine": QuarantineEntry,
    "retries": RetryEntry,
    "versions": VersionEntry,
    "quality": QualityMetric,
}
_SCHEMAS: dict[str, pa.Schema] = {
    **{table.name: record_schema(table) for table in RECORD_TABLES},
    **{name: arrow_schema(row) for name, row in _OPERATIONS.items()},
}
_CONFIGURATION = {
    "delta.appendOnly": "true",
    "delta.checkpointInterval": "50",
    # The ledger is completed from the commits, so they are kept as long as the rows (and the hook
    # below deletes none).
    "delta.logRetentionDuration": "interval 36500 days",
}
# Row groups of this size let a point read skip most of a file. Hashes are random numbers: the
# writer would build a dictionary of them only to throw it away.
_WRITER = WriterProperties(
    compression="ZSTD",
    compression_level=1,
    max_row_group_size=131_072,
    column_properties={
        name: ColumnProperties(dictionary_enabled=False)
        for name in ("figure", "figure_check", "sighting", "content")
    },
)
_FILE_SIZE = 64 << 20
# How often a writer tries again after another one has committed first.
COMMIT_ATTEMPTS = 50
_HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a table, with its entry in the Delta log (sizes, column statistics)."""

    path: str
    rows: int
    size: int
    log_entry: dict[str, Any]


@dataclass(frozen=True)
class Record:
    """The append-only record in one folder.

    Open it in spawned processes, not in forked ones: deltalake refuses to run after a fork.
    """

    root: str

    def __post_init__(self) -> None:
        # DuckDB would read some of these as wildcards, Delta others as parts of a URL.
        unusable = [character for character in "[]%\\#?" if character in self.root]
        if unusable:
            raise SankofaError(
                f"{self.root}: the path of a record cannot contain {unusable[0]!r}; "
                "set SANKOFA_HOME to another folder"
            )

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB connection that reads; it spills to disk rather than take all memory."""
        # No query here relies on the order of rows in a file, and keeping it would take memory.
        connection = duckdb.connect(config={"preserve_insertion_order": False})
        # vintages_query casts timestamps to days, and those are days in UTC.
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        return connection

    @cached_property
    def write_lock(self) -> RLock:
        """The lock of this process's writers; other processes compete at the commit."""
        # Re-entrant: a writer opens and compacts tables while it has the lock.
        return RLock()

    @cached_property
    def _tables(self) -> dict[str, DeltaTable]:
        """The tables opened so far: the next use reads only the commits since."""
        return {}

    def table(self, name: str) -> DeltaTable:
        """Return a table in its current state; create it if there is none."""
        with self.write_lock:
            if name in self._tables:
                self._tables[name].update_incremental()
            else:
                self._tables[name] = self._open(name)
            return self._tables[name]

    def _open(self, name: str) -> DeltaTable:
        path = f"{self.root}/{name}"
        if not DeltaTable.is_deltatable(path):
            Path(path).mkdir(parents=True, exist_ok=True)
            # Of several processes that create it at once one wins; the others open its table.
            with suppress(CommitFailedError):
                DeltaTable.create(
                    path, _SCHEMAS[name], mode="ignore", name=name, configuration=_CONFIGURATION
                )
        return DeltaTable(path)

    def files(self, name: str, delta: DeltaTable | None = None) -> list[DataFile]:
        """Return the data files of a table as it is now, or as ``delta`` was opened."""
        actions = pa.table((delta or self.table(name)).get_add_actions(flatten=True))
        return [
            DataFile(
                f"{self.root}/{name}/{log_entry['path']}",
                log_entry["num_records"],
                log_entry["size_bytes"],
                log_entry,
            )
            for log_entry in actions.to_pylist()
        ]

    def relation(self, name: str) -> str:
        """Return the SQL relation of a table as it is now."""
        return parquet_relation(name, self.files(name))

    def query(self, statement: str) -> pa.Table:
        """Run one statement and return its result."""
        # A cursor is a connection of its own to the same database: threads can query in parallel.
        cursor = self.connection.cursor()
        try:
            return cursor.sql(statement).to_arrow_table()
        finally:
            cursor.close()

    def load_seq(self, table: RecordTable) -> int:
        """Return the number of the last load that appended to the table."""
        return last_transaction(self.table(table.name))

    def index_folder(self, name: str) -> Path:
        """Return the folder of the indexes of a table's files."""
        return Path(self.root, ".index", name)

    def compact_if_fragmented(self, name: str, max_small_files: int = 32) -> None:
        """Merge the small files of a table once there are many; no row changes."""
        small = [file for file in self.files(name) if file.size < _FILE_SIZE // 2]
        if len(small) > max_small_files:
            self._rewrite(name, lambda delta: delta.optimize.compact)

    def cluster(self, table: RecordTable) -> None:
        """Rewrite a table sorted by its cluster column; no row changes."""
        self._rewrite(table.name, lambda delta: partial(delta.optimize.z_order, [table.cluster]))

    def _rewrite(self, name: str, rewriter: Callable[[DeltaTable], Callable[..., Any]]) -> None:
        """Rewrite files, unless another process is doing it."""
        # Delta does not notice that two rewrites replace the same files, and every row would be
        # there twice: hence the lock. A process that does not get it leaves the work to the other.
        with self.write_lock, try_file_lock(Path(self.root, ".locks", name)) as locked:
            if locked:
                delta = self.table(name)
                rewriter(delta)(target_size=_FILE_SIZE, writer_properties=_WRITER)
                delete_stale_indexes(
                    self.index_folder(name), [file.path for file in self.files(name)]
                )


def parquet_relation(name: str, files: Iterable[DataFile]) -> str:
    """Return the SQL relation over files of a table; without files, an empty one."""
    paths = ", ".join(f"'{_escaped_path(file.path)}'" for file in files)
    if not paths:
        columns = ", ".join(
            f"NULL::{_sql_type(field.type)} AS {field.name}" for field in _SCHEMAS[name]
        )
        return f"(SELECT {columns} WHERE FALSE)"
    return f"read_parquet([{paths}])"


def last_transaction(delta: DeltaTable, writer: str = "append") -> int:
    """Return the transaction number of a writer's last commit, 0 before the first."""
    return delta.transaction_version(writer) or 0


def commit(
    delta: DeltaTable,
    rows: pa.Table,
    transactions: dict[str, int],
    metadata: dict[str, str] | None = None,
) -> None:
    """Append rows in one commit that fails if another writer's transaction came first.

    Delta lets two concurrent appends both succeed. A transaction number makes them conflict: of
    two commits made from the same version, the second is refused with ``CommitFailedError``.
    """
    write_deltalake(
        delta,
        rows,
        mode="append",
        writer_properties=_WRITER,
        commit_properties=CommitProperties(
            custom_metadata=metadata,
            app_transactions=[Transaction(name, number) for name, number in transactions.items()],
        ),
        post_commithook_properties=_HOOKS,
    )


def try_commit_entries(
    delta: DeltaTable, entries: Sequence[SQLModel], transactions: dict[str, int]
) -> bool:
    """Append entries of one kind in one commit; False if another writer came first."""
    schema = arrow_schema(type(entries[0]))
    rows = pa.Table.from_pylist([entry.model_dump() for entry in entries], schema)
    try:
        commit(delta, rows, transactions)
    except CommitFailedError:
        return False
    return True


def sql_text(value: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def _escaped_path(path: str) -> str:
    """Escape quotes, and the wildcard of ``read_parquet``."""
    return path.replace("'", "''").replace("*", "[*]")


def _sql_type(kind: pa.DataType) -> str:
    return str(duckdb.from_arrow(pa.table({"x": pa.nulls(0, kind)})).types[0])
