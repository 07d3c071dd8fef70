"""Search every file below a folder for a text: raw, decompressed, in Parquet, SQLite and LMDB."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import lmdb
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from warehouse.publish.pack_files import COUNT, decompressor


def files_with(folder: Path, text: str) -> list[str]:
    """Return the files below a folder that contain a text, in any case."""
    wanted = text.lower().encode()
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(wanted in content.lower() for content in _contents(path))
    ]


def _contents(path: Path) -> Iterator[bytes]:
    body = path.read_bytes()
    yield body
    if path.suffix == ".zst" and body:
        with pa.input_stream(path, compression="zstd") as stream:
            yield stream.read()
    elif path.suffix == ".parquet":
        yield str(pq.read_table(path).to_pylist()).encode()
    elif path.suffix == ".lmdb":
        yield from _packs(path)
    elif body.startswith(b"SQLite format 3"):
        # Pages that are no longer used are part of the raw bytes above.
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            # What an index of words holds lies in tables of its own, which are read.
            tables = database.execute(
                "SELECT name FROM sqlite_master "
                "WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            )
            names = [name for (name,) in tables.fetchall()]
            dictionary = _dictionary(database, names)
            for table in names:
                yield from (
                    _uncompressed(value, dictionary)
                    if isinstance(value, bytes)
                    else str(value).encode()
                    for row in database.execute(f'SELECT * FROM "{table}"')
                    for value in row
                )


def _packs(path: Path) -> Iterator[bytes]:
    """Yield what is in the packs of a file of the mart."""
    with (
        closing(lmdb.open(str(path), subdir=False, lock=False, readonly=True)) as environment,
        environment.begin() as transaction,
    ):
        for _, value in transaction.cursor():
            # A pack of rows follows their number.
            yield _uncompressed(bytes(value[COUNT.size :]), b"")


def _dictionary(database: sqlite3.Connection, tables: list[str]) -> bytes:
    """Return the dictionary of the rows of a file of the mart, if it has one."""
    return b"".join(
        row
        for table in tables
        if table.endswith("_dictionary")
        for (row,) in database.execute(f'SELECT row FROM "{table}"')
    )


def _uncompressed(value: bytes, dictionary: bytes) -> bytes:
    """Return what is in a pack of rows, or in a compressed row; other values as they are."""
    if value[: len(zstandard.FRAME_HEADER)] != zstandard.FRAME_HEADER:
        return value
    return decompressor(dictionary)(value)
