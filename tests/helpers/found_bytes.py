"""Search every file below a folder for a text: raw, decompressed, in Parquet and SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.publish.packs import PACKS
from warehouse.serve.engines import FileReader
from warehouse.serve.packs import Pack


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
    elif body.startswith(b"SQLite format 3"):
        # Pages that are no longer used are part of the raw bytes above.
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            # What an index of words holds lies in tables of its own, which are read.
            tables = database.execute(
                "SELECT name FROM sqlite_master "
                "WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            )
            names = [name for (name,) in tables.fetchall()]
            for table in names:
                yield from (
                    value if isinstance(value, bytes) else str(value).encode()
                    for row in database.execute(f'SELECT * FROM "{table}"')
                    for value in row
                )
            if PACKS in names:
                yield from _packs(database)


def _packs(database: sqlite3.Connection) -> Iterator[bytes]:
    """Yield the rows in the packs of a file of the mart."""
    reader = FileReader("", lambda sql, values: database.execute(sql, values).fetchall())
    for found in database.execute(f"SELECT first_row, head, body FROM {PACKS}"):
        pack = Pack(reader, *found)
        yield from pack.rows(range(pack.count))
