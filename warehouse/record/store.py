"""The Delta tables of the record: opening, querying and committing to them.

They are in a folder, or in an object store where several machines may write to them. Every table
is created with ``delta.appendOnly``: the storage format itself rejects updates, deletes and
overwrites; ``erase`` has the one exception. Deciding which rows to write belongs to ``append``,
``ledger``, ``quarantine`` and ``versions``; merging and deleting files to ``upkeep``.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, PostCommitHookProperties
from deltalake.exceptions import CommitFailedError, DeltaError
from sqlmodel import SQLModel

from warehouse.record.lease import hold_lease
from warehouse.record.relations import (
    empty_relation,
    local_reader,
    open_reader,
    parquet_relation,
    register_store,
)
from warehouse.record.tables import (
    RECORD_TABLES,
    RecordTable,
    add_columns,
    added_columns,
    arrow_schema,
    has_uniform_files,
    require_same_types,
    stored_columns,
    stored_schema,
)
from warehouse.shared.errors import (
    BadStore,
    DamagedRecord,
    SankofaError,
    WriteConflict,
    in_one_line,
)
from warehouse.shared.file_store import (
    FileStore,
    is_object_store,
    require_known_store,
    require_refusals,
)
from warehouse.shared.files import private_folder
from warehouse.shared.locks import file_lock, shared_file_lock
from warehouse.shared.settings import SETTINGS, Settings
from warehouse.tables.column import columns_of
from warehouse.tables.operations import (
    ErasedEntry,
    FailureEntry,
    LoadEntry,
    QualityMetric,
    QuarantineEntry,
    RetryEntry,
    VersionEntry,
    WithheldEntry,
)

# What the record keeps about itself, in addition to the tables of sightings.
_OPERATIONS: dict[str, type[SQLModel]] = {
    "loads": LoadEntry,
    "failures": FailureEntry,
    "quarantine": QuarantineEntry,
    "retries": RetryEntry,
    "versions": VersionEntry,
    "quality": QualityMetric,
    "withheld": WithheldEntry,
    "erased": ErasedEntry,
}
_SETTING = SETTINGS["record"].name
# The row class of every table.
ROWS: Mapping[str, type[SQLModel]] = {
    **{table.name: table.row for table in RECORD_TABLES},
    **_OPERATIONS,
}
# The column by which the files of each table of sightings are sorted.
CLUSTERS = {table.name: table.cluster for table in RECORD_TABLES}
_INTERVAL = "delta.checkpointInterval"
# The ledger is completed from the commits, so they are kept as long as the rows.
_CONFIGURATION = {
    "delta.appendOnly": "true",
    "delta.logRetentionDuration": "interval 36500 days",
    _INTERVAL: "50",
}
# Each use of a table reads the commits since its last checkpoint, and each is a request.
_REMOTE = {_INTERVAL: "10"}
# Updates after which a table is opened anew: each makes the next one slower, and 400 of them take
# ten times as long as opening it.
_UPDATES = 16
# Row groups of this size let a point read skip most of a file. Hashes are random numbers: the
# writer would build a dictionary of them only to throw it away.
ROW_GROUP = 131_072
HASH_COLUMNS = ("figure", "figure_check", "sighting", "content")
# How often a writer tries again after another one has committed first.
COMMIT_ATTEMPTS = 50
# Leases on a record in an object store: who rewrites and deletes files, and who publishes.
UPKEEP, PUBLISHING = "upkeep", "publish"
# Nothing is cleaned up behind our back.
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a table: its rows, its bytes, and the bounds of its cluster column.

    A file that says nothing of its bounds may contain any value.
    """

    path: str
    rows: int
    size: int
    low: str | None = None
    high: str | None = None

    @property
    def name(self) -> str:
        """The name by which the Delta log knows it."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Record:
    """The append-only record in a folder or in an object store (``s3://bucket/record``).

    ``caches`` is a local folder for what is made from a record in an object store to find rows
    quickly; it may be deleted at any time. ``rows`` is the row class of each table. A writer adds
    the columns that the stored table has not; a reader never writes, and reads them as null. Open
    a record in spawned processes, not in forked ones: deltalake refuses to run after a fork.
    """

    root: str
    rows: Mapping[str, type[SQLModel]] = field(
        default_factory=lambda: ROWS, repr=False, compare=False
    )
    caches: Path | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_known_store(self.root, _SETTING)
        # DuckDB would read some of these as wildcards, Delta others as parts of a URL.
        unusable = [character for character in "[]%\\#?" if character in self.root]
        if unusable:
            raise SankofaError(
                f"{self.root}: the path of a record cannot contain {unusable[0]!r}; "
                "set SANKOFA_HOME to another folder"
            )

    @property
    def is_shared(self) -> bool:
        """True if it is in an object store, where other machines may write to it."""
        return is_object_store(self.root)

    @cached_property
    def store(self) -> FileStore:
        """The files of the record; Delta reads and writes its tables by itself."""
        return FileStore.of(self.root)

    @cached_property
    def local(self) -> Path:
        """The local folder of indexes and locks: the record itself, or the caches."""
        if not self.is_shared:
            return Path(self.root)
        caches = self.caches or Path(tempfile.gettempdir(), f"sankofa-record-{os.getuid()}")
        # Two records never share an index: the names of their files are no more than random.
        return caches / hashlib.sha256(self.root.rstrip("/").encode()).hexdigest()[:16]

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB connection that reads; use cursors of it, with temporary tables only."""
        if not self.is_shared:
            return local_reader()
        connection = open_reader()
        self.let_read(connection)
        return connection

    def let_read(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let a DuckDB connection read the files of the record, wherever they are."""
        if self.is_shared:
            register_store(connection, self.store)

    @cached_property
    def schemas(self) -> Mapping[str, pa.Schema]:
        """The declared columns of each table."""
        return {name: stored_schema(row) for name, row in self.rows.items()}

    @cached_property
    def write_lock(self) -> RLock:
        """The lock of this process's writers; other processes compete at the commit."""
        # Re-entrant: a writer opens and compacts tables while it has the lock.
        return RLock()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Append to tables of sightings, at the same time as others but not during an erasure.

        No lock reaches another machine: there an erasure makes commits fail that began before it
        (see ``erase``).
        """
        if self.is_shared:
            yield
            return
        with shared_file_lock(self._erasure_lock):
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait for erasures, compactions and this machine's appends; let none begin meanwhile."""
        with self.upkeep(), file_lock(self._erasure_lock), self.write_lock:
            yield

    @contextmanager
    def upkeep(self) -> Iterator[Callable[[], None]]:
        """Wait to be the only one that rewrites or deletes files.

        Call what is yielded before each change: it raises if another machine may have
        taken over.
        """
        if not self.is_shared:
            with file_lock(self.locks / UPKEEP):
                # A file lock is never lost.
                yield lambda: None
            return
        with hold_lease(self.store, UPKEEP) as lease:
            yield lease.check

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Wait to be the only machine that publishes this record; see also ``publishing_lock``."""
        if not self.is_shared:
            yield
            return
        with hold_lease(self.store, PUBLISHING):
            yield

    @property
    def _erasure_lock(self) -> Path:
        return self.locks / "erasure"

    @property
    def locks(self) -> Path:
        """The local folder of locks: whoever takes one may be the first to write anything."""
        return private_folder(self.local) / ".locks"

    def forget(self, name: str) -> None:
        """Open a table anew at its next use, because its history was rewritten."""
        with self.write_lock:
            self._tables.pop(name, None)
            self._files.pop(name, None)

    @cached_property
    def _tables(self) -> dict[str, DeltaTable]:
        """The tables opened so far: the next use reads only the commits since."""
        return {}

    @cached_property
    def _files(self) -> dict[str, tuple[int, tuple[DataFile, ...]]]:
        """The files of each table as last listed, with the version of the table they are of."""
        return {}

    def table(self, name: str) -> DeltaTable:
        """Return a table in its current state, to write to it.

        It is created if there is none, and gains the columns that its row class has gained.
        """
        with self.write_lock:
            delta = self.stored_table(name)
            if delta is None:
                delta = self._tables[name] = self._create(name)
            self._add_columns(name, delta)
            return delta

    def stored_table(self, name: str) -> DeltaTable | None:
        """Return a table in its current state, to read it; None if there is none yet."""
        path = f"{self.root}/{name}"
        with self.write_lock:
            try:
                if name in self._tables:
                    self._tables[name].update_incremental()
                elif self._has_table(path):
                    self._tables[name] = DeltaTable(path, storage_options=self._options)
            except DeltaError as error:
                raise _damaged_log(path, name, error) from error
            return self._tables.get(name)

    def _has_table(self, path: str) -> bool:
        try:
            return DeltaTable.is_deltatable(path, self._options)
        except OSError as error:
            raise BadStore(
                f"{_SETTING}: {self.root} cannot be read ({in_one_line(error)}); check the URL, "
                "the bucket and the credentials (docs/deployment.md)"
            ) from error

    @property
    def _options(self) -> dict[str, str] | None:
        # Credentials and endpoint come from the environment; Delta would refuse an endpoint of
        # http://, which only its owner can have set.
        return {"aws_allow_http": "true"} if self.root.startswith("s3://") else None

    def _create(self, name: str) -> DeltaTable:
        path = f"{self.root}/{name}"
        if self.is_shared:
            # Before the first byte: a table in a store that does not refuse the second of two
            # commits would lose rows.
            require_refusals(self.store, _SETTING)
        else:
            private_folder(Path(self.root))
            Path(path).mkdir(exist_ok=True)
        # Of several processes that create it at once one wins; the others open its table.
        with suppress(CommitFailedError):
            DeltaTable.create(
                path,
                self.schemas[name],
                mode="ignore",
                name=name,
                configuration={**_CONFIGURATION, **(_REMOTE if self.is_shared else {})},
                storage_options=self._options,
            )
        return DeltaTable(path, storage_options=self._options)

    def _add_columns(self, name: str, delta: DeltaTable) -> None:
        for _ in range(COMMIT_ATTEMPTS):
            new = added_columns(
                name, stored_columns(delta), self.schemas[name], columns_of(self.rows[name])
            )
            if not new:
                return
            # If another process adds columns at the same time, compare again with what it added.
            with suppress(CommitFailedError):
                add_columns(delta, new)
            delta.update_incremental()
        raise WriteConflict(
            f"{name}: other writers kept changing its columns; nothing was written, try again"
        )

    def files(self, name: str, delta: DeltaTable | None = None) -> tuple[DataFile, ...]:
        """Return the data files of a table as it is now, or as ``delta`` was opened."""
        delta = delta or self.stored_table(name)
        if delta is None:
            return ()
        # Other threads move the table on.
        with self.write_lock:
            version, files = self._files.get(name, (-1, ()))
            if version != delta.version():
                files = _listed_files(f"{self.root}/{name}", CLUSTERS.get(name), delta)
                self._files[name] = delta.version(), files
        return files

    def put_version(
        self,
        name: str,
        delta: DeltaTable,
        new: DataFile,
        replaced: Sequence[DataFile] = (),
        transactions: Mapping[str, int] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> bool:
        """Add a file to a table, and take away those that it replaces, in the next version.

        False if another writer was first: nothing but the version after that of ``delta`` is
        written. deltalake's own writer goes through the statistics of every file at each commit.
        """
        version, listed = delta.version() + 1, self._files.get(name)
        body = _commit_body(name, new, replaced, transactions or {}, metadata or {})
        path = (name, "_delta_log", f"{version:020}.json")
        # It may be our own that is there: a request whose answer is lost is sent again.
        if not self.store.put_new(body, *path) and self.store.read(*path) != body:
            return False
        if listed is not None and listed[0] == version - 1:
            gone = {file.path for file in replaced}
            left = (file for file in listed[1] if file.path not in gone)
            self._files[name] = version, (*left, new)
        # Both only make reading faster, and the commit counts.
        with suppress(DeltaError, OSError):
            delta.update_incremental()
            if version % int(delta.metadata().configuration.get(_INTERVAL, "100")) == 0:
                delta.create_checkpoint()
        if version % _UPDATES == 0:
            self._tables.pop(name, None)
        return True

    def relation(
        self, name: str, delta: DeltaTable | None = None, files: Iterable[DataFile] | None = None
    ) -> str:
        """Return the SQL relation of a table, as it is now or as ``delta`` was opened.

        It has every declared column. With ``files``, it has the rows of these files only.
        """
        delta = delta or self.stored_table(name)
        if delta is None:
            return empty_relation(self.schemas[name])
        declared, stored = self.schemas[name], stored_columns(delta)
        require_same_types(name, stored, declared)
        paths = [file.path for file in (self.files(name, delta) if files is None else files)]
        return parquet_relation(declared, paths, uniform=has_uniform_files(stored, declared))

    def query(self, statement: str) -> pa.Table:
        """Run one statement and return its result."""
        # A cursor is a connection of its own to the same database: threads can query in parallel.
        cursor = self.connection.cursor()
        try:
            return cursor.sql(statement).to_arrow_table()
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            # A file is missing or no Parquet any more; its path says of which table it is.
            if self.root in str(error):
                raise DamagedRecord(
                    f"the record is damaged: {in_one_line(error)}. Restore the table that the path "
                    "names from your backup; `sankofa verify` lists all that is damaged"
                ) from error
            raise
        finally:
            cursor.close()

    def load_seq(self, table: RecordTable) -> int:
        """Return the number of the last load that appended to the table."""
        delta = self.stored_table(table.name)
        return 0 if delta is None else last_transaction(delta)

    def index_folder(self, name: str) -> Path:
        """Return the folder of the indexes of a table's files."""
        return self.local / ".index" / name


def _listed_files(folder: str, cluster: str | None, delta: DeltaTable) -> tuple[DataFile, ...]:
    actions = pa.table(delta.get_add_actions(flatten=True))
    absent = [None] * len(actions)
    columns = (
        actions[column].to_pylist() if column in actions.column_names else absent
        for column in ("path", "num_records", "size_bytes", f"min.{cluster}", f"max.{cluster}")
    )
    return tuple(
        DataFile(f"{folder}/{path}", *entry) for path, *entry in zip(*columns, strict=True)
    )


def _damaged_log(path: str, name: str, error: Exception) -> DamagedRecord:
    # The rest is a trace of the library.
    reason = (str(error).splitlines() or [""])[0][:200]
    says = f"the table {name} of the record is damaged: its Delta log cannot be read ({reason})"
    return DamagedRecord(
        f"{says}. Restore the folder {path} from your backup; or move the record away and run "
        "`sankofa ingest`, which loads again what the landing has",
        says,
    )


def open_record(settings: Settings) -> Record:
    """Open the record of an installation, with its caches in the home."""
    return Record(settings.record, caches=settings.caches)


def last_transaction(delta: DeltaTable, writer: str = "append") -> int:
    """Return the transaction number of a writer's last commit, 0 before the first."""
    return delta.transaction_version(writer) or 0


def commit(
    record: Record,
    name: str,
    delta: DeltaTable,
    rows: pa.Table,
    transactions: Mapping[str, int],
    metadata: Mapping[str, str] | None = None,
) -> DataFile | None:
    """Append rows as one file; None if another writer changed the table since ``delta``.

    ``transactions`` are the numbers of this load, by writer: the next one counts on from them.
    """
    batches = rows.combine_chunks().to_batches(ROW_GROUP)
    file = write_file(record, name, rows.schema, batches)
    committed = record.put_version(name, delta, file, (), transactions, metadata)
    return file if committed else None


def write_file(
    record: Record, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> DataFile:
    """Write a file that is no part of its table yet; each batch becomes a row group.

    One that never becomes a part is deleted when it is old enough: see ``upkeep``.
    """
    rows, cluster, bounds = 0, CLUSTERS.get(name), set[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"part-{uuid4()}.parquet")
        with pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[column for column in schema.names if column not in HASH_COLUMNS],
        ) as writer:
            for batch in batches:
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
                rows += len(batch)
                if cluster is not None:
                    bounds.update(pc.min_max(batch[cluster]).as_py().values())
        record.store.upload(path, name, path.name)
        size = path.stat().st_size
    low, high = min(bounds, default=None), max(bounds, default=None)
    return DataFile(f"{record.root}/{name}/{path.name}", rows, size, low, high)


def _commit_body(
    name: str,
    new: DataFile,
    replaced: Sequence[DataFile],
    transactions: Mapping[str, int],
    metadata: Mapping[str, str],
) -> bytes:
    """Return a commit of the Delta log.

    The statistics of a file are the bounds that a load looks for, and no more: every use of the
    table reads those of all files.
    """
    moment, changes = int(datetime.now(UTC).timestamp() * 1000), not replaced
    statistics: dict[str, Any] = {"numRecords": new.rows}
    if new.low is not None:
        column = CLUSTERS[name]
        statistics |= {"minValues": {column: new.low}, "maxValues": {column: new.high}}
    file = {"partitionValues": {}, "dataChange": changes}
    added = {
        **file,
        "path": new.name,
        "size": new.size,
        "modificationTime": moment,
        "stats": json.dumps(statistics, separators=(",", ":")),
    }
    operation = {"timestamp": moment, "operation": "WRITE" if changes else "OPTIMIZE"}
    actions: list[dict[str, Any]] = [
        {"commitInfo": {**operation, **metadata}},
        *(
            {"txn": {"appId": writer, "version": number, "lastUpdated": moment}}
            for writer, number in transactions.items()
        ),
        *(
            {"remove": {**file, "path": old.name, "size": old.size, "deletionTimestamp": moment}}
            for old in replaced
        ),
        {"add": added},
    ]
    return b"\n".join(json.dumps(action, separators=(",", ":")).encode() for action in actions)


def try_commit_entries(
    record: Record,
    name: str,
    delta: DeltaTable,
    entries: Sequence[SQLModel],
    transactions: Mapping[str, int],
) -> bool:
    """Append entries of one kind in one commit; False if another writer came first."""
    schema = arrow_schema(type(entries[0]))
    rows = pa.Table.from_pylist([entry.model_dump() for entry in entries], schema)
    return commit(record, name, delta, rows, transactions) is not None


def commit_entries(record: Record, name: str, entries: Sequence[SQLModel]) -> None:
    """Append entries to a table, whatever others append to it."""
    for _ in range(COMMIT_ATTEMPTS):
        if try_commit_entries(record, name, record.table(name), entries, {}):
            return
    raise WriteConflict(f"{name}: other writers kept committing first; nothing was written")
