"""Rows put down in a file as they are made, and then read where they lie."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa


class Spool(AbstractContextManager["Spool"]):
    """A file of rows of one shape; it is gone when the table that shows it is."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._writer = pa.ipc.new_file(str(path), schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()
        if error is not None:
            self._path.unlink()

    def write(self, rows: pa.Table) -> None:
        """Put rows down; other columns than those of the shape are left out."""
        self._writer.write_table(rows.select(self._schema.names).cast(self._schema))

    def table(self) -> pa.Table:
        """Show what was put down, mapped and not read; the file loses its name."""
        with pa.memory_map(str(self._path)) as file:
            rows = pa.ipc.open_file(file).read_all()
        self._path.unlink()
        return rows
