"""The tables of the record as data, and their Arrow schemas.

Columns and types come from the row classes in ``warehouse.tables``. A table here adds which columns
identify a figure and which are its content.
"""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pyarrow as pa
from sqlmodel import SQLModel

from warehouse.tables import (
    Entity,
    EntityIdentifier,
    Fundamental,
    MacroAnnual,
    MacroSeries,
    TenderParty,
    TenderRelease,
)


@dataclass(frozen=True)
class RecordTable:
    """One table of sightings.

    Two sightings with the same ``identity`` are of the same figure. A change of any ``content``
    column is a new vintage. Files are sorted by ``cluster``, the column whose values arrive
    together, so that a load reads only the files it touches.
    """

    name: str
    row: type[SQLModel]
    identity: tuple[str, ...]
    content: tuple[str, ...]
    cluster: str


# Unit, basis and base period identify a figure: the same value in another currency or with another
# base year is another figure, not a restatement.
FUNDAMENTALS = RecordTable(
    "fundamentals",
    Fundamental,
    ("service_id", "line_item", "unit", "basis", "period_start", "period_end"),
    ("value_reported",),
    "service_id",
)
TENDER_RELEASES = RecordTable(
    "tender_releases",
    TenderRelease,
    ("source", "ocid", "release_id"),
    ("released_on", "tag", "release"),
    "ocid",
)
TENDER_PARTIES = RecordTable(
    "tender_parties",
    TenderParty,
    ("source", "ocid", "release_id", "party_key", "role"),
    ("name", "identifier_scheme", "identifier_id", "org_evidence"),
    "ocid",
)
MACRO_ANNUAL = RecordTable(
    "macro_annual",
    MacroAnnual,
    ("source", "country_iso3", "indicator", "period_start", "period_end", "unit", "base_period"),
    ("value", "obs_status"),
    "indicator",
)
MACRO_SERIES = RecordTable(
    "macro_series",
    MacroSeries,
    (
        "source",
        "series",
        "country_iso3",
        "frequency",
        "period_start",
        "period_end",
        "unit",
        "base_period",
    ),
    ("value", "obs_status"),
    "series",
)
ENTITIES = RecordTable(
    "entities",
    Entity,
    ("source", "service_id"),
    (
        "legal_name",
        "other_names",
        "jurisdiction",
        "country",
        "entity_type",
        "status",
        "lei",
        "lei_status",
        "same_as",
    ),
    "service_id",
)
IDENTIFIERS = RecordTable(
    "identifiers",
    EntityIdentifier,
    ("source", "service_id", "id_type", "id_value", "issuer"),
    ("status",),
    "service_id",
)

RECORD_TABLES = (
    FUNDAMENTALS,
    TENDER_RELEASES,
    TENDER_PARTIES,
    MACRO_ANNUAL,
    MACRO_SERIES,
    ENTITIES,
    IDENTIFIERS,
)


# 20 digits before the decimal point and 18 after it, exact. Spark and DuckDB allow 38 as well.
DECIMAL = pa.decimal128(38, 18)

_TYPES: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
    Decimal: DECIMAL,
}

# What the writer adds: the row hashes, whether the sighting has several readings, the load.
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
    """Return the Arrow schema of a row class."""
    return pa.schema(
        [_arrow_field(name, info.annotation) for name, info in row.model_fields.items()]
    )


def incoming_schema(table: RecordTable) -> pa.Schema:
    """Return the columns that a load brings."""
    return arrow_schema(table.row)


def unstamped_schema(table: RecordTable) -> pa.Schema:
    """Return the columns of a hashed row that has no load number yet."""
    return pa.schema([field for field in record_schema(table) if field.name not in _STAMPS])


def record_schema(table: RecordTable) -> pa.Schema:
    """Return the stored columns: what a load brings and what the writer adds."""
    return pa.schema([*arrow_schema(table.row), *WRITER_FIELDS])


def _arrow_field(name: str, annotation: Any) -> pa.Field:
    nullable = False
    if get_origin(annotation) in (UnionType, Union):
        nullable = NoneType in get_args(annotation)
        (annotation,) = [option for option in get_args(annotation) if option is not NoneType]
    if get_origin(annotation) is list:
        return pa.field(name, pa.list_(_TYPES[get_args(annotation)[0]]), nullable=nullable)
    if get_origin(annotation) is Literal:
        annotation = str
    return pa.field(name, _TYPES[annotation], nullable=nullable)
