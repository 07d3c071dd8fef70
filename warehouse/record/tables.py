"""The tables of the record as data, and their Arrow schemas.

Columns, types, and which columns identify a figure or are its content come from the row classes
in ``warehouse.tables``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.schema import Field
from sqlmodel import SQLModel

from warehouse.shared.errors import SankofaError
from warehouse.tables.column import Column, content_of, identity_of
from warehouse.tables.entities import Entity, EntityIdentifier
from warehouse.tables.fundamentals import ElementFact, Filing, Fundamental
from warehouse.tables.macro import MacroAnnual, MacroSeries
from warehouse.tables.sighting import Sighting
from warehouse.tables.tenders import TenderParty, TenderRelease

# Columns that a row class gained after its Delta table was created.
#
# A nullable column is added to the table by a commit of metadata: no file is rewritten, and rows
# stored before read as null. Every other change of columns is refused, because rows that are
# stored cannot follow it.

# Metadata of a column of a Delta table that was added after the table had been created: only then
# can the table have files without it.
_ADDED_KEY = "sankofa.added"


def stored_columns(delta: DeltaTable) -> pa.Schema:
    """Return the columns of a Delta table, with types and metadata as Arrow has them."""
    return pa.schema(delta.schema().to_arrow())


def added_columns(
    name: str, stored: pa.Schema, declared: pa.Schema, roles: Mapping[str, Column]
) -> list[pa.Field]:
    """Return the declared columns that the table has not yet; refuse every other difference."""
    for field in stored:
        if field.name not in declared.names:
            _refuse(
                name,
                field.name,
                f"is stored as {_type(field)} and no longer declared; stored columns are never "
                "removed or renamed: put it back. If a newer version of the software added it, run "
                "that version",
            )
    require_same_types(name, stored, declared)
    new = [field for field in declared if field.name not in stored.names]
    for field in new:
        role = roles.get(field.name, Column())
        hashed = role.identity is not None or (role.content and role.since is None)
        if hashed or not field.nullable:
            _refuse(
                name,
                field.name,
                f"is new ({_type(field)}), and stored rows have no value for it and keep their "
                "hashes; declare it as nullable (`| None`), without identity, and as content only "
                "with since=…",
            )
    return new


def require_same_types(name: str, stored: pa.Schema, declared: pa.Schema) -> None:
    """Refuse a column whose type is not the stored one."""
    for field in declared:
        position = stored.get_field_index(field.name)
        if position >= 0 and _type(stored.field(position)) != _type(field):
            _refuse(
                name,
                field.name,
                f"is stored as {_type(stored.field(position))} and declared as {_type(field)}; "
                "stored rows keep their types: restore it, and add a nullable column with "
                "another name",
            )


def add_columns(delta: DeltaTable, fields: Sequence[pa.Field]) -> None:
    """Add columns in one commit, which fails if another writer has changed them first."""
    delta.alter.add_columns(
        [Field.from_arrow(field.with_metadata({_ADDED_KEY: "true"})) for field in fields]
    )


def has_uniform_files(stored: pa.Schema, declared: pa.Schema) -> bool:
    """Return whether every file of the table has every declared column."""
    return all(
        name in stored.names and _ADDED_KEY.encode() not in (stored.field(name).metadata or {})
        for name in declared.names
    )


def _refuse(name: str, column: str, words: str) -> NoReturn:
    raise SankofaError(
        f"{name}: column {column!r} {words} (row classes: warehouse/tables). Nothing was written"
    )


def _type(field: pa.Field) -> str:
    """Return a column's type in words; the name of a list's element is no part of it."""
    kind = f"list<{field.type.value_type}>" if pa.types.is_list(field.type) else str(field.type)
    return kind if field.nullable else f"{kind} not null"


@dataclass(frozen=True)
class RecordTable:
    """One table of sightings.

    Files are sorted by ``cluster``, the column whose values arrive together, so that a load reads
    only the files it touches. ``value`` is the column that a row shows as its value.
    """

    name: str
    row: type[SQLModel]
    subject: str
    cluster: str
    value: str

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """The columns that identify a figure: two sightings with the same values are of one."""
        return identity_of(self.row)

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The columns whose change is a new vintage."""
        return content_of(self.row)


FUNDAMENTALS = RecordTable("fundamentals", Fundamental, "issuers", "service_id", "value_reported")
FILINGS = RecordTable("filings", Filing, "issuers", "service_id", "form")
ELEMENTS = RecordTable("elements", ElementFact, "issuers", "service_id", "value_reported")
TENDER_RELEASES = RecordTable("tender_releases", TenderRelease, "tenders", "ocid", "tag")
TENDER_PARTIES = RecordTable("tender_parties", TenderParty, "tenders", "ocid", "name")
MACRO_ANNUAL = RecordTable("macro_annual", MacroAnnual, "macro", "indicator", "value")
MACRO_SERIES = RecordTable("macro_series", MacroSeries, "macro", "series", "value")
ENTITIES = RecordTable("entities", Entity, "registers", "service_id", "legal_name")
IDENTIFIERS = RecordTable("identifiers", EntityIdentifier, "registers", "service_id", "id_value")

RECORD_TABLES = (
    FUNDAMENTALS,
    FILINGS,
    ELEMENTS,
    TENDER_RELEASES,
    TENDER_PARTIES,
    MACRO_ANNUAL,
    MACRO_SERIES,
    ENTITIES,
    IDENTIFIERS,
)
SUBJECTS: Mapping[str, tuple[RecordTable, ...]] = {
    subject: tuple(table for table in RECORD_TABLES if table.subject == subject)
    for subject in ("issuers", "tenders", "macro", "registers")
}
# Tables whose rows are figures and filings, and name only issuers and countries.
TABLES_WITHOUT_PEOPLE = (*SUBJECTS["issuers"], *SUBJECTS["macro"])


def tables_by(column: str) -> tuple[RecordTable, ...]:
    """Return the tables in which a column says what rows are about: ``service_id``, ``ocid``."""
    return tuple(table for table in RECORD_TABLES if table.cluster == column)


# 20 digits before the decimal point and 18 after it, exact. DuckDB allows 38 as well.
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
    return stored_schema(table.row)


def stored_schema(row: type[SQLModel]) -> pa.Schema:
    """Return the columns of a stored row; to a sighting the writer adds its own."""
    return pa.schema([*arrow_schema(row), *(WRITER_FIELDS if issubclass(row, Sighting) else ())])


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
