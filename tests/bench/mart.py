"""Writing a build, beside the bare load of the same Arrow tables into SQLite."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from adbc_driver_sqlite import dbapi

from tests.bench import build_size
from tests.bench.measure import measured
from tests.bench.world import staged_schema, with_every_column
from tests.helpers.publishing import write_mart
from warehouse.publish.snapshot import NEWEST_STATEMENTS, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.tables.derived import DERIVED

MODULE = "tests.bench.mart"
# Facts, releases and macro vintages of the largest build; smaller ones are a part of it.
FACTS, RELEASES, MACRO = 1_000_000, 1_000_000, 500_000
PARTS = (0.1, 0.3, 1.0)
_LOADED = ("fundamentals", "tender_releases", "macro_series")
_WORDS = 20_000
_BEGUN = 0.0

_COMMON = """
    DATE '2015-01-01' + CAST(i % 3650 AS INTEGER) AS available_at,
    'p' || (i % 1000) AS publication, TIMESTAMPTZ '2026-01-01 06:00:00+00' AS observed_at,
    'bench' AS source, 'https://example.org/documents/' || (i // 100) || '#/' || i AS source_ref,
    md5(CAST(i // 100 AS VARCHAR)) AS document, 'cc-by' AS license_class, 'api' AS method,
    CAST(NULL AS DECIMAL(38,18)) AS extraction_confidence, FALSE AS withdrawn,
    CAST(hash(i) >> 1 AS BIGINT) AS figure, CAST(i % 1000 AS INTEGER) AS figure_check,
    CAST(hash(i, 1) >> 1 AS BIGINT) AS sighting, CAST(hash(i, 2) >> 1 AS BIGINT) AS content,
    FALSE AS again, 'l' AS load_id, CAST(1 AS BIGINT) AS load_seq,
    CAST(1 + i % 2 AS BIGINT) AS vintage,
    CASE WHEN i % 2 = 0 THEN DATE '2015-02-01' + CAST(i % 3650 AS INTEGER) END AS superseded_at,
    i % 2 = 1 AS latest, md5(CAST(i AS VARCHAR)) AS row_id,
    md5('p' || i) AS provenance_id
"""
_OWN = {
    "fundamentals": """
        'DC' || (i // 1000) AS service_id, 'item' || (i % 28) AS line_item,
        'income' AS statement, CAST(i * 1234.25 AS DECIMAL(38,18)) AS value_reported,
        'ZAR' AS currency_reported, 'ZAR' AS unit, 'FY' AS period_type,
        make_date(CAST(1990 + i // 28 % 36 AS INTEGER), 1, 1) AS period_start,
        make_date(CAST(1990 + i // 28 % 36 AS INTEGER), 12, 31) AS period_end,
        'FY' || (1990 + i // 28 % 36) AS fiscal_label, 'consolidated/ifrs' AS basis,
        'ifrs' AS accounting_standard, 'ifrs-full:Revenue' AS element,
        CAST(NULL AS DATE) AS measuring_unit_date, CAST(NULL AS VARCHAR) AS conflicts_with,
        CAST(NULL AS VARCHAR) AS restatement_kind""",
    "macro_series": """
        'ZA' AS country, 'ZAF' AS country_iso3,
        DATE '2000-01-01' + CAST(i % 9000 AS INTEGER) AS period_start,
        DATE '2000-01-01' + CAST(i % 9000 AS INTEGER) AS period_end,
        CAST(i * 0.0125 AS DECIMAL(38,18)) AS value, CAST(NULL AS VARCHAR) AS unit,
        CAST(NULL AS VARCHAR) AS base_period, 'A' AS obs_status,
        'FX.EUR.' || (i // 9000) AS series, 'fx' AS series_type, 'daily' AS frequency""",
    "tender_releases": """
        'ocds-' || (i // 2) AS ocid, 'r' || i AS release_id,
        CASE i % 3 WHEN 0 THEN 'ZA' WHEN 1 THEN 'KE' ELSE 'NG' END AS country,
        DATE '2015-01-01' + CAST(i % 3650 AS INTEGER) AS released_on, 'tender' AS tag,
        'works' AS category, 'active' AS tender_status, 'open' AS procurement_method,
        'buyer' || (i % 500) AS buyer_key, CAST(i * 10.5 AS DECIMAL(38,18)) AS tender_value,
        'ZAR' AS tender_currency, CAST(NULL AS DATE) AS tender_start,
        CAST(NULL AS DATE) AS tender_end, CAST(NULL AS BIGINT) AS number_of_tenderers,
        concat('{"buyer":{"id":"', i % 500, '","name":"Department ', i % 500,
            '"},"tender":{"description":"', random_words(i, 24), '","id":"t', i,
            '","items":[{"description":"', rpad('', 640, 'specification of item '),
            '"}],"title":"', random_words(i + 7, 8),
            '","value":{"amount":', i, '.50,"currency":"ZAR"}}}')
            AS release,
        CAST(0 AS BIGINT) AS parties_withheld, 'https://example.org/r/' || i AS source_url""",
}
_SAID = f"""
CREATE MACRO random_words(i, n) AS array_to_string(
    list_transform(range(n), lambda k: 'word' || CAST(
        {_WORDS} * power(((hash(i * 31 + k) % 100000) / 100000.0), 3) AS INTEGER)), ' ')
"""


def make(folder: str, part: str) -> None:
    """Stage a build of invented rows."""
    root = Path(folder)
    root.mkdir(parents=True)
    counts = {"fundamentals": FACTS, "tender_releases": RELEASES, "macro_series": MACRO}
    sql = duckdb.connect(config={"preserve_insertion_order": False})
    sql.execute("SET TimeZone = 'UTC'")
    sql.execute("SET enable_progress_bar = FALSE")
    sql.execute(_SAID)
    for table in RECORD_TABLES:
        path = root / f"{table.name}.parquet"
        if table.name not in _OWN:
            pq.write_table(staged_schema(table.name).empty_table(), path)
            continue
        number = int(counts[table.name] * float(part))
        rows = f"SELECT {_OWN[table.name]}, {_COMMON} FROM range({number}) AS numbers(i)"
        whole = with_every_column(sql, table.name, rows)
        sql.execute(f"COPY ({whole}) TO '{path}' (FORMAT parquet)")
    for name, row in DERIVED.items():
        pq.write_table(arrow_schema(row).empty_table(), root / f"{name}.parquet")


def ours(folder: str) -> object:
    """Write the build of what is staged."""
    root = Path(folder)
    beside = TemporaryDirectory(dir=root)
    snapshot = Snapshot(root, Record(str(root / "record")), {}, "20260101.1")
    for name in (*(table.name for table in RECORD_TABLES), *DERIVED):
        snapshot.create_view(name)
    snapshot.write(NEWEST_STATEMENTS, "SELECT * FROM fundamentals WHERE FALSE", ())

    def work() -> str:
        global _BEGUN
        _BEGUN = time.process_time()
        write_mart(snapshot, beside.name, {"notice": "bench"})
        return _worked(*Path(beside.name, "files").iterdir())

    return work


def bare(folder: str) -> object:
    """Load the same tables as they are, numbers as text: ADBC has no DECIMAL for SQLite."""
    root = Path(folder)
    beside = TemporaryDirectory(dir=root)
    tables = {name: _plain(pq.read_table(root / f"{name}.parquet")) for name in _LOADED}

    def work() -> str:
        global _BEGUN
        _BEGUN = time.process_time()
        path = Path(beside.name) / "bare.sqlite"
        with dbapi.connect(str(path), autocommit=True) as mart, mart.cursor() as sql:
            sql.execute("PRAGMA journal_mode = OFF")
            sql.execute("PRAGMA synchronous = OFF")
            for name, rows in tables.items():
                sql.adbc_ingest(name, rows, mode="create")
        return _worked(path)

    return work


def _worked(*paths: Path) -> str:
    """Return the size of the files and the CPU seconds used."""
    size = sum(path.stat().st_size for path in paths)
    return f"{size >> 20} {time.process_time() - _BEGUN:.2f}"


def _plain(rows: pa.Table) -> pa.Table:
    schema = pa.schema(
        [
            pa.field(item.name, pa.string() if pa.types.is_decimal(item.type) else item.type)
            for item in rows.schema
        ]
    )
    return rows.cast(schema)


def report(parts: Sequence[float] = PARTS, runs: int = 3) -> None:
    """Print seconds, CPU, memory and the ratios at three sizes; then sizes of whole builds."""
    print("      rows        seconds  ratio        CPU seconds  ratio  µs/row  peak MB    MB")
    for part in parts:
        rows = int((FACTS + RELEASES + MACRO) * part)
        with TemporaryDirectory() as folder:
            make(f"{folder}/stage", str(part))
            ours = measured(MODULE, "ours", f"{folder}/stage", runs=runs)
            bare = measured(MODULE, "bare", f"{folder}/stage", runs=runs)
        size, worked = map(float, ours.output.split())
        bare_size, bare_worked = map(float, bare.output.split())
        print(
            f"{rows:>10,} {ours.seconds:>7.2f}/{bare.seconds:<6.2f} "
            f"{ours.seconds / bare.seconds:>6.2f} {worked:>9.2f}/{bare_worked:<6.2f} "
            f"{worked / bare_worked:>8.2f} {ours.seconds / rows * 1e6:>7.2f} "
            f"{ours.peak_mb:>8,} {size:,.0f}/{bare_size:,.0f}",
            flush=True,
        )
    build_size.report()


if __name__ == "__main__":
    report(tuple(map(float, sys.argv[1:])) or PARTS)
