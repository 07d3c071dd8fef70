"""The record's Delta tables: where they lie, how they are opened, how they are kept small.

Every table is created with ``delta.appendOnly``: the format itself refuses update, delete
and overwrite. Writing rows belongs to ``append`` and ``journal``.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

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

from warehouse.record.index import forget
from warehouse.record.schema import arrow_schema, record_schema
from warehouse.record.tables import RECORD_TABLES, RecordTable
from warehouse.tables import LoadEntry, Quarantined, Version

_JOURNALS: dict[str, type[SQLModel]] = {
    "loads": LoadEntry,
    "quarantine": Quarantined,
    "versions": Version,
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
class Record:
    """The append-only record in one folder."""

    root: str

    @cached_property
    def sql(self) -> duckdb.DuckDBPyConnection:
        """Give the engine that reads; it spills to disk rather than take all memory."""
        return duckdb.connect(config={"preserve_insertion_order": False})

    @cached_property
    def _tables(self) -> dict[str, DeltaTable]:
        """The tables opened so far: the next look reads only what was committed since."""
        return {}

    def table(self, name: str) -> DeltaTable:
        """Open a table as it is now, made if it was not there."""
        if name in self._tables:
            self._tables[name].update_incremental()
            return self._tables[name]
        path = f"{self.root}/{name}"
        if not DeltaTable.is_deltatable(path):
            Path(path).mkdir(parents=True, exist_ok=True)
            DeltaTable.create(
                path, _SCHEMAS[name], mode="ignore", name=name, configuration=_CONFIGURATION
            )
        self._tables[name] = DeltaTable(path)
        return self._tables[name]

    def relation(self, name: str) -> str:
        """Name a table as it is now in SQL."""
        return parquet(name, self.table(name).file_uris())

    def query(self, statement: str) -> pa.Table:
        """Run one statement over the record."""
        return self.sql.sql(statement).to_arrow_table()

    def load_seq(self, table: RecordTable) -> int:
        """Give the number of the last load that appended to the table."""
        return loaded(self.table(table.name))

    def index_folder(self, name: str) -> Path:
        """Name the folder in which the indexes of a table's files are kept."""
        return Path(self.root, ".index", name)

    def keep_small(self, name: str, most: int = 32) -> None:
        """Merge the small files of a table once there are many; no row changes."""
        delta = self.table(name)
        if len(delta.file_uris()) > most:
            # Another writer that compacts at the same time does the same work.
            with suppress(CommitFailedError):
                delta.optimize.compact(target_size=_FILE_SIZE, writer_properties=_WRITER)
            forget(self.index_folder(name), delta.file_uris())

    def cluster(self, table: RecordTable) -> None:
        """Rewrite a table sorted by the column its rows arrive by; no row changes."""
        self.table(table.name).optimize.z_order(
            [table.cluster], target_size=_FILE_SIZE, writer_properties=_WRITER
        )


def parquet(name: str, files: Iterable[str]) -> str:
    """Write the SQL relation over some files of a table, empty where there are none."""
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    if not listed:
        columns = ", ".join(f"NULL::{_sql(field.type)} AS {field.name}" for field in _SCHEMAS[name])
        return f"(SELECT {columns} WHERE FALSE)"
    return f"read_parquet([{listed}])"


def loaded(delta: DeltaTable, writer: str = "append") -> int:
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


def _sql(kind: pa.DataType) -> str:
    return str(duckdb.from_arrow(pa.table({"x": pa.nulls(0, kind)})).types[0])
