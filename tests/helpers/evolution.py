"""Row classes with other columns than the real ones, and records that declare them."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
from pydantic import create_model
from sqlmodel import SQLModel

from warehouse.record.store import SCHEMAS, Record
from warehouse.record.tables import RecordTable, record_schema
from warehouse.tables.sighting import column


def with_columns(row: type[SQLModel], **columns: Any) -> type[SQLModel]:
    """Return a row class that has these columns too, or with another type."""
    fields: dict[str, Any] = {
        name: (kind, column("A column of a test.", None, default=None))
        for name, kind in columns.items()
    }
    return create_model(row.__name__, __base__=row, **fields)


def wider_table(table: RecordTable, **columns: Any) -> RecordTable:
    return replace(table, row=with_columns(table.row, **columns))


def opened(record: Record, *tables: RecordTable, **schemas: pa.Schema) -> Record:
    """Open a record as a process does whose row classes are those of these tables."""
    declared = {table.name: record_schema(table) for table in tables}
    return Record(record.root, {**SCHEMAS, **declared, **schemas})
