"""Rows that newer code no longer reads in a document that was read before.

A new version of a parser reads every landed document again. What it reads differently replaces
the earlier reading; what it no longer reads at all would stay for ever, since nothing is deleted.
So a copy of such a row is appended that takes it back. A pinned data_version keeps its answer: the
row counted until the load that retracted it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from deltalake import DeltaTable

from warehouse.record.as_of import standing_rows
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import RecordTable, unstamped_schema

# A row read at a location of a document has that in its address. A withdrawal of what a document
# no longer shows has the address of the document alone, and is no row that a parser read.
_STALE = """
SELECT {columns} FROM ({stored}) AS stored
JOIN reread ON reread.document = stored.document AND reread.observed_at = stored.observed_at
 AND starts_with(stored.source_ref, concat(reread.url, '#')) AND reread.source = stored.source
WHERE NOT EXISTS (
    FROM read_now WHERE read_now.sighting = stored.sighting
        AND read_now.figure_check = stored.figure_check
        AND read_now.document = stored.document AND read_now.observed_at = stored.observed_at)
"""
# One reading of a publication: a document at a moment.
_READING = ("sighting", "figure_check", "document", "observed_at")


@dataclass
class Rereading:
    """Documents that other code has read before, and what is read in them now.

    A large document is appended in parts: ``finished`` is false until the last one, since a row
    that is missing from one part may be in the next.
    """

    documents: Sequence[Document]
    finished: bool = True
    _readings: dict[str, list[pa.Table]] = field(default_factory=dict)

    def add(self, table: RecordTable, rows: pa.Table) -> None:
        """Note hashed rows that are read now."""
        self._readings.setdefault(table.name, []).append(rows.select(_READING))

    def readings(self, table: RecordTable) -> pa.Table:
        """Return what has been read of a table so far."""
        return pa.concat_tables(self._readings[table.name])


def retractions(
    record: Record, table: RecordTable, delta: DeltaTable, rereading: Rereading | None
) -> pa.Table:
    """Return a retracting row for each stored row that the documents no longer give."""
    schema = unstamped_schema(table)
    if rereading is None or not rereading.finished or not rereading.documents:
        return schema.empty_table()
    documents = pa.table(
        {
            "document": [document.sha256 for document in rereading.documents],
            "observed_at": pa.array(
                [document.observed_at for document in rereading.documents],
                pa.timestamp("us", "UTC"),
            ),
            "url": [document.url for document in rereading.documents],
            "source": [document.source for document in rereading.documents],
        }
    )
    cursor = record.connection.cursor()
    try:
        cursor.register("reread", documents)
        cursor.register("read_now", rereading.readings(table))
        stored = standing_rows(
            record.relation(table.name, delta),
            schema.names,
            "document IN (SELECT document FROM reread)",
        )
        columns = ", ".join(f"stored.{name}" for name in schema.names)
        stale = cursor.sql(_STALE.format(columns=columns, stored=stored)).to_arrow_table()
    finally:
        cursor.close()
    flags = {"retracted": True, "again": True}
    for name, flag in flags.items():
        position = stale.schema.get_field_index(name)
        values = pa.repeat(pa.scalar(flag), len(stale))
        stale = stale.set_column(position, stale.schema.field(position), values)
    return stale.cast(schema)
