"""One base per series and day, and one figure in all its forms; see ``sql/rebasing.sql``.

The withdrawals are worked out from all rows of the snapshot, so that the order in which documents
arrived makes no difference, and dated by the publication that replaced the base, so that no earlier
day knows of it.
"""

import duckdb
import pyarrow as pa

from warehouse.publish.left_out import STORED_ROW
from warehouse.record.as_of import readings_query
from warehouse.record.relations import create_table
from warehouse.record.row_index import add_row_hashes
from warehouse.record.tables import (
    MACRO_ANNUAL,
    MACRO_SERIES,
    RecordTable,
    incoming_schema,
    record_schema,
)
from warehouse.shared.data_files import sql_file
from warehouse.tables.sighting import AS_SHOWN, FIRST_READ, EvidencedSighting

_BASE = ("unit", "base_period")
_PERIOD = ("period_start", "period_end")
# Sorts after every row of its publication, and before the next publication.
_SUFFIX = " rebased"
# The base of what states none although the series has one.
_NOT_STATED = "{'unit': NULL, 'base_period': 'not stated'}"


def with_rebasings(sql: duckdb.DuckDBPyConnection, table: RecordTable, stored: str) -> str:
    """Return the relation of stored rows with the withdrawals of figures on a replaced base."""
    if table not in (MACRO_ANNUAL, MACRO_SERIES):
        return stored
    stored = _with_other_forms(sql, table, stored)
    series = ", ".join(_series_columns(table))
    _REBASING.run(sql, "rebased_series", fill={"stored": stored, "series": series})
    if not sql.execute("SELECT 1 FROM rebased_series LIMIT 1").fetchall():
        return stored
    return _with_rows(sql, table, stored, _withdrawals(sql, table, stored), "rebased")


def _with_other_forms(sql: duckdb.DuckDBPyConnection, table: RecordTable, stored: str) -> str:
    """Return the relation of stored rows in which the forms of one figure agree."""
    if table is MACRO_ANNUAL:
        # Only here: what a later publication states must not show in the answer for a past day,
        # and annual indicators have no day.
        series, same = ", ".join(_series_columns(table)), _same(table, "unstated", "stated")
        fill = {"stored": stored, "series": series, "stated_series": same}
        rows = _REBASING.query(sql, "unit_not_stated", fill=fill).to_arrow_table()
    else:
        rows = _REBASING.query(sql, "shown_and_dated", fill={"stored": stored}).to_arrow_table()
    if not len(rows):
        return stored
    replaced = f"replaced_{table.name}"
    create_table(sql, replaced, rows.select(STORED_ROW), "TEMP TABLE")
    others = f"(FROM {stored} ANTI JOIN {replaced} USING ({', '.join(STORED_ROW)}))"
    # What now is one publication with another row must be compared with it.
    counting = _hashed(table, rows.filter(rows["counts"]), again=True)
    return _with_rows(sql, table, others, counting, "other_forms")


def _with_rows(
    sql: duckdb.DuckDBPyConnection, table: RecordTable, stored: str, rows: pa.Table, name: str
) -> str:
    """Return the relation of stored rows and others."""
    create_table(sql, f"{name}_{table.name}", rows, "TEMP TABLE")
    columns = ", ".join(rows.column_names)
    return f"(SELECT {columns} FROM {stored} UNION ALL FROM {name}_{table.name})"


def is_rebasing(publication: str) -> bool:
    """Return whether a row of a snapshot withdraws a figure because its base was replaced."""
    return publication.endswith(_SUFFIX)


def _series_columns(table: RecordTable) -> tuple[str, ...]:
    return tuple(name for name in table.identity if name not in (*_BASE, *_PERIOD))


def _withdrawals(sql: duckdb.DuckDBPyConnection, table: RecordTable, stored: str) -> pa.Table:
    """Return a withdrawing row for each figure and publication that replaced it."""
    chosen = _same(table, "stored", "chosen")
    _REBASING.run(sql, "stored_of_series", fill={"stored": stored, "chosen_series": chosen})
    rows = _REBASING.query(sql, "withdrawals", fill=_fragments(table)).to_arrow_table()
    return _hashed(table, rows, again=False)


def _hashed(table: RecordTable, rows: pa.Table, *, again: bool) -> pa.Table:
    """Return rows as the record stores them, with the hashes of what they state now."""
    incoming = incoming_schema(table)
    hashed = add_row_hashes(table, rows.select(incoming.names).cast(incoming))
    hashed = hashed.append_column("again", pa.repeat(pa.scalar(again), len(rows)))
    for name in ("load_id", "load_seq"):
        hashed = hashed.append_column(name, rows[name])
    return hashed.select(record_schema(table).names).cast(record_schema(table))


def _fragments(table: RecordTable) -> dict[str, str]:
    """Return the columns of a table that the withdrawals name."""
    # What says who replaced a figure, and what of the figure itself remains.
    of_figure = ("source", "withdrawn")
    of_sighting = [name for name in EvidencedSighting.model_fields if name not in of_figure]
    replacing = (*of_sighting, "load_id", "load_seq")
    kept = [name for name in incoming_schema(table).names if name not in replacing]
    states = {name: f"CASE WHEN NOT is_end THEN ended.{name} END" for name in table.content}
    states["withdrawn"] = "is_end"
    # A value that counts again is where it was.
    location = {
        name: f"CASE WHEN is_end THEN publications.{name} ELSE ended.{name} END"
        for name in ("source_ref", "document")
    }
    return {
        "series": ", ".join(_series_columns(table)),
        "readings": readings_query("stored_of_series"),
        "same_row": " AND ".join(f"reading.{name} = candidate.{name}" for name in STORED_ROW),
        "replacing": ", ".join(replacing),
        "series_of_run": _same(table, "runs", "numbered"),
        "series_of_period": _same(table, "period_runs", "on_base"),
        "series_of_end": _same(table, "publications", "ended"),
        "kept": ", ".join(f"{states.get(name, f'ended.{name}')} AS {name}" for name in kept),
        "of_replacing": ", ".join(
            f"{location.get(name, f'publications.{name}')} AS {name}"
            for name in replacing
            if name != "publication"
        ),
    }


def _same(table: RecordTable, left: str, right: str) -> str:
    # A series without a country is a series as well: null is a value here.
    columns = _series_columns(table)
    return " AND ".join(f"{left}.{name} IS NOT DISTINCT FROM {right}.{name}" for name in columns)


_REBASING = sql_file(
    __name__,
    "rebasing",
    fragments={"not_stated": _NOT_STATED},
    parameters={"suffix": _SUFFIX, "as_shown": AS_SHOWN, "first_read": FIRST_READ},
)
