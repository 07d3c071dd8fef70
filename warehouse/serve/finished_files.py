"""Every text of a finished build, decoded: files of the mart, exports and metadata.

For whoever looks for something in a build as a whole. Each kind of file gives its distinct texts
(``values``), and the rows of some contracting processes (``rows``). What a file is, is found in the
file itself: a table or a column that is declared nowhere is read as well.
"""

import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse.publish.manifest import BuildFile
from warehouse.publish.packs import PACKS
from warehouse.serve.engines import FileReader
from warehouse.serve.exports import PublishedExports, delta_name, file_name
from warehouse.serve.packs import Pack
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import CHECKS, check_of

# A quote inside a string of JSON is escaped, so that this is a member.
_OCID = re.compile(r'"ocid":("(?:[^"\\]|\\.)*")')
_PARQUET = ".parquet"
# The tables in which SQLite keeps a full-text index end so, after its name.
_INNER = ("data", "idx", "config", "docsize", "content")


class Value(NamedTuple):
    """A text and the column that has it; ``row`` is None if that is found by the text."""

    column: str
    text: str
    row: str | None = None


class Row(NamedTuple):
    """A row of a contracting process: its texts by column."""

    id: str
    source: str | None
    ocid: str
    texts: Mapping[str, str]


@dataclass(frozen=True)
class FinishedFile:
    """A file of a build: where it is, for people; what its rows are; a hash of its content.

    ``table`` is the table of the mart or the key of the export, empty for JSON about a build: such
    a file is one text, of no process, without rows and without an index.
    """

    name: str
    table: str
    key: str

    def processes(self) -> set[str]:
        """Return the ocid of every process that has a row in it."""
        return set()

    def rows(self, ocids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of some processes."""
        return iter(())

    def values(self) -> Iterator[Value]:
        """Yield every text, the same one of a column at least once."""
        raise NotImplementedError

    def row_of(self, value: Value) -> tuple[str, str]:
        """Return the id of the first row that has a value, and its source if the row says it."""
        return "", ""

    def rows_with_words(self, words: Collection[str]) -> dict[str, set[int]]:
        """Return the numbers of the rows that its index of words finds by each of some words."""
        return {}

    def row_texts(self, numbers: Collection[int]) -> dict[int, str]:
        """Return rows by their numbers, as they are served."""
        return {}


def finished_files(
    marts: Path,
    files: Collection[BuildFile],
    exports: str,
    data_version: str,
    metadata: Mapping[str, str],
) -> Iterator[FinishedFile]:
    """Yield every file of a build."""
    for file in files:
        yield MartFile(f"mart {file.path}", file.table, file.sha256, marts, file)
    yield from _exported(exports, data_version)
    yield _text_file("the metadata of the build", msgspec.json.encode(metadata))


def _exported(exports: str, data_version: str) -> Iterator[FinishedFile]:
    store, published = FileStore.of(exports), PublishedExports(exports)
    hashes: dict[str, tuple[str, str]] = {}
    if data_version in published.versions():
        for artifact in published.manifest(data_version).artifacts:
            hashes[file_name(artifact.key)] = artifact.key, artifact.sha256
            if artifact.delta is not None:
                hashes[delta_name(artifact.key)] = artifact.key, artifact.delta.sha256
    for listed in store.listing(data_version):
        name = listed.path.rpartition("/")[2]
        if name.endswith(_PARQUET):
            table, sha256 = hashes.get(name, (name, ""))
            # A file that the manifest does not name has a hash of its bytes.
            key = sha256 or check_of(store.read(listed.path)).xxh3
            yield ExportedFile(f"export {listed.path}", table, key, store, listed.path)
        elif name != CHECKS:
            yield _text_file(f"export {listed.path}", store.read(listed.path))


def _text_file(name: str, body: bytes) -> "TextFile":
    return TextFile(name, "", check_of(body).xxh3, body)


@dataclass(frozen=True)
class TextFile(FinishedFile):
    """JSON about a build."""

    body: bytes

    def values(self) -> Iterator[Value]:
        """Yield its text."""
        yield Value("", self.body.decode(errors="replace"), "")


@dataclass(frozen=True)
class ExportedFile(FinishedFile):
    """A Parquet file of the exports; its last column is the id of a row."""

    store: FileStore
    path: str

    def processes(self) -> set[str]:
        """Return the ocid of every process that has a row in it."""
        if "ocid" not in self._schema.names:
            return set()
        with self._open() as file:
            ocids = pc.unique(pq.read_table(file, columns=["ocid"])["ocid"])
        return {ocid for ocid in ocids.to_pylist() if ocid is not None}

    def rows(self, ocids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of some processes."""
        wanted = pa.array(sorted(ocids), pa.string())
        with self._open() as file:
            for batch in pq.ParquetFile(file).iter_batches(columns=[*self._texts, self._id]):
                of_processes = batch.filter(pc.is_in(batch["ocid"], value_set=wanted))
                for row in of_processes.to_pylist():
                    texts = {name: _text(row[name]) for name in self._texts if row[name]}
                    yield Row(str(row[self._id]), row.get("source"), row["ocid"], texts)

    def values(self) -> Iterator[Value]:
        """Yield the distinct texts of each column, by group of rows."""
        with self._open() as opened:
            file = pq.ParquetFile(opened)
            for group in range(file.num_row_groups):
                for name in self._texts:
                    column = file.read_row_group(group, columns=[name])[name]
                    if not pa.types.is_nested(column.type):
                        column = pc.unique(column)
                    yield from (Value(name, _text(text)) for text in column.to_pylist() if text)

    def row_of(self, value: Value) -> tuple[str, str]:
        """Return the id of the first row that has a value, and its source if the row says it."""
        columns = [value.column, *({"source"} & {*self._schema.names}), self._id]
        with self._open() as opened:
            rows = pq.read_table(opened, columns=columns).to_pylist()
        row = next(
            row for row in rows if row[value.column] and _text(row[value.column]) == value.text
        )
        return str(row[self._id]), str(row.get("source") or "")

    def _open(self) -> BinaryIO:
        return self.store.open(self.path)

    @cached_property
    def _schema(self) -> pa.Schema:
        with self._open() as file:
            return pq.read_schema(file)

    @property
    def _id(self) -> str:
        return str(self._schema.names[-1])

    @cached_property
    def _texts(self) -> list[str]:
        """The columns that have texts, at whatever depth."""
        return [field.name for field in self._schema if "string" in str(field.type)]


def _text(value: Any) -> str:
    """Return a cell as text: lists and structs as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


@dataclass(frozen=True)
class MartFile(FinishedFile):
    """A file of the mart: its columns, the packs of its rows, and its index of words."""

    folder: Path
    file: BuildFile

    def processes(self) -> set[str]:
        """Return the ocid of every process that has a row in it."""
        first = next(self._bodies(), None)
        # All rows of a table have the same members.
        if first is None or ocid_of(first[2]) is None:
            return set()
        return {ocid for _, _, text in self._bodies() if (ocid := ocid_of(text)) is not None}

    def rows(self, ocids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of some processes: as they are served, and their columns."""
        found = {}
        for table, number, text in self._bodies():
            ocid = ocid_of(text)
            if ocid is not None and ocid in ocids:
                found[number] = Row(f"{table} {number}", None, ocid, {"row": text})
        if not found:
            return
        with self._opened() as mart:
            columns = _columns(mart)[self.table]
            statement = f"SELECT row_number, {', '.join(columns)} FROM {self.table}"
            for number, *values in mart.execute(statement):
                if number in found:
                    keys = dict(zip(columns, values, strict=True))
                    yield found[number]._replace(texts={**found[number].texts, **keys})

    def values(self) -> Iterator[Value]:
        """Yield every row, the distinct texts of all columns, and the words of indexes."""
        yield from (Value("row", text, f"{table} {n}") for table, n, text in self._bodies())
        with self._opened() as mart:
            for table, columns in _columns(mart).items():
                for column in columns:
                    distinct = mart.execute(f'SELECT DISTINCT "{column}" FROM {table}')
                    yield from (Value(f"{table}.{column}", text) for (text,) in distinct if text)
            if _has_words(mart):
                # Whoever writes a name as one word has it there as one word.
                mart.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, words, row)")
                terms = mart.execute("SELECT term FROM temp.v")
                yield from (Value("words", term, "") for (term,) in terms)

    def row_of(self, value: Value) -> tuple[str, str]:
        """Return the number of the first row that has a value, and its source if there is one."""
        if value.row is not None:
            return value.row, ""
        table, _, column = value.column.partition(".")
        with self._opened() as mart:
            mart.row_factory = sqlite3.Row
            found = f'SELECT * FROM {table} WHERE "{column}" = ? LIMIT 1'
            row = dict(mart.execute(found, (value.text,)).fetchone())
        return f"{table} {row.get('row_number', '')}".strip(), str(row.get("source", ""))

    def rows_with_words(self, words: Collection[str]) -> dict[str, set[int]]:
        """Return the numbers of the rows that its index of words finds by each of some words."""
        with self._opened() as mart:
            if not _has_words(mart):
                return {}
            mart.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, words, instance)")
            statement = "SELECT doc FROM temp.v WHERE term = ?"
            return {
                word: {number for (number,) in mart.execute(statement, (word,))} for word in words
            }

    def row_texts(self, numbers: Collection[int]) -> dict[int, str]:
        """Return rows by their numbers, as they are served."""
        return {
            number: text
            for table, number, text in self._bodies()
            if table == self.table and number in numbers
        }

    def _opened(self) -> "closing[sqlite3.Connection]":
        path = (self.folder / self.file.path).absolute()
        return closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True))

    def _bodies(self) -> Iterator[tuple[str, int, str]]:
        """Yield the JSON of every row as it is served: its table, its number, its text."""
        with self._opened() as mart:
            if PACKS not in _tables(mart):
                return
            reader = FileReader("", lambda sql, values: mart.execute(sql, values).fetchall())
            for found in mart.execute(f"SELECT first_row, head, body FROM {PACKS}"):
                pack = Pack(reader, *found)
                for number, row in enumerate(pack.rows(range(pack.count)), pack.first_row):
                    yield self.table, number, row.decode()


def ocid_of(body: str) -> str | None:
    """Return the process that a row of JSON is about."""
    found = _OCID.search(body)
    return None if found is None else msgspec.json.decode(found[1], type=str)


def _tables(mart: sqlite3.Connection) -> list[str]:
    """Return the tables of a file, without those of its full-text indexes."""
    listed = dict(
        mart.execute(
            """SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_master
            WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"""
        )
    )
    indexes = [name for name, is_index in listed.items() if is_index]
    # By the names of the indexes: any other table is searched, whatever it is called.
    inner = {f"{index}_{part}" for index in indexes for part in _INNER}
    return [name for name in listed if name not in indexes and name not in inner]


def _columns(mart: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of text of each table."""
    return {
        name: [
            column[1]
            for column in mart.execute(f"PRAGMA table_info({name})")
            if column[2].startswith("TEXT")
        ]
        for name in _tables(mart)
    }


def _has_words(mart: sqlite3.Connection) -> bool:
    found = mart.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone()
    return found is not None
