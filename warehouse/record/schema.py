"""The Arrow schema of a row, taken from its one definition."""

from datetime import date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pyarrow as pa
from sqlmodel import SQLModel

from warehouse.record.tables import RecordTable

# 20 digits before the point and 18 behind it, exact; Spark and DuckDB end at 38 as well.
DECIMAL = pa.decimal128(38, 18)

_TYPES: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
    Decimal: DECIMAL,
}

# What the writer fills in: the marks, whether the publication was read before, the load.
WRITER_FIELDS = (
    pa.field("figure", pa.int64(), nullable=False),
    pa.field("figure_check", pa.int32(), nullable=False),
    pa.field("sighting", pa.int64(), nullable=False),
    pa.field("content", pa.int64(), nullable=False),
    pa.field("again", pa.bool_(), nullable=False),
    pa.field("load_id", pa.string(), nullable=False),
    pa.field("load_seq", pa.int64(), nullable=False),
)
_STAMPS = ("load_id", "load_seq")


def arrow_schema(row: type[SQLModel]) -> pa.Schema:
    """Give the columns of a row with their Arrow types and whether they may be null."""
    return pa.schema([_field(name, info.annotation) for name, info in row.model_fields.items()])


def incoming_schema(table: RecordTable) -> pa.Schema:
    """Give the columns that a load brings."""
    return arrow_schema(table.row)


def unstamped_schema(table: RecordTable) -> pa.Schema:
    """Give the columns of a marked row that does not know its load yet."""
    return pa.schema([field for field in record_schema(table) if field.name not in _STAMPS])


def record_schema(table: RecordTable) -> pa.Schema:
    """Give the columns that the record holds: what a load brings and what the writer adds."""
    return pa.schema([*arrow_schema(table.row), *WRITER_FIELDS])


def _field(name: str, annotation: Any) -> pa.Field:
    nullable = False
    if get_origin(annotation) in (UnionType, Union):
        nullable = NoneType in get_args(annotation)
        (annotation,) = [each for each in get_args(annotation) if each is not NoneType]
    if get_origin(annotation) is list:
        return pa.field(name, pa.list_(_TYPES[get_args(annotation)[0]]), nullable=nullable)
    if get_origin(annotation) is Literal:
        annotation = str
    return pa.field(name, _TYPES[annotation], nullable=nullable)
