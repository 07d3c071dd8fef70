"""Rows as DataFrames: every column with the type that the description of the API gives it."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal

import pandas as pd

from sankofa_client.pages import Answer

Kind = Literal["text", "date", "time", "number", "integer", "flag", "other"]
Columns = Mapping[str, tuple[Kind, bool]]
"""The columns of a list in order: the kind of each, and whether it can be null."""

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
