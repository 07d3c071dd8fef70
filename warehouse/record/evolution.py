"""Columns that a row class gained after its Delta table was created.

A nullable column is added to the table by a commit of metadata: no file is rewritten, and rows
stored before read as null. Every other change of columns is refused, because rows that are stored
cannot follow it.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.schema import Field

from warehouse.errors import ColumnsChanged
from warehouse.tables.column import Column

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
    new = [field for field in declared if field.name not in stored.names]
    for field in stored:
        if field.name not in declared.names:
            _refuse_removed(name, field, new)
    require_same_types(name, stored, declared)
    for field in new:
        if not field.nullable:
            _refuse(
                name,
                field.name,
                f"is new and required ({_type(field)}), but the stored rows have no value for it; "
                "declare it as nullable (`| None`)",
            )
        _require_stable_hashes(name, field.name, roles.get(field.name, Column()))
    return new


def _require_stable_hashes(name: str, column: str, role: Column) -> None:
    """Refuse a column with which stored rows would have other hashes than they have."""
    if role.identity is not None:
        _refuse(
            name,
            column,
            "is new and declared as identity, but stored rows are identified without it; "
            "declare it without identity, or load into a new home",
        )
    if role.content and role.since is None:
        _refuse(
            name,
            column,
            "is new and declared as content; declare with since=… in which version it was "
            "added, so that rows stored before keep their hashes",
        )


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


def _refuse_removed(name: str, field: pa.Field, new: Sequence[pa.Field]) -> NoReturn:
    alike = [other.name for other in new if other.type.equals(field.type)]
    renamed = f" (is {alike[0]!r} its new name?)" if alike else ""
    _refuse(
        name,
        field.name,
        f"is stored as {_type(field)} and no longer declared{renamed}; stored columns are never "
        "removed or renamed: put it back. If a newer version of the software added it, run that "
        "version",
    )


def _refuse(name: str, column: str, words: str) -> NoReturn:
    raise ColumnsChanged(
        f"{name}: column {column!r} {words} (row classes: warehouse/tables). Nothing was written"
    )


def _type(field: pa.Field) -> str:
    """Return a column's type in words; the name of a list's element is no part of it."""
    kind = f"list<{field.type.value_type}>" if pa.types.is_list(field.type) else str(field.type)
    return kind if field.nullable else f"{kind} not null"
