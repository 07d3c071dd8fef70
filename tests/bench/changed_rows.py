"""Rows of a new day, made from those there are, in a record or staged for a build.

A thousandth of all rows: six in ten of them are figures that a few issuers restate, most of each
statement at once; nearly four in ten are releases of a new day in every country; the rest are the
newest observations of 20 series.
"""

from collections.abc import Collection, Mapping
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES, incoming_schema

PART, OF_FIGURES = 0.001, 0.6
FIGURES_OF_ISSUER, SERIES = 150, 20

# The newest row of each figure of a few issuers, with another value.
_RESTATED = """
SELECT * REPLACE (
    {day} AS available_at, {moment} AS observed_at, value_reported + {turn} AS value_reported,
    'restated' || {turn} AS publication
)
FROM (
    FROM {rows}
    WHERE NOT withdrawn AND service_id IN (
        SELECT service_id FROM (SELECT DISTINCT service_id FROM {rows})
        ORDER BY hash(service_id || {turn}) LIMIT {issuers}
    )
    QUALIFY row_number() OVER (PARTITION BY figure ORDER BY available_at DESC, load_seq DESC) = 1
)
QUALIFY row_number() OVER (PARTITION BY service_id ORDER BY period_end DESC, line_item)
    <= {figures}
"""
# The newest releases of each country again, as releases of other processes.
_RELEASED = """
SELECT * REPLACE (
    {day} AS available_at, {moment} AS observed_at, {day} AS released_on,
    ocid || '-' || {turn} AS ocid, release_id || '-' || {turn} AS release_id
)
FROM {rows}
WHERE NOT withdrawn
QUALIFY row_number() OVER (PARTITION BY country ORDER BY released_on DESC, ocid, release_id)
    <= {releases}
"""
_OBSERVED = """
SELECT * REPLACE (
    {day} AS available_at, {moment} AS observed_at, {day} AS period_start, {day} AS period_end,
    value + {turn} AS value
)
FROM {rows}
WHERE NOT withdrawn
QUALIFY row_number() OVER (PARTITION BY series ORDER BY period_end DESC, available_at DESC) = 1
ORDER BY hash(series || {turn}) LIMIT {series}
"""
_ARRIVING = {
    "fundamentals": _RESTATED,
    "tender_releases": _RELEASED,
    "macro_series": _OBSERVED,
}
# What a snapshot says of the rows that arrived.
_STAGED = {
    "fundamentals": "vintage + 1 AS vintage",
    "tender_releases": "CAST(1 AS BIGINT) AS vintage",
    "macro_series": "CAST(1 AS BIGINT) AS vintage",
}


def _statements(
    sql: duckdb.DuckDBPyConnection, relations: Mapping[str, str], first: date, turn: int
) -> dict[str, str]:
    """Return the query of the rows of each table that arrive in a turn, which is a day."""

    def count(rows: str) -> int:
        row = sql.execute(f"SELECT count(*) FROM {rows}").fetchone()
        return 0 if row is None else int(row[0])

    arriving = PART * sum(map(count, relations.values()))
    figures = arriving * OF_FIGURES
    countries = count(f"(SELECT DISTINCT country FROM {relations['tender_releases']})")
    day = first + timedelta(turn)
    numbers = {
        "turn": turn,
        "day": f"DATE '{day}'",
        "moment": f"TIMESTAMPTZ '{day} 06:00:00+00'",
        "issuers": max(1, round(figures / FIGURES_OF_ISSUER)),
        "figures": min(FIGURES_OF_ISSUER, max(1, round(figures))),
        "releases": max(1, round((arriving - figures - SERIES) / countries)),
        "series": SERIES,
    }
    return {
        name: _ARRIVING[name].format(rows=relation, **numbers)
        for name, relation in relations.items()
    }


def append_day(
    record: Record,
    first: date,
    turn: int,
    only: Collection[str] = _ARRIVING.keys(),
    most_sources: int | None = None,
) -> int:
    """Append the rows of a day to a record, of ``only`` some tables; return how many were new."""
    tables = {table.name: table for table in RECORD_TABLES if table.name in only}
    relations = {name: record.relation(name) for name in _ARRIVING}
    statements = _statements(record.connection.cursor(), relations, first, turn)
    appended = 0
    for name, table in tables.items():
        schema = incoming_schema(table)
        rows: pa.Table = record.query(statements[name]).select(schema.names).cast(schema)
        for source in sorted(set(rows["source"].to_pylist()))[:most_sources]:
            of_source = rows.filter(pa.compute.equal(rows["source"], source))
            load = Load(source, (f"day {turn}",))
            appended += append(record, table, of_source, load).appended
    return appended


def stage_day(staged: Path, first: date, turn: int) -> int:
    """Add the rows of a day to the staged files of a snapshot; return how many."""
    paths = {name: staged / f"{name}.parquet" for name in _ARRIVING}
    arrived = 0
    with duckdb.connect() as sql:
        sql.execute("SET TimeZone = 'UTC'")
        sql.execute("SET enable_progress_bar = FALSE")
        relations = {name: f"read_parquet('{path}')" for name, path in paths.items()}
        for name, statement in _statements(sql, relations, first, turn).items():
            sql.execute(f"CREATE TEMP TABLE staged AS FROM {relations[name]}")
            sql.execute(f"CREATE TEMP TABLE arrived AS {statement}")
            if name == "fundamentals":
                sql.execute(
                    "UPDATE staged SET latest = FALSE, superseded_at = (FROM arrived "
                    "SELECT any_value(available_at)) "
                    "WHERE row_id IN (SELECT row_id FROM arrived)"
                )
            added = (
                f"SELECT * REPLACE ({_STAGED[name]}, TRUE AS latest, "
                f"CAST(NULL AS DATE) AS superseded_at, md5(row_id || {turn}) AS row_id, "
                f"sighting + {turn} AS sighting, content + {turn} AS content) FROM arrived"
            )
            written = paths[name].with_suffix(".partial")
            both = f"FROM staged UNION ALL BY NAME ({added})"
            sql.execute(f"COPY ({both}) TO '{written}' (FORMAT parquet)")
            written.replace(paths[name])
            (number,) = sql.execute("SELECT count(*) FROM arrived").fetchone() or (0,)
            arrived += int(number)
            sql.execute("DROP TABLE staged; DROP TABLE arrived")
    return arrived
