"""Write files of the mart: rows of a table that lie together, with their packs and search index.

A file is a pure function of its rows. It is named by a key of them (``changed_files``), so that a
build takes over the files whose rows did not change.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from warehouse.compute import Task
from warehouse.mart.mart_rows import EncodedRows, encoded_rows
from warehouse.mart.packs import Packer
from warehouse.mart.row_dictionary import compressor, dictionary_of
from warehouse.mart.search_index import (
    KEY_COLUMNS,
    KEYS,
    KEYS_SCHEMA,
    TRIGRAMS_SCHEMA,
    VOCABULARY,
    VOCABULARY_COLUMNS,
    VOCABULARY_SCHEMA,
    WORDS_SCHEMA,
    ReleaseWords,
    SearchIndex,
)
from warehouse.mart.sqlite_loader import SqliteLoader
from warehouse.mart.tables import MART_TABLES, Columns, MartTable, Packing
from warehouse.steps.files import BuildFile

TABLES = {table.name: table for table in MART_TABLES}
_ARROW_TYPES = {
    "text": pa.string(),
    "integer": pa.int32(),
    "real": pa.float64(),
    "bytes": pa.binary(),
}
_OBJECT_COLUMNS: Columns = {"row": "bytes"}


def write_task(task: Task, sql: duckdb.DuckDBPyConnection) -> list[BuildFile]:
    """Write several files of a table from their rows; ``labels`` has those of their keys.

    Run again, it writes the same; under its name there is never half a file.
    """
    folder, table = Path(task.settings["folder"]), TABLES[task.settings["table"]]
    labels: Mapping[str, str] = task.settings["labels"]
    # A connection of its own: the tables it makes are temporary, and go with it.
    with closing(sql.cursor()) as own:
        encoded = encoded_rows(own, table, task.inputs["rows"])
        writer = _Writer(folder, table, encoded)
        files = {key: writer.write(key, labels[key], rows) for key, rows in encoded.by_file()}
        # A file without rows is a file, too.
        without = [key for key in labels if key not in files]
        return [*files.values(), *(writer.write(key, labels[key], ()) for key in without)]


@dataclass(frozen=True)
class _Writer:
    """Writes the files of a table, one after the other."""

    folder: Path
    table: MartTable
    encoded: EncodedRows

    def write(self, key: str, label: str, rows: Iterable[pa.RecordBatch]) -> BuildFile:
        """Write one file and return it."""
        table, counted = self.table, _Counted(rows)
        with (
            SqliteLoader(self.folder, key) as file,
            tempfile.TemporaryDirectory(prefix="sankofa-packs-") as folder,
        ):
            stored: Iterable[pa.RecordBatch] = counted
            objects = [self.encoded.objects[key]] if key in self.encoded.objects else []
            if table.with_dictionary:
                stored, objects = _compressed(file, table, counted, objects)
            if table.stored_once:
                _load_rows(file, table.objects, objects)
            index = SearchIndex() if table.name == "search" else None
            if table.packed is None:
                see = None if index is None else index.add
                rows = _numbered(stored, self.encoded.columns, see)
                file.load(table.name, self.encoded.columns, rows, table.indexes)
            else:
                self._write_packed(file, counted, Path(folder, "packs.arrow"), table.packed)
            if index is not None:
                _write_index(file, index)
        own, packs = file.written()
        return BuildFile(
            "mart", table.name, label, own.path, key, own.sha256, counted.rows, own.bytes, {}, packs
        )

    def _write_packed(
        self, file: SqliteLoader, rows: Iterable[pa.RecordBatch], path: Path, packing: Packing
    ) -> None:
        packer, words = Packer(path, packing.max_rows), ReleaseWords()
        has_words = self.table.name == "tender_releases"

        def see(first: int, batch: pa.RecordBatch) -> None:
            days = (batch["known_from"].to_numpy(), batch["known_until"].to_numpy())
            bodies = batch["row"].cast(pa.binary())
            packer.add(first, batch["pack_key"], days, bodies, batch["part"])
            if has_words:
                words.add(first, batch)

        # The order matters: the packs are complete once the rows of the table have been streamed.
        stored = _numbered(rows, self.encoded.columns, see)
        file.load(self.table.name, self.encoded.columns, stored, self.table.indexes)
        file.load_packs(packer.packs(), by_key=bool(packing.by))
        if has_words:
            file.load_words(_reader(WORDS_SCHEMA, words.batches()))


def _compressed(
    file: SqliteLoader,
    table: MartTable,
    rows: Iterable[pa.RecordBatch],
    objects: list[pa.RecordBatch],
) -> tuple[Iterable[pa.RecordBatch], list[pa.RecordBatch]]:
    """Write the dictionary of a file; return its rows and objects, compressed with it."""
    batches = iter(rows)
    # Those that are at hand: the others are like them.
    first = list(islice(batches, 1))
    samples = [_bodies(batch) for batch in (*first, *objects)]
    dictionary = dictionary_of(*samples)
    found = [pa.RecordBatch.from_pydict({"row": [dictionary]})] if dictionary else []
    _load_rows(file, table.dictionary, found)
    compress = compressor(dictionary)

    def shorten(batch: pa.RecordBatch) -> pa.RecordBatch:
        place = batch.schema.get_field_index("row")
        bodies = pa.array(map(compress, _bodies(batch)), pa.binary())
        return batch.set_column(place, "row", bodies)

    return map(shorten, chain(first, batches)), [shorten(batch) for batch in objects]


def _bodies(batch: pa.RecordBatch) -> list[bytes]:
    bodies: list[bytes] = batch["row"].cast(pa.binary()).to_pylist()
    return bodies


def _load_rows(file: SqliteLoader, table: str, batches: Iterable[pa.RecordBatch]) -> None:
    """Load a table that has nothing but bodies, by their numbers."""
    file.load(table, _OBJECT_COLUMNS, _numbered(batches, _OBJECT_COLUMNS), ())


class _Counted:
    """Counts rows as they stream past."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches, self.rows = batches, 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch


def _write_index(file: SqliteLoader, index: SearchIndex) -> None:
    keys = _reader(KEYS_SCHEMA, index.keys())
    file.load(KEYS, KEY_COLUMNS, keys, (), primary_key="key, is_name, search_row")
    file.load_words(_reader(WORDS_SCHEMA, index.words()))
    vocabulary = _reader(VOCABULARY_SCHEMA, index.vocabulary())
    file.load(VOCABULARY, VOCABULARY_COLUMNS, vocabulary, ())
    file.load_trigrams(_reader(TRIGRAMS_SCHEMA, index.trigrams()))


def _reader(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(schema, batches)


def _numbered(
    batches: Iterable[pa.RecordBatch],
    columns: Columns,
    see: Callable[[int, pa.RecordBatch], None] | None = None,
) -> pa.RecordBatchReader:
    """Stream columns of rows, numbered from 1; ``see`` gets all columns, and the first number."""
    typed_columns = [(name, _ARROW_TYPES[kind]) for name, kind in columns.items()]
    schema = pa.schema([("row_number", pa.int64()), *typed_columns])

    def numbered() -> Iterator[pa.RecordBatch]:
        first = 1
        for batch in batches:
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            if see is not None:
                see(first, batch)
            first += batch.num_rows
            typed = [batch[name].cast(arrow_type) for name, arrow_type in typed_columns]
            yield pa.RecordBatch.from_arrays([numbers, *typed], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, numbered())
