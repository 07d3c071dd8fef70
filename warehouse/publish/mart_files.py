"""Write files of the mart: rows of a table that lie together, with their packs and search index.

A file is a pure function of its rows. It is named by a key of them (``write``), so that a
build takes over the files whose rows did not change.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.publish.builds import file_of_key
from warehouse.publish.manifest import BuildFile
from warehouse.publish.packs import FRAMES, PACKS, Packer, Slice
from warehouse.publish.row_json import key_column_kind, key_column_sql, row_json_sql
from warehouse.publish.search_index import (
    KEY_COLUMNS,
    KEYS,
    TEXT_PREFIX,
    VOCABULARY,
    VOCABULARY_COLUMNS,
    WRITTEN_TEXTS,
    ReleaseWords,
    SearchIndex,
    batch_reader,
)
from warehouse.publish.steps import Task
from warehouse.publish.tables import MART_TABLES, ROW_NUMBERS, RUNS, Columns, MartTable
from warehouse.record.relations import relation_of_files
from warehouse.shared.files import sha256_of_file

# The rows of several files of a table in one stream: encoded, in order, file after file.
#
# One statement encodes them all: a statement for each file would cost more than its rows.

# The view of the rows as they come; its column ``file_key`` says in which file each lies.
ROWS, FILE_KEY = "mart_rows", "file_key"
_BATCH = 20_000


def encoded_rows(
    sql: duckdb.DuckDBPyConnection, table: MartTable, paths: Sequence[str]
) -> tuple[Columns, pa.RecordBatchReader]:
    """Return the columns that a table is stored with, and its rows, encoded, file after file.

    The rows lie in Parquet files; the connection must be a fresh one.
    """
    source = relation_of_files(paths, ", hive_partitioning = false")
    sql.execute(f"CREATE TEMP VIEW {ROWS} AS FROM {source}")
    # The type of a column decides how its JSON is written.
    types = {name: kind for name, kind, *_ in sql.execute(f"DESCRIBE {ROWS}").fetchall()}
    columns: Columns = {name: key_column_kind(types, name) for name in table.keys}
    selected = [FILE_KEY]
    selected += [f'{key_column_sql(types, name)} AS "{name}"' for name in table.keys]
    if table.members:
        packing = table.packed
        known_from, known_until = packing.known or ("CAST(0 AS INTEGER)", "CAST(0 AS INTEGER)")
        key = key_column_sql(types, packing.by) if packing.by else "''"
        row = row_json_sql(types, table.members, table.inside)
        selected += [f"{known_from} AS known_from", f"{known_until} AS known_until"]
        # With the comma, any run of rows can be cut out of a pack and sent as it is.
        selected += [f"{key} AS pack_key", f"{row} || ',' AS row"]
    texts = WRITTEN_TEXTS.get(table.name, {})
    selected += [f"{text} AS {TEXT_PREFIX}{name}" for name, text in texts.items()]
    statement = f"SELECT {', '.join(selected)} FROM {ROWS} ORDER BY {FILE_KEY}, {table.order}"
    return columns, sql.sql(statement).to_arrow_reader(_BATCH)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows of one file each; those of a file can be several pieces."""
    for batch in batches:
        runs, begin = pc.run_end_encode(batch[FILE_KEY]), 0
        for key, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield key, batch.slice(begin, end - begin)
            begin = end


# Write a file of the mart as SQLite; it gets its final name only when it is complete.

_TYPES = {
    "text": "TEXT NOT NULL",
    "integer": "INTEGER",
    "real": "REAL",
    "bytes": "BLOB NOT NULL",
}
# No journal and no fsync: a partial file is never read, and one left by a crash is deleted.
# A negative cache_size counts KiB; with analysis_limit, ANALYZE reads only a sample of an index.
_PRAGMAS = (
    "page_size = 4096",
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "cache_size = -65536",
    "analysis_limit = 1000",
)


