"""Rows as DataFrames, every column with the type that the API describes; Parquet files opened."""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypedDict

import pandas as pd

from sankofa_client.errors import PackageMissing
from sankofa_client.pages import Answer

Day = str | date
Kind = Literal["text", "date", "time", "number", "integer", "flag", "other"]
Columns = Mapping[str, tuple[Kind, bool]]
"""The columns of a list in order: the kind of each, and whether it can be null."""


class Shape(TypedDict, total=False):
    """What every method that returns rows takes in addition to its own parameters.

    ``limit`` is the number of rows wanted in all, by default every row. ``decimals`` and
    ``narrow`` are as those of the client, for one call.
    """

    limit: int | None
    decimals: bool | None
    narrow: bool | None


# Where a row comes from and how it was read; a narrow frame has them in its attributes.
_PROVENANCE = (
    *(
        "fact_id",
        "record_id",
        "provenance_id",
        "document_url",
        "source_url",
        "source",
        "source_ref",
    ),
    *("license_class", "observed_at", "method", "extraction_confidence", "methodology_ref"),
)
# Of a column that a narrow frame leaves out so many values are listed.
_MOST_VALUES = 20
# pandas 3 has a type for texts; before, they were objects.
_TEXT: Any = "str" if int(pd.__version__.partition(".")[0]) >= 3 else object
_DTYPES: Mapping[Kind, Any] = {
    "text": _TEXT,
    "date": "datetime64[us]",
    "time": "datetime64[us, UTC]",
    "number": "float64",
    "integer": "int64",
    "flag": "bool",
    "other": object,
}
# Those that have no null otherwise.
_NULLABLE_DTYPES: Mapping[Kind, Any] = {"integer": "Int64", "flag": "boolean"}
# What opens a Parquet file with its own types; a relation of DuckDB is not read yet.
_READERS = {
    "arrow": ("pyarrow.parquet", "read_table"),
    "duckdb": ("duckdb", "read_parquet"),
    "polars": ("polars", "read_parquet"),
}


def to_frame(answer: Answer, columns: Columns, decimals: bool) -> pd.DataFrame:
    """Return rows with all their columns, and the envelope in ``attrs``."""
    # A newer build may send columns that the description did not have when it was read.
    sent = dict.fromkeys(name for row in answer.rows for name in row)
    kinds: dict[str, tuple[Kind, bool]] = {**dict.fromkeys(sent, ("other", True)), **columns}
    series = {}
    for name in (*columns, *(name for name in sent if name not in columns)):
        values = [row.get(name) for row in answer.rows]
        series[name] = _series(values, *kinds[name], decimals)
    frame = pd.DataFrame(series)
    # Plain JSON values: pandas copies attrs, compares them and writes them to files.
    frame.attrs.update({name.lstrip("_"): value for name, value in answer.envelope.items()})
    return frame


def narrowed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without the columns of provenance.

    ``attrs["provenance"]`` has these columns, each with its values, or None if they are many.
    """
    left_out = [name for name in _PROVENANCE if name in frame]
    provenance = {}
    for name in left_out:
        values = sorted({str(value) for value in frame[name].dropna().unique()})
        provenance[name] = values if len(values) <= _MOST_VALUES else None
    narrow = frame.drop(columns=left_out)
    narrow.attrs["provenance"] = provenance
    return narrow


def _series(values: list[Any], kind: Kind, nullable: bool, decimals: bool) -> "pd.Series[Any]":
    dtype = _DTYPES[kind]
    if kind == "number":
        # Whole numbers come without a fraction; a column has one type.
        convert: Callable[[Any], Any] = Decimal if decimals else float
        values = [None if value is None else convert(value) for value in values]
        dtype = object if decimals else dtype
    elif nullable or None in values:
        # Also where it is never null: older versions of the data may not have the column.
        dtype = _NULLABLE_DTYPES.get(kind, dtype)
    series: pd.Series[Any] = pd.Series(values, dtype=dtype)
    return series


def open_file(path: Path, opened_as: Literal["arrow", "duckdb", "polars"]) -> Any:
    """Return a file as an Arrow table, a relation of DuckDB or a DataFrame of polars."""
    package, reader = _READERS[opened_as]
    return getattr(needed(package), reader)(str(path))


def open_pandas(
    path: Path, decimals: bool, filters: list[tuple[str, str, Any]] | None = None
) -> pd.DataFrame:
    """Return a file with floats or Decimals for DECIMAL columns, and datetime64 for dates.

    ``filters`` are those of ``pyarrow.parquet.read_table``: rows that do not match are not read.
    """
    table = needed("pyarrow.parquet").read_table(str(path), filters=filters)
    arrow, compute = needed("pyarrow"), needed("pyarrow.compute")
    for number, field in enumerate(table.schema):
        if arrow.types.is_decimal(field.type) and not decimals:
            # Through text: the nearest float to all digits, as the API's numbers are read.
            floats = compute.cast(compute.cast(table[number], "string"), "float64")
            table = table.set_column(number, field.name, floats)
        elif arrow.types.is_date(field.type):
            days = compute.cast(table[number], arrow.timestamp("us"))
            table = table.set_column(number, field.name, days)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def needed(name: str) -> Any:
    """Return a module of a package that only some calls need."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise PackageMissing(
            f"This call needs {package}, which is not installed: pip install {package}"
        ) from error
