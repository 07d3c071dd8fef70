"""What a column of a row class says about itself, and the lists that follow from it.

A column is declared once, with ``column``: whether it identifies a figure or is its content, and
where it appears; ``columns.csv`` has its meaning and an example. Everything else that needs a list
of columns (hashes, served members, bulk files, schemas, documentation) takes it from the functions
here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from msgspec import json
from pydantic_core import PydanticUndefined
from sqlmodel import Field, SQLModel

from warehouse.shared.data_files import csv_rows

# Where a column appears besides its table: in served rows and bulk files, in one of the two, or
# in neither.
Appears = Literal["everywhere", "api", "file", "table"]
# The parts of a dated row, which every surface shows in an order of its own: the figure itself,
# since when it was known, where it comes from, and its provenance.
Part = Literal["own", "time", "origin", "provenance"]
_KEY = "sankofa"
_NUMBERS = json.Decoder(float_hook=Decimal)


def _example(row: Mapping[str, str]) -> Any:
    """Return the example of a line: a text, or JSON for what is none; null if it is empty."""
    text = row["example"]
    return _NUMBERS.decode(text) if row["type"] == "json" else text or None


# What each column means, and an example, by ``Metric.value``.
_TEXTS = {row["column"]: (row["meaning"], _example(row)) for row in csv_rows(__name__, "columns")}


@dataclass(frozen=True, kw_only=True)
class Column:
    """What the declaration of a column says beyond its type, meaning and example.

    - ``identity``: it is one of the columns that identify the row's figure. The number is its
      place among them, which is part of the stored hashes and never changes.
    - ``content``: a change of its value is a new vintage of the figure.
    - ``appears``: where it appears besides its table; ``shown_as`` is its name there if that
      differs, ``after`` the column that it follows there if the class has it elsewhere.
    - ``since``: the version of the software that added it. Rows and builds made before have no
      value: a null is left out of the hash of the content, and the member is not required.
    - ``free_text``: people wrote it. The audit searches such columns of a release for contacts.
    """

    identity: int | None = None
    content: bool = False
    appears: Appears = "everywhere"
    shown_as: str | None = None
    after: str | None = None
    part: Part = "own"
    since: str | None = None
    free_text: bool = False


def column(name: str, default: Any = PydanticUndefined, **declared: Any) -> Any:
    """Declare a column; every surface shows its meaning and the example in its schema.

    ``name`` is that of its line in ``columns.csv``: the class and the column. What else is
    ``declared`` are members of ``Column``.
    """
    meaning, example = _TEXTS[name]
    return Field(
        default,
        description=meaning,
        schema_extra={"examples": [example], "json_schema_extra": {_KEY: Column(**declared)}},
    )


def same_column(row: type[SQLModel], name: str) -> Any:
    """Declare a column that another row has as well, with the same role, meaning and example."""
    return row.model_fields[name]


def columns_of(row: type[SQLModel]) -> dict[str, Column]:
    """Return the columns of a row class by name, in the order of the class."""
    return {name: _declared(info.json_schema_extra) for name, info in row.model_fields.items()}


def _declared(extra: Any) -> Column:
    # A column that was not declared with ``column`` has no role and appears everywhere.
    declared = extra.get(_KEY) if isinstance(extra, dict) else None
    return declared if isinstance(declared, Column) else Column()


def identity_of(row: type[SQLModel]) -> tuple[str, ...]:
    """Return the columns that identify what a row is about, in the order of their numbers."""
    places = {name: column.identity for name, column in columns_of(row).items()}
    numbered = [(place, name) for name, place in places.items() if place is not None]
    return tuple(name for _, name in sorted(numbered))


def content_of(row: type[SQLModel]) -> tuple[str, ...]:
    """Return the columns whose change makes a new vintage."""
    return tuple(name for name, column in columns_of(row).items() if column.content)


def shown_columns(
    row: type[SQLModel], where: Literal["api", "file"], *parts: Part
) -> dict[str, str]:
    """Return the columns that appear in served rows or in bulk files, each with its name there.

    They are in the order in which they appear; ``parts`` selects parts of the row (default: all).
    """
    columns = columns_of(row)
    ordered = [name for name, column in columns.items() if column.after is None]
    for name, column in columns.items():
        if column.after is not None:
            ordered.insert(ordered.index(column.after) + 1, name)
    return {
        name: columns[name].shown_as or name
        for name in ordered
        if columns[name].appears in ("everywhere", where)
        and (not parts or columns[name].part in parts)
    }


def members_of(row: type[SQLModel], *parts: Part) -> tuple[str, ...]:
    """Return the members of a served row that are columns of a class, in order."""
    return tuple(shown_columns(row, "api", *parts).values())
