"""A Parquet file opened as a DataFrame of pandas or polars, an Arrow table or a DuckDB relation."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from sankofa_client.errors import PackageMissing


def open_pandas(path: Path, decimals: bool) -> pd.DataFrame:
    """Return a file with floats or Decimals for DECIMAL columns, and datetime64 for dates."""
    table, arrow, compute = open_arrow(path), _package("pyarrow"), _package("pyarrow.compute")
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


def open_arrow(path: Path) -> Any:
    """Return a file as an Arrow table, with the types of the file."""
    return _package("pyarrow.parquet").read_table(path)


def open_polars(path: Path) -> Any:
    """Return a file as a DataFrame of polars, with the types of the file."""
    return _package("polars").read_parquet(path)


def open_duckdb(path: Path) -> Any:
    """Return a file as a relation of DuckDB's default connection; nothing is read yet."""
    return _package("duckdb").read_parquet(str(path))


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise PackageMissing(
            f"To open the file this way, install {package}: pip install {package}"
        ) from error
