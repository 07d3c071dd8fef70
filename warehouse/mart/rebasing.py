"""One base per series and day: figures of a base that the publisher replaced are withdrawn.

The unit and the base period of an index identify a figure, so that a value on a new base is no
restatement of the old one. Without more, both would be answers for one period. Here a series gets
the withdrawals that follow from its publications: from the day of the first publication on
another base, every figure of the old one is withdrawn, carried over to the new base or not; and
of two figures of one period the newer one stays. They are worked out from all rows of the
snapshot, so that the order in which documents arrived makes no difference, and dated by the
publication that replaced the base, so that no earlier day knows of it.

A publication that states neither unit nor base is on the base that the series has, unless that
base has a period: the values of an index are worth nothing without theirs, and what states none
is then another base.
"""

import duckdb
import pyarrow as pa

from warehouse.mart.left_out import STORED_ROW
from warehouse.record.as_of import readings_query
from warehouse.record.row_hashes import add_row_hashes
from warehouse.record.tables import (
    MACRO_ANNUAL,
    MACRO_SERIES,
    RecordTable,
    incoming_schema,
    record_schema,
)
from warehouse.tables import Sighting

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
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE rebased_series AS
SELECT {", ".join(_series_columns(table))} FROM {stored} GROUP BY ALL
HAVING count(DISTINCT {{'unit': unit, 'base_period': base_period}}) > 1""")
    if not sql.execute("SELECT 1 FROM rebased_series LIMIT 1").fetchall():
        return stored
    withdrawals = _withdrawals(sql, table, stored)
    sql.register("new_rows", withdrawals)
    name = f"rebased_{table.name}"
    sql.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM new_rows")
    sql.unregister("new_rows")
    columns = ", ".join(withdrawals.column_names)
    return f"(SELECT {columns} FROM {stored} UNION ALL FROM {name})"


def is_rebasing(publication: str) -> bool:
    """Return whether a row of a snapshot withdraws a figure because its base was replaced."""
    return publication.endswith(_SUFFIX)


def _series_columns(table: RecordTable) -> tuple[str, ...]:
    return tuple(name for name in table.identity if name not in (*_BASE, *_PERIOD))


def _withdrawals(sql: duckdb.DuckDBPyConnection, table: RecordTable, stored: str) -> pa.Table:
    """Return a withdrawing row for each figure and publication that replaced it."""
    names = incoming_schema(table).names
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE stored_of_series AS
SELECT stored.* FROM {stored} AS stored JOIN rebased_series AS chosen
  ON {_same(table, "stored", "chosen")}""")
    rows = sql.sql(_query(table)).to_arrow_table()
    loads = rows.select(["load_id", "load_seq"])
    hashed = add_row_hashes(table, rows.select(names).cast(incoming_schema(table)))
    hashed = hashed.append_column("again", pa.repeat(pa.scalar(False), len(rows)))
    for name in loads.column_names:
        hashed = hashed.append_column(name, loads[name])
    return hashed.select(record_schema(table).names).cast(record_schema(table))


