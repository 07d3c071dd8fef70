"""Values as they compare, as small tables beside the columns that hold them.

A rule written in Python is applied once to each distinct value that needs it; SQL joins the
rest. What is plain ASCII in capitals without blanks is its own number, and is never looked at.
"""

from collections.abc import Callable, Mapping

import duckdb
import pyarrow as pa

from assets.entities.names import plain_name
from assets.entities.registers import LEI_SCHEMES, is_numbered, plain_number, register_of

_BATCH = 1 << 16
_TEXT = pa.string()
PLAIN_NUMBER = "[!-`{-~]+"


def fold_numbers(sql: duckdb.DuckDBPyConnection, values: str) -> None:
    """Make the table ``odd_numbers`` of the values that are not their own number."""
    odd = f"NOT regexp_full_match(value, '{PLAIN_NUMBER}')"
    _table(
        sql,
        "odd_numbers",
        f"SELECT DISTINCT value FROM ({values}) WHERE {odd}",
        {"plain": (plain_number, _TEXT), "numbered": (_numbered, pa.bool_())},
    )


def fold_names(sql: duckdb.DuckDBPyConnection, values: str) -> None:
    """Make the table ``plain_names`` of every name as it compares."""
    _table(
        sql, "plain_names", f"SELECT DISTINCT value FROM ({values})", {"plain": (plain_name, _TEXT)}
    )


def fold_codes(sql: duckdb.DuckDBPyConnection, values: str) -> None:
    """Make the table ``codes``: of which register a code is, or that it is that of LEIs."""
    kinds = {"register": (register_of, _TEXT), "kind": (_kind, _TEXT)}
    _table(sql, "codes", f"SELECT DISTINCT value FROM ({values})", kinds)


def number(value: str, odd: str) -> str:
    """Write the number of a value, ``odd`` being its row of ``odd_numbers`` if it has one."""
    return f"CASE WHEN {odd}.value IS NULL THEN {value} ELSE {odd}.plain END"


def numbered(value: str, odd: str) -> str:
    """Write whether a value numbers anything."""
    itself = f"regexp_matches({value}, '[1-9]')"
    return f"CASE WHEN {odd}.value IS NULL THEN {itself} ELSE {odd}.numbered END"


def _table(
    sql: duckdb.DuckDBPyConnection,
    name: str,
    values: str,
    columns: Mapping[str, tuple[Callable[[str], object], pa.DataType]],
) -> None:
    schema = pa.schema([("value", _TEXT), *((each, kind) for each, (_, kind) in columns.items())])
    batches = []
    found = sql.sql(f"SELECT value FROM ({values}) WHERE value IS NOT NULL")
    for batch in found.to_arrow_reader(_BATCH):
        raw = batch.column(0).to_pylist()
        made = [pa.array(map(rule, raw), kind) for rule, kind in columns.values()]
        batches.append(pa.RecordBatch.from_arrays([pa.array(raw, _TEXT), *made], schema=schema))
    sql.register(name, pa.Table.from_batches(batches, schema))


def _numbered(value: str) -> bool:
    return is_numbered(plain_number(value) or "")


def _kind(code: str) -> str:
    return "lei" if code.strip().upper() in LEI_SCHEMES else "registry"