class SqliteLoader:
    """Writes the file of one key; it is complete when the context is left without an error."""

    def __init__(self, folder: Path, key: str) -> None:
        self._key = key
        self._target = file_of_key(folder, key)
        self._partial = self._target.with_suffix(".partial")

    def __enter__(self) -> Self:
        self._partial.parent.mkdir(parents=True, exist_ok=True)
        self._partial.unlink(missing_ok=True)
        # Imported here, as pandas and polars come with it: to publish nothing new takes neither.
        from adbc_driver_sqlite import dbapi

        self._mart = dbapi.connect(str(self._partial), autocommit=True)
        self._sql = self._mart.cursor()
        for pragma in _PRAGMAS:
            self._sql.execute(f"PRAGMA {pragma}")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            # Statistics for the query planner.
            self._sql.execute("ANALYZE")
        self._sql.close()
        self._mart.close()
        if error is None:
            # It is synced to disk before a manifest names it; see ``Builds.add``.
            self._partial.replace(self._target)
        else:
            self._partial.unlink(missing_ok=True)

    def load(
        self,
        table: str,
        columns: Columns,
        rows: pa.RecordBatchReader,
        indexes: Sequence[str],
        primary_key: str = "",
    ) -> None:
        """Create a table, load its rows in order, then create its indexes.

        Rows that are numbered have their number as primary key.
        """
        declared = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
        first = rows.schema.names[0]
        if first in ROW_NUMBERS:
            declared.insert(0, f"{first} INTEGER PRIMARY KEY")
        if primary_key:
            declared.append(f"PRIMARY KEY ({primary_key})")
        # A table that is its own index, instead of a separate index with the same columns.
        options = "WITHOUT ROWID" if primary_key else ""
        self._sql.execute(f"CREATE TABLE {table} ({', '.join(declared)}) {options}")
        self._sql.adbc_ingest(table, rows, mode="append")
        # After the rows: sorting them once is cheaper than updating an index row by row.
        for number, index in enumerate(indexes):
            self._sql.execute(f"CREATE INDEX {table}_{number} ON {table} {index}")

    def load_runs(self, table: str, run_by: str) -> None:
        """Create the table ``runs`` of a table whose rows lie together by a column."""
        self._sql.execute(
            f"CREATE TABLE {RUNS} (value TEXT PRIMARY KEY, first_row INTEGER, last_row INTEGER) "
            "WITHOUT ROWID"
        )
        self._sql.execute(
            f"INSERT INTO {RUNS} SELECT {run_by}, min(row_number), max(row_number) FROM {table} "
            "GROUP BY 1"
        )

    def load_packs(self, packer: Packer, by_key: bool) -> None:
        """Write the packs; ``by_key``: they are found by their keys as well."""
        packs = batch_reader(packer.packs, _PACKS, _PACK_BATCH)
        self.load(PACKS, _PACK_COLUMNS, packs, ["(key)"] if by_key else [])
        frames = batch_reader(packer.frames, _FRAMES, _PACK_BATCH)
        self.load(FRAMES, _FRAME_COLUMNS, frames, ())

    def load_words(self, rows: pa.RecordBatchReader) -> None:
        """Create the table ``words``: rows found by words of their texts."""
        # The texts come split into words that the tokenizer leaves as they are.
        self._load_index("words", rows.schema.names[1:], "detail=column, tokenize='ascii'", rows)

    def load_trigrams(self, rows: pa.RecordBatchReader) -> None:
        """Create the table ``trigrams``: rows found by three neighbouring characters."""
        options = "detail=none, tokenize='trigram case_sensitive 1'"
        self._load_index("trigrams", ("text",), options, rows)

    def _load_index(
        self, table: str, columns: Sequence[str], options: str, rows: pa.RecordBatchReader
    ) -> None:
        """Create a full-text index that keeps neither the texts nor their lengths."""
        names = ", ".join(columns)
        self._sql.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5({names}, content='', columnsize=0, {options})"
        )
        self._sql.execute(f"CREATE TEMP TABLE loaded (row_number INTEGER PRIMARY KEY, {names})")
        self._sql.adbc_ingest("loaded", rows, mode="append", temporary=True)
        self._sql.execute(
            f"INSERT INTO {table} (rowid, {names}) SELECT row_number, {names} FROM temp.loaded "
            "ORDER BY row_number"
        )
        # Merged into one list for each word: nothing is ever added.
        self._sql.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._sql.execute("DROP TABLE temp.loaded")

    def written(self, table: str, label: str, rows: int) -> BuildFile:
        """Return the finished file."""
        digest = sha256_of_file(self._target)
        path = f"{self._target.parent.name}/{self._target.name}"
        size = self._target.stat().st_size
        return BuildFile("mart", table, label, path, self._key, digest, rows, size)


_PACK_COLUMNS: Columns = {"key": "text", "head": "bytes", "body": "bytes"}
_FRAME_COLUMNS: Columns = {"body": "bytes"}
_PACKS = pa.schema(
    [
        *(("first_row", pa.int64()), ("key", pa.string())),
        *(("head", pa.binary()), ("body", pa.binary())),
    ]
)
_FRAMES = pa.schema([("first_place", pa.int64()), ("body", pa.binary())])
# Packs or frames that are loaded at a time.
_PACK_BATCH = 512


