"""The columns of a bulk file: each with its type, its meaning, and where it comes from.

Types and meanings are those of the row that a column is taken from; the few that only bulk
files have are described here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
from sqlmodel import SQLModel

from warehouse.record.schema import arrow_schema
from warehouse.tables import Sighting
from warehouse.tables.column import column

PROVENANCE = (
    "source_ref",
    "license_class",
    "observed_at",
    "method",
    "extraction_confidence",
)


@dataclass(frozen=True)
class Column:
    """One column of a bulk file; ``sql`` gives it from the staged row."""

    field: pa.Field
    meaning: str
    example: Any
    sql: str

    @property
    def name(self) -> str:
        """Give the name in the file."""
        return str(self.field.name)


class Bulk(SQLModel):
    """What only bulk files show, and what the stage adds to a row."""

    fact_id: str = column("Id of this vintage of the figure.", "7a1d0c3b5e9f4a2280c6d1e2f3a4b5c6")
    record_id: str = column("Id of this row in the file.", "7a1d0c3b5e9f4a2280c6d1e2f3a4b5c6")
    party_id: str = column(
        "Id of the party in its role, as the API serves it.", "0f8b2c4d6e1a4c3b9d7e5f6a8b9c0d1e"
    )
    provenance_id: str = column(
        "Id of the place in the document.", "1c9e0b7d4f6a48529b3d2e1f0a5c6b7d"
    )
    vintage: int = column("1 for the first publication of the figure, then rising.", 1)
    superseded_at: date | None = column(
        "Day from which another vintage was known; null for the last. It is here so that any "
        "as_of is one filter: leave it out of what a backtest sees.",
        "2020-03-30",
    )
    latest: bool = column("True where this is what is known now; for no backtest.", True)


def columns(
    row: type[SQLModel], names: tuple[str, ...], sql: Mapping[str, str] | None = None
) -> tuple[Column, ...]:
    """Describe columns as a row describes them; ``new=old`` renames one."""
    schema, given = arrow_schema(row), sql or {}
    found = []
    for each in names:
        name, _, old = each.partition("=")
        field, info = schema.field(old or name), row.model_fields[old or name]
        found.append(
            Column(
                field.with_name(name),
                str(info.description),
                info.examples[0] if info.examples else None,
                given.get(name, old or name),
            )
        )
    return tuple(found)


def provenance() -> tuple[Column, ...]:
    """Give the columns that say where a row is from."""
    return columns(Sighting, PROVENANCE) + columns(Bulk, ("provenance_id",))


def vintages() -> tuple[Column, ...]:
    """Give the columns by which any as_of is one filter."""
    return (
        columns(Bulk, ("vintage",))
        + columns(Sighting, ("available_at", "withdrawn"))
        + columns(Bulk, ("superseded_at", "latest"))
    )


def record_id(sql: str = "row_id", name: str = "record_id") -> tuple[Column, ...]:
    """Give the column that tells a row from all others of its file."""
    return columns(Bulk, (name,), {name: sql})
