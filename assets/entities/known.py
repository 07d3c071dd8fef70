"""What the record knows of organisations, row by row, however it is handed over."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

Rows: TypeAlias = pa.Table | Sequence[Mapping[str, Any]]


def rows_of(known: Rows, columns: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Give the rows that were not withdrawn; of an Arrow table only these columns."""
    for row in every_row(known, (*columns, "withdrawn")):
        if not row.get("withdrawn"):
            yield row


def every_row(known: Rows, columns: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Give every row in its order; of an Arrow table only these columns."""
    if not isinstance(known, pa.Table):
        yield from known
        return
    held = [name for name in columns if name in known.column_names]
    for batch in known.select(held).to_batches(max_chunksize=1 << 14):
        yield from batch.to_pylist()
