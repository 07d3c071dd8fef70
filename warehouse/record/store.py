"""The record's Delta tables: where they lie, how they are opened, how they are kept small.

Every table is created with ``delta.appendOnly``: the format itself refuses update, delete
and overwrite. Writing rows belongs to ``append`` and ``journal``.
"""

from collections.abc import Callable, Iterable
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

_JOURNALS: dict[str, type[SQLModel]] = {
    "loads": LoadEntry,
    "quarantine": QuarantineEntry,
    "retries": RetryEntry,
    "versions": VersionEntry,
    "quality": QualityMetric,
}
_SCHEMAS: dict[str, pa.Schema] = {
    **{table.name: record_schema(table) for table in RECORD_TABLES},
    **{name: arrow_schema(row) for name, row in _JOURNALS.items()},
}
_CONFIGURATION = {
    "delta.appendOnly": "true",
    "delta.checkpointInterval": "50",
    # The commits say what was loaded: they are kept as long as the rows.
    "delta.logRetentionDuration": "interval 36500 days",
}
# Row groups of this size let a point read skip most of a file.
# Marks are random numbers: a dictionary of them would only be thrown away.
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
_HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a table, with what the log says of it."""

    path: str
    rows: int
    size: int
    facts: dict[str, Any]


@dataclass(frozen=True)
class Record:
    """The append-only record in one folder."""

    root: str

    def __post_init__(self) -> None:
        odd = [mark for mark in "[]%\\#?" if mark in self.root]
        if odd:
            raise SankofaError(
                f"{self.root}: a record cannot lie in a folder with {odd[0]!r} in its name; "
                "set SANKOFA_HOME to another one"
            )

    @cached_property
    def sql(self) -> duckdb.DuckDBPyConnection:
        """Give the engine that reads; it spills to disk rather than take all memory."""
        engine = duckdb.connect(config={"preserve_insertion_order": False})
        engine.execute("SET GLOBAL TimeZone = 'UTC'")
        return engine

    @cached_property
    def writing(self) -> RLock:
        """One load at a time among the threads of a process; others meet at the commit."""
        return RLock()

    @cached_property
    def _tables(self) -> dict[str, DeltaTable]:
        """The tables opened so far: the next look reads only what was committed since."""
        return {}

    def table(self, name: str) -> DeltaTable:
        """Open a table as it is now, made if it was not there."""
        with self.writing:
            if name in self._tables:
                self._tables[name].update_incremental()
            else:
                self._tables[name] = self._opened(name)
            return self._tables[name]

    def _opened(self, name: str) -> DeltaTable:
        path = f"{self.root}/{name}"
        if not DeltaTable.is_deltatable(path):
            Path(path).mkdir(parents=True, exist_ok=True)
            # Of several that make it at once one wins, and the others open what it made.
            with suppress(CommitFailedError):
                DeltaTable.create(
                    path, _SCHEMAS[name], mode="ignore", name=name, configuration=_CONFIGURATION
                )
        return DeltaTable(path)

    def files(self, name: str, delta: DeltaTable | None = None) -> list[DataFile]:
        """Give the data files of a table as it is now, or as it was opened."""
        actions = pa.table((delta or self.table(name)).get_add_actions(flatten=True))
        return [
            DataFile(
                f"{self.root}/{name}/{facts['path']}",
                facts["num_records"],
                facts["size_bytes"],
                facts,
            )
            for facts in actions.to_pylist()
        ]

    def relation(self, name: str) -> str:
        """Name a table as it is now in SQL."""
        return parquet_relation(name, self.files(name))

    def query(self, statement: str) -> pa.Table:
        """Run one statement over the record."""
        cursor = self.sql.cursor()
        try:
            return cursor.sql(statement).to_arrow_table()
        finally:
            cursor.close()

    def load_seq(self, table: RecordTable) -> int:
        """Give the number of the last load that appended to the table."""
        return last_transaction(self.table(table.name))

    def index_folder(self, name: str) -> Path:
        """Name the folder in which the indexes of a table's files are kept."""
        return Path(self.root, ".index", name)

    def keep_small(self, name: str, most: int = 32) -> None:
        """Merge the small files of a table once there are many; no row changes."""
        small = [file for file in self.files(name) if file.size < _FILE_SIZE // 2]
        if len(small) > most:
            self._rewrite(name, lambda delta: delta.optimize.compact)

    def cluster(self, table: RecordTable) -> None:
        """Rewrite a table sorted by the column its rows arrive by; no row changes."""
        self._rewrite(table.name, lambda delta: partial(delta.optimize.z_order, [table.cluster]))

    def _rewrite(self, name: str, way: Callable[[DeltaTable], Callable[..., Any]]) -> None:
        """Rewrite files alone: Delta lets two rewrites of the same files pass each other."""
        with self.writing, try_file_lock(Path(self.root, ".locks", name)) as locked:
            if locked:
                delta = self.table(name)
                way(delta)(target_size=_FILE_SIZE, writer_properties=_WRITER)
                delete_stale_indexes(
                    self.index_folder(name), [file.path for file in self.files(name)]
                )


def parquet_relation(name: str, files: Iterable[DataFile]) -> str:
    """Write the SQL relation over some files of a table, empty where there are none."""
    listed = ", ".join(f"'{_literal(file.path)}'" for file in files)
    if not listed:
        columns = ", ".join(f"NULL::{_sql(field.type)} AS {field.name}" for field in _SCHEMAS[name])
        return f"(SELECT {columns} WHERE FALSE)"
    return f"read_parquet([{listed}])"


def last_transaction(delta: DeltaTable, writer: str = "append") -> int:
    """Give the number of the last commit of a writer, 0 before the first."""
    return delta.transaction_version(writer) or 0


def commit(
    delta: DeltaTable,
    rows: pa.Table,
    marks: dict[str, int],
    metadata: dict[str, str] | None = None,
) -> None:
    """Append rows in one commit that fails if another writer with the same mark came first.

    Delta lets two appends pass each other. A transaction mark makes them meet: of two commits
    made from the same version, the second is refused with ``CommitFailedError``.
    """
    write_deltalake(
        delta,
        rows,
        mode="append",
        writer_properties=_WRITER,
        commit_properties=CommitProperties(
            custom_metadata=metadata,
            app_transactions=[Transaction(name, number) for name, number in marks.items()],
        ),
        post_commithook_properties=_HOOKS,
    )


def _literal(path: str) -> str:
    """Write a path so that neither a quote nor a wildcard in it means anything."""
    return path.replace("'", "''").replace("*", "[*]")


def _sql(kind: pa.DataType) -> str:
    return str(duckdb.from_arrow(pa.table({"x": pa.nulls(0, kind)})).types[0])
