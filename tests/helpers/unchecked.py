"""Rows in the record that no check has seen, as an older version of the code left them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from warehouse.record.incoming import to_arrow
from warehouse.record.row_index import add_row_hashes
from warehouse.record.store import Record, commit, last_transaction
from warehouse.record.tables import RecordTable, record_schema


def append_unchecked(
    record: Record, table: RecordTable, *rows: dict[str, Any], again: Sequence[bool] | None = None
) -> None:
    """Append rows as they are; ``again`` flags those whose sighting is stored already."""
    typed, rejected = to_arrow(table, rows)
    assert not rejected
    delta = record.table(table.name)
    load_seq = last_transaction(delta) + 1
    stamps = {
        "again": pa.array(again if again is not None else [False] * len(rows)),
        "load_id": pa.repeat(pa.scalar(f"old-{load_seq}"), len(rows)),
        "load_seq": pa.repeat(pa.scalar(load_seq, pa.int64()), len(rows)),
    }
    hashed = add_row_hashes(table, typed)
    for name, values in stamps.items():
        hashed = hashed.append_column(name, values)
    schema = record_schema(table)
    commit(
        record, table.name, delta, hashed.select(schema.names).cast(schema), {"append": load_seq}
    )