TABLES = {table.name: table for table in MART_TABLES}
_ARROW_TYPES = {
    "text": pa.string(),
    "integer": pa.int32(),
    "real": pa.float64(),
}


def write_task(task: Task, sql: duckdb.DuckDBPyConnection) -> list[BuildFile]:
    """Write several files of a table from their rows; ``labels`` has those of their keys.

    Run again, it writes the same; under its name there is never half a file.
    """
    folder, table = Path(task.folder), TABLES[task.settings["table"]]
    labels: Mapping[str, str] = task.settings["labels"]
    # A connection of its own: the tables it makes are temporary, and go with it.
    with closing(sql.cursor()) as own:
        columns, encoded = encoded_rows(own, table, task.inputs["rows"])
        # A file without rows is a file, too.
        without = dict.fromkeys(labels)
        files = []
        for key, pieces in groupby(_pieces(encoded), key=itemgetter(0)):
            rows = (batch for _, batch in pieces)
            files.append(_write_file(folder, table, columns, (key, labels[key]), rows))
            del without[key]
        return files + [
            _write_file(folder, table, columns, (key, labels[key]), ()) for key in without
        ]


def _write_file(
    folder: Path,
    table: MartTable,
    columns: Columns,
    named: tuple[str, str],
    rows: Iterable[pa.RecordBatch],
) -> BuildFile:
    """Write one file and return it; ``named`` are its key and its label."""
    (key, label), packer, count = named, Packer(table.packed), 0
    index = SearchIndex() if table.name == "search" else None
    words = ReleaseWords() if table.name == "tender_releases" else None

    def see(first: int, batch: pa.RecordBatch) -> None:
        nonlocal count
        count += batch.num_rows
        if table.members:
            packer.add(first, *_packed(batch))
        for reads_words in (index, words):
            if reads_words is not None:
                reads_words.add(first, batch)

    with SqliteLoader(folder, key) as file:
        # The order matters: packs and words are complete once all rows have been streamed.
        file.load(table.name, columns, _numbered(rows, columns, see), table.indexes)
        if table.run_by:
            file.load_runs(table.name, table.run_by)
        if table.members:
            packer.finish()
            file.load_packs(packer, by_key=bool(table.packed.by))
        if words is not None:
            file.load_words(words.words())
        if index is not None:
            file.load(KEYS, KEY_COLUMNS, index.keys(), (), "key, is_name, search_row")
            file.load_words(index.words())
            file.load(VOCABULARY, VOCABULARY_COLUMNS, index.vocabulary(), ())
            file.load_trigrams(index.trigrams())
    return file.written(table.name, label, count)


def _packed(batch: pa.RecordBatch) -> tuple[list[tuple[str, int]], Slice]:
    """Return rows as they are packed: the runs of their keys, and their bytes and days."""
    rows = batch["row"].cast(pa.binary())
    # Slices of the Arrow buffers: copying each row to Python costs more than all the rest.
    # Buffer 1 of a binary array has its offsets, in 32 bits; buffer 2 its bytes.
    offsets = np.frombuffer(rows.buffers()[1], np.int32)[rows.offset :][: len(rows) + 1]
    data = memoryview(rows.buffers()[2] or b"")[int(offsets[0]) : int(offsets[-1])]
    days = (batch["known_from"].to_numpy(), batch["known_until"].to_numpy())
    runs = pc.run_end_encode(batch["pack_key"])
    keys = zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True)
    return list(keys), Slice(data, np.diff(offsets), *days)


def _numbered(
    batches: Iterable[pa.RecordBatch],
    columns: Columns,
    see: Callable[[int, pa.RecordBatch], None],
) -> pa.RecordBatchReader:
    """Stream columns of rows, numbered from 1; ``see`` gets all columns, and the first number."""
    typed_columns = [(name, _ARROW_TYPES[kind]) for name, kind in columns.items()]
    schema = pa.schema([("row_number", pa.int64()), *typed_columns])

    def numbered() -> Iterator[pa.RecordBatch]:
        first = 1
        for batch in batches:
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            see(first, batch)
            first += batch.num_rows
            typed = [batch[name].cast(arrow_type) for name, arrow_type in typed_columns]
            yield pa.RecordBatch.from_arrays([numbers, *typed], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, numbered())
