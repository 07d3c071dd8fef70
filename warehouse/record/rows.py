"""From parsed rows to typed Arrow; a row that does not fit is named, never bent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from warehouse.record.schema import incoming_schema
from warehouse.record.tables import RecordTable

# What Arrow raises for a value that has no exact place in its column.
MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Rejected:
    """A record that was read and not understood: its document, its place, the reason."""

    document: str
    source_ref: str
    reason: str
    row: int | None = None

    @property
    def words(self) -> str:
        """Say why, with the number of the row where the place alone does not tell."""
        return self.reason if self.row is None else f"row {self.row}, {self.reason}"


def to_arrow(
    table: RecordTable, rows: Sequence[Mapping[str, Any]]
) -> tuple[pa.Table, list[Rejected]]:
    """Make the table that ``append`` takes; a row that has no exact place in it is rejected."""
    schema = incoming_schema(table)
    known = set(schema.names)
    try:
        if all(row.keys() <= known for row in rows):
            return _table(schema, rows), []
        raise ValueError("a row has a column that the table has not")
    except MISFITS:
        good: list[Mapping[str, Any]] = []
        rejected: list[Rejected] = []
        for position, row in enumerate(rows):
            reason = _misfit(schema, row)
            if reason is None:
                good.append(row)
            else:
                rejected.append(_rejected(row, reason, position))
        return _table(schema, good), rejected


def _table(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = [pa.array([row.get(name) for row in rows], kind) for name, kind in _fields(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _misfit(schema: pa.Schema, row: Mapping[str, Any]) -> str | None:
    unknown = set(row) - set(schema.names)
    if unknown:
        return f"{sorted(unknown)[0]}: no such column"
    for name, kind in _fields(schema):
        try:
            pa.array([row.get(name)], kind)
        except MISFITS as error:
            return f"{name}: {row.get(name)!r:.80} does not fit {kind} ({error})"
    return None


def _fields(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in schema]


def _rejected(row: Mapping[str, Any], reason: str, position: int) -> Rejected:
    return Rejected(str(row.get("document", "")), str(row.get("source_ref", "")), reason, position)
