"""Dagster metadata of a loaded table: counts, sample rows, reasons for quarantine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg
from sqlmodel import SQLModel

from assets.source import Source
from warehouse.record.store import Record, sql_text
from warehouse.record.tables import TABLES_WITHOUT_PEOPLE, RecordTable, arrow_schema
from warehouse.tables import LoadEntry

COUNT_NAMES = ("read", "appended", "held", "quarantined", "withdrawn", "retracted")
# What people read instead of the names of the ledger's columns.
_COUNT_WORDS = {"held": "already stored", "retracted": "no longer read"}

# Dagster keeps metadata for ever, out of reach of what is withheld later.
_HIDDEN = "not shown: rows of this table can hold personal data"
_UNREADABLE = "see `sankofa quarantine list`"
_ROWS = 5
_CELL = 60


def total_counts(entries: Iterable[LoadEntry]) -> dict[str, int]:
    """Add up the counts of several loads."""
    entries_list = list(entries)
    return {name: sum(getattr(entry, name) or 0 for entry in entries_list) for name in COUNT_NAMES}


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Return the counts that are not zero as text: "2 read, 1 appended, 1 already stored"."""
    words = (
        f"{number:,} {_COUNT_WORDS.get(name, name)}" for name, number in counts.items() if number
    )
    return ", ".join(words) or "nothing new"


def load_metadata(
    record: Record, source: Source, table: RecordTable, entries: Iterable[LoadEntry]
) -> dict[str, Any]:
    """Return the metadata of a load of one table of a source."""
    return {
        **total_counts(entry for entry in entries if entry.table_name == table.name),
        "sample": dg.MetadataValue.md(
            _sample(record, source, table) if table in TABLES_WITHOUT_PEOPLE else _HIDDEN
        ),
        "quarantine": dg.MetadataValue.path(f"{record.root}/quarantine"),
        "why quarantined": dg.MetadataValue.md(_reasons(record, source, table)),
    }


def column_metadata(row: type[SQLModel]) -> dict[str, Any]:
    """Return the column schema of a table, with descriptions, as metadata."""
    columns = [
        dg.TableColumn(
            field.name,
            str(field.type),
            row.model_fields[field.name].description,
            dg.TableColumnConstraints(nullable=field.nullable),
        )
        for field in arrow_schema(row)
    ]
    return {"dagster/column_schema": dg.TableSchema(columns)}


def _sample(record: Record, source: Source, table: RecordTable) -> str:
    """Return a Markdown table of rows from the newest load of a source."""
    columns = [*table.identity, *table.content, "available_at", "license_class", "source_ref"]
    selected = ", ".join(column for column in dict.fromkeys(columns) if column != "source")
    rows_of_source = f"{record.relation(table.name)} WHERE source = '{source.key}'"
    result = record.query(
        f"SELECT {selected} FROM {rows_of_source} "
        f"AND load_seq = (SELECT max(load_seq) FROM {rows_of_source}) LIMIT {_ROWS}"
    )
    return _markdown(result.column_names, result.to_pylist())


def _reasons(record: Record, source: Source, table: RecordTable) -> str:
    """Return a Markdown table of the most frequent reasons for quarantine.

    A reason quotes a value: of tables that may name people, only the column at fault is given.
    """
    why = "reason"
    if table not in TABLES_WITHOUT_PEOPLE:
        columns = ", ".join(map(sql_text, arrow_schema(table.row).names))
        column = "regexp_extract(reason, '^(?:row [0-9]+, )?([a-z0-9_]+): ', 1)"
        why = f"CASE WHEN {column} IN ({columns}) THEN {column} ELSE '{_UNREADABLE}' END"
    result = record.query(
        f"SELECT count(*) AS records, {why} AS why FROM {record.relation('quarantine')} "
        f"WHERE source = '{source.key}' AND table_name = '{table.name}' "
        f"GROUP BY ALL ORDER BY records DESC, why LIMIT {_ROWS}"
    )
    return _markdown(result.column_names, result.to_pylist(), 200)


def _markdown(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]], longest: int = _CELL
) -> str:
    lines = [[_cell(row[column], longest) for column in columns] for row in rows]
    table = [list(columns), ["---"] * len(columns), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def _cell(value: object, longest: int) -> str:
    text = " ".join(("" if value is None else str(value)).split()).replace("|", "/")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
