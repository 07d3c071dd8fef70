"""Later statements of figures, judged in the snapshot over all filings of an organisation.

A parser sees the filings of one document. Only here are those of all documents together, in
whatever order they were read, and under the organisation's one id; so figures that several
documents state with different values are judged again, by the same function.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from assets.filings.figures import Reading
from assets.filings.restatements import element_reading, mark_apparent
from warehouse.publish.left_out import STORED_ROW
from warehouse.publish.snapshot import Snapshot
from warehouse.record.as_of import statements_query
from warehouse.record.tables import ELEMENTS, FUNDAMENTALS, RecordTable, record_schema
from warehouse.shared.data_files import sql_file

_MARKS = ("apparent_restatement", "conflicts_with")
_SQL = sql_file(__name__, "later_statements")


def mark_later_statements(snapshot: Snapshot) -> None:
    """Mark the rows of a snapshot whose marks differ if all filings are seen together."""
    for table in (FUNDAMENTALS, ELEMENTS):
        _mark(snapshot, table)


def _mark(snapshot: Snapshot, table: RecordTable) -> None:
    _SQL.run(snapshot.sql, "judged_rows", fill={"rows": snapshot.remaining(table)})
    schema = record_schema(table)
    statements = statements_query(table, "judged_rows", columns=schema.names)
    query = _SQL.statement("judged_statements", statements=statements)
    stated = snapshot.sql.sql(query).to_arrow_table()
    names = [name for name in _MARKS if name in schema.names]
    marks = pa.schema([schema.field(name) for name in (*STORED_ROW, *names)])
    rows = (row for batch in stated.to_batches(max_chunksize=10_000) for row in batch.to_pylist())
    changed = pa.Table.from_pylist(list(_changed(rows, names)), marks)
    if len(changed):
        snapshot.mark_rows(table, changed)


def _changed(rows: Iterator[dict[str, Any]], names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows whose marks change, from rows in order of their organisations."""
    for _, of_issuer in groupby(rows, key=itemgetter("service_id")):
        readings = [
            Reading(row["element"].partition(":")[2], 0, row["source_ref"], row)
            if "line_item" in row
            else element_reading(row, row["source_ref"])
            for row in of_issuer
        ]
        before = [[reading.row[name] for name in names] for reading in readings]
        mark_apparent(readings)
        for reading, marks in zip(readings, before, strict=True):
            if [reading.row[name] for name in names] != marks:
                yield {name: reading.row[name] for name in (*STORED_ROW, *names)}
