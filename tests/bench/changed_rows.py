"""Change staged rows as a day changes them: a few issuers file, releases and observations arrive.

A thousandth of all rows: six in ten of them are figures that a few issuers restate, most of each
statement at once; nearly four in ten are releases of a new day in every country; the rest are the
newest observations of 20 series.
"""

from pathlib import Path

import duckdb

PART, OF_FIGURES = 0.001, 0.6
FIGURES_OF_ISSUER, SERIES = 150, 20

_RESTATED = """
CREATE TEMP TABLE restated AS
SELECT row_id FROM staged
WHERE latest AND service_id IN (
    SELECT service_id FROM (SELECT DISTINCT service_id FROM staged)
    ORDER BY hash(service_id || {turn}) LIMIT {issuers}
)
QUALIFY row_number() OVER (PARTITION BY service_id ORDER BY period_end DESC, line_item)
    <= {figures};
CREATE TEMP TABLE arrived AS
SELECT * REPLACE (
    vintage + 1 AS vintage, {day} AS available_at, value_reported + {turn} AS value_reported,
    'restated' || {turn} AS publication, md5(row_id || {turn}) AS row_id,
    content + {turn} AS content, sighting + {turn} AS sighting
) FROM staged SEMI JOIN restated USING (row_id);
UPDATE staged SET latest = FALSE, superseded_at = {day}
WHERE row_id IN (SELECT row_id FROM restated);
DROP TABLE restated;
"""
_RELEASED = """
CREATE TEMP TABLE arrived AS
SELECT * REPLACE (
    {day} AS released_on, {day} AS available_at, ocid || '-' || {turn} AS ocid,
    release_id || '-' || {turn} AS release_id, md5(row_id || {turn}) AS row_id,
    figure + {turn} AS figure, content + {turn} AS content, sighting + {turn} AS sighting
) FROM staged
QUALIFY row_number() OVER (PARTITION BY country ORDER BY released_on DESC, ocid, release_id)
    <= {releases};
"""
_OBSERVED = """
CREATE TEMP TABLE arrived AS
SELECT * REPLACE (
    {day} AS period_start, {day} AS period_end, {day} AS available_at, value + {turn} AS value,
    CAST(1 AS BIGINT) AS vintage, TRUE AS latest, CAST(NULL AS DATE) AS superseded_at,
    md5(row_id || {turn}) AS row_id, figure + {turn} AS figure, content + {turn} AS content,
    sighting + {turn} AS sighting
) FROM staged
QUALIFY row_number() OVER (PARTITION BY series ORDER BY period_end DESC, vintage DESC) = 1
ORDER BY hash(series || {turn}) LIMIT {series};
"""
_ARRIVING = {
    "fundamentals": _RESTATED,
    "tender_releases": _RELEASED,
    "macro_series": _OBSERVED,
}


def change(staged: Path, turn: int) -> int:
    """Change the staged files, with another day and other rows in each turn; return how many."""
    paths = {name: staged / f"{name}.parquet" for name in _ARRIVING}
    arrived = 0
    with duckdb.connect() as sql:
        sql.execute("SET TimeZone = 'UTC'")
        sql.execute("SET enable_progress_bar = FALSE")
        rows = sum(_count(sql, f"read_parquet('{path}')") for path in paths.values())
        figures = PART * rows * OF_FIGURES
        countries = _count(
            sql, f"(SELECT DISTINCT country FROM read_parquet('{paths['tender_releases']}'))"
        )
        numbers = {
            "turn": turn,
            "day": f"(DATE '2026-02-01' + {turn})",
            "issuers": max(1, round(figures / FIGURES_OF_ISSUER)),
            "figures": min(FIGURES_OF_ISSUER, max(1, round(figures))),
            "releases": max(1, round((PART * rows - figures - SERIES) / countries)),
            "series": SERIES,
        }
        for name, statements in _ARRIVING.items():
            sql.execute(f"CREATE TEMP TABLE staged AS FROM read_parquet('{paths[name]}')")
            sql.execute(statements.format(**numbers))
            arrived += _count(sql, "arrived")
            written = paths[name].with_suffix(".partial")
            both = "FROM staged UNION ALL BY NAME FROM arrived"
            sql.execute(f"COPY ({both}) TO '{written}' (FORMAT parquet)")
            written.replace(paths[name])
            sql.execute("DROP TABLE staged; DROP TABLE arrived")
    return arrived


def _count(sql: duckdb.DuckDBPyConnection, rows: str) -> int:
    row = sql.execute(f"SELECT count(*) FROM {rows}").fetchone()
    return 0 if row is None else int(row[0])
