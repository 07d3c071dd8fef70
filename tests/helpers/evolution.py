"""Row classes with other columns than the real ones, and records that declare them."""

from dataclasses import replace
from typing import Any

from pydantic import create_model
from sqlmodel import SQLModel

from warehouse.record.store import ROWS, Record
from warehouse.record.tables import RecordTable
from warehouse.tables.column import column


def with_columns(row: type[SQLModel], **columns: Any) -> type[SQLModel]:
    """Return a row class with further columns, or with other types: a type, or it and a role."""
    fields: dict[str, Any] = {}
    for name, kind in columns.items():
        annotation, role = kind if isinstance(kind, tuple) else (kind, {})
        fields[name] = (annotation, column("TenderRelease.category", None, **role))
    return create_model(row.__name__, __base__=row, **fields)


def without_columns(row: type[SQLModel], *names: str) -> type[SQLModel]:
    """Return a row class that lacks these columns."""
    base: type[SQLModel] = next(base for base in row.__mro__[1:] if issubclass(base, SQLModel))
    kept = {
        name: (info.annotation, info)
        for name, info in row.model_fields.items()
        if name not in names and name not in base.model_fields
    }
    return create_model(row.__name__, __base__=base, **kept)  # type: ignore[call-overload,no-any-return]


def wider_table(table: RecordTable, **columns: Any) -> RecordTable:
    return replace(table, row=with_columns(table.row, **columns))


def opened(record: Record, *tables: RecordTable, **rows: type[SQLModel]) -> Record:
    """Open a record as a process does whose row classes are those of these tables."""
    declared = {table.name: table.row for table in tables}
    return Record(record.root, {**ROWS, **declared, **rows})