def _query(table: RecordTable) -> str:
    series, period = ", ".join(_series_columns(table)), ", ".join(_PERIOD)
    same_row = " AND ".join(f"reading.{name} = candidate.{name}" for name in STORED_ROW)
    # What says who replaced a figure, and what of the figure itself remains.
    of_sighting = [name for name in Sighting.model_fields if name not in ("source", "withdrawn")]
    replacing = (*of_sighting, "load_id", "load_seq")
    kept = [name for name in incoming_schema(table).names if name not in replacing]
    emptied = {**dict.fromkeys(table.content, "NULL"), "withdrawn": "TRUE"}
    return f"""
WITH
-- Every value that counts, with its base and the number of its publication in the series.
numbered AS (
    SELECT candidate.*,
        CASE WHEN unit IS NOT NULL OR base_period IS NOT NULL
            THEN {{'unit': unit, 'base_period': base_period}} END AS stated,
        dense_rank() OVER (PARTITION BY {series}
            ORDER BY candidate.available_at NULLS FIRST, candidate.publication) AS place
    FROM stored_of_series AS candidate
    JOIN ({readings_query("stored_of_series")}) AS reading ON {same_row}
    WHERE NOT candidate.withdrawn
),
-- One base for each publication: a stated one before none, then that of the last reading.
publications AS (
    SELECT {series}, place, {", ".join(replacing)}, stated FROM numbered
    QUALIFY row_number() OVER (PARTITION BY {series}, place ORDER BY stated IS NULL,
        observed_at DESC, load_seq DESC, document, unit, base_period, {period}, source_ref) = 1
),
based AS (
    SELECT *, CASE
        WHEN stated IS NULL AND last_stated.base_period IS NOT NULL THEN {_NOT_STATED}
        ELSE last_stated END AS base
    FROM (SELECT *, last_value(stated IGNORE NULLS) OVER (PARTITION BY {series} ORDER BY place
        ROWS UNBOUNDED PRECEDING) AS last_stated FROM publications)
),
-- A new base begins a new run; the first base that is stated belongs to what stated none before.
changes AS (
    SELECT *, lag(place) OVER in_series IS NOT NULL
        AND base IS DISTINCT FROM lag(base) OVER in_series
        AND NOT (lag(base) OVER in_series IS NULL AND base.base_period IS NULL) AS changed
    FROM based WINDOW in_series AS (PARTITION BY {series} ORDER BY place)
),
runs AS (
    SELECT *, min(CASE WHEN changed THEN place END) OVER (PARTITION BY {series} ORDER BY place
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_run
    FROM changes
),
-- The figure of each period in each publication, and the publication that states another one.
periods AS (
    SELECT {series}, {period}, place, figure, figure_check FROM numbered
    QUALIFY row_number() OVER (PARTITION BY {series}, {period}, place ORDER BY stated IS NULL,
        observed_at DESC, load_seq DESC, document, unit, base_period) = 1
),
period_changes AS (
    SELECT *, (figure, figure_check) <> lag((figure, figure_check)) OVER (
        PARTITION BY {series}, {period} ORDER BY place) AS changed
    FROM periods
),
period_runs AS (
    SELECT *, min(CASE WHEN changed THEN place END) OVER (
        PARTITION BY {series}, {period} ORDER BY place
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_change
    FROM period_changes
),
-- The publication from which a value no longer counts: its own if that states another base.
ended AS (
    SELECT numbered.*, least(
        CASE WHEN coalesce(numbered.stated, CASE WHEN last_stated.base_period IS NULL
            THEN last_stated ELSE {_NOT_STATED} END) IS DISTINCT FROM base
            THEN numbered.place ELSE next_run END,
        CASE WHEN (numbered.figure, numbered.figure_check)
            <> (period_runs.figure, period_runs.figure_check)
            THEN numbered.place ELSE next_change END
    ) AS end_place
    FROM numbered
    JOIN runs ON runs.place = numbered.place AND {_same(table, "runs")}
    JOIN period_runs ON period_runs.place = numbered.place AND {_same(table, "period_runs")}
        AND period_runs.period_start = numbered.period_start
        AND period_runs.period_end = numbered.period_end
)
SELECT {", ".join(f"{emptied.get(name, f'ended.{name}')} AS {name}" for name in kept)},
    {", ".join(f"publications.{name}" for name in replacing if name != "publication")},
    publications.publication || '{_SUFFIX}' AS publication
FROM ended JOIN publications
  ON publications.place = ended.end_place AND {_same(table, "publications", "ended")}
-- One for each figure and end, from whichever of its values comes first.
QUALIFY row_number() OVER (PARTITION BY ended.figure, ended.figure_check, end_place
    ORDER BY ended.place, ended.load_seq, ended.source_ref) = 1
"""


def _same(table: RecordTable, left: str, right: str = "numbered") -> str:
    # A series without a country is a series as well: null is a value here.
    columns = _series_columns(table)
    return " AND ".join(f"{left}.{name} IS NOT DISTINCT FROM {right}.{name}" for name in columns)
