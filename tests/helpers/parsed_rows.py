"""Typed tables of a parser, as rows that a test can read."""

from collections.abc import Mapping
from typing import Any

from assets.parsing.parsed import Parsed
from warehouse.names.redaction import sealed_rows
from warehouse.record.tables import RecordTable

SECRET = b"a key of the tests"


def untyped(parsed: Parsed) -> Parsed:
    """Return what a parser gave as plain rows, with withheld names sealed as loading does it."""
    rows = {name: list(table) for name, table in parsed.rows.items()}
    for name, tables in parsed.typed.items():
        sealed = (sealed_rows(table, SECRET) for table in tables)
        rows.setdefault(name, []).extend(row for table in sealed for row in table.to_pylist())
    return Parsed(rows=rows, rejected=parsed.rejected)


def has_columns(row: Mapping[str, Any], table: RecordTable) -> bool:
    """Return whether a row has the columns of its table; those with a default may be absent."""
    required = {name for name, info in table.row.model_fields.items() if info.is_required()}
    return required <= set(row) <= set(table.row.model_fields)
