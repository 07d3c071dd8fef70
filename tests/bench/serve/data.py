"""The data that all contenders serve: our build of it, its keys, and plain copies for peers."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from adbc_driver_sqlite import dbapi

from tests.bench.world import staged_schema, with_every_column
from tests.helpers.publishing import write_mart
from warehouse import publish
from warehouse.control.keys import KeyStore, create_key
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.publish.builds import builds_at
from warehouse.publish.snapshot import NEWEST_STATEMENTS, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.tables.derived import DERIVED

VERSION = "20260101.1"
ITEMS, YEARS, MONTHS = 40, 10, 250
# Names that can be filtered by: the first ones of the methodology.
ITEM_NAMES = tuple(item.name for item in LINE_ITEMS[:ITEMS])
CATEGORIES = ("goods", "services", "works")
PANEL, METRIC = "single-bid-rate", "net_margin"
BUYERS = 500


@dataclass(frozen=True)
class Size:
    """How much is invented at a scale; 1.0 is what the goals speak of."""

    scale: float

    @property
    def issuers(self) -> int:
        return max(10, int(2_000 * self.scale))

    @property
    def releases(self) -> int:
        return max(1_000, int(1_000_000 * self.scale))

    @property
    def series(self) -> int:
        return max(10, int(1_000 * self.scale))

    @property
    def entities(self) -> int:
        return max(100, int(50_000 * self.scale))

    @property
    def buyers_of_panel(self) -> int:
        return max(5, int(200 * self.scale))


# A vintage: known from a day, until a later one takes its place.
_VINTAGE = """
    CAST(available AS DATE) AS available_at, 'p' || (i % 1000) AS publication,
    TIMESTAMPTZ '2026-01-01 06:00:00+00' AS observed_at, 'bench' AS source,
    'https://example.org/documents/' || (i // 100) || '#/' || i AS source_ref,
    md5(CAST(i // 100 AS VARCHAR)) AS document, 'cc-by' AS license_class, 'api' AS method,
    CAST(NULL AS DECIMAL(38,18)) AS extraction_confidence, FALSE AS withdrawn,
    CAST(hash(i) >> 1 AS BIGINT) AS figure, CAST(i % 1000 AS INTEGER) AS figure_check,
    CAST(hash(i, v) >> 1 AS BIGINT) AS sighting, CAST(hash(i, v, 2) >> 1 AS BIGINT) AS content,
    FALSE AS again, 'l' AS load_id, CAST(1 AS BIGINT) AS load_seq, CAST(v AS BIGINT) AS vintage,
    CAST(superseded AS DATE) AS superseded_at, superseded IS NULL AS latest,
    md5(i || '/' || v) AS row_id, md5('p' || i) AS provenance_id
"""
_COUNTRY = "CASE i % 3 WHEN 0 THEN 'ZA' WHEN 1 THEN 'KE' ELSE 'NG' END"
_SAID = """
CREATE MACRO random_words(i, n) AS array_to_string(list_transform(range(n), lambda k:
    'word' || CAST(20000 * power(((hash(i * 31 + k) % 100000) / 100000.0), 3) AS INTEGER)), ' ')
"""
# Three figures in ten are restated a year later.
_FUNDAMENTALS = f"""
SELECT {{vintage}}, printf('DC%08d', i // {ITEMS * YEARS}) AS service_id,
    {list(ITEM_NAMES)}[1 + i % {ITEMS}] AS line_item, 'income' AS statement,
    CAST((hash(i, v) % 100000000) * 1234.25 AS DECIMAL(38,18)) AS value_reported,
    'ZAR' AS currency_reported, 'ZAR' AS unit, 'FY' AS period_type,
    make_date(y, 1, 1) AS period_start, make_date(y, 12, 31) AS period_end,
    'FY' || y AS fiscal_label, 'consolidated/ifrs' AS basis, 'ifrs' AS accounting_standard,
    'ifrs-full:Revenue' AS element, NULL::DATE AS measuring_unit_date,
    NULL::VARCHAR AS conflicts_with, NULL::VARCHAR AS restatement_kind,
    NULL::VARCHAR AS split_ratio
FROM (
    SELECT i, v, y, make_date(y + v, 3, 31) AS available,
        CASE WHEN v = 1 AND hash(i) % 10 < 3 THEN make_date(y + 2, 3, 31) END AS superseded
    FROM (SELECT i, v, CAST(2014 + i // {ITEMS} % {YEARS} AS INTEGER) AS y
          FROM range({{number}} * {ITEMS * YEARS}) AS numbers(i), (VALUES (1), (2)) AS vintages(v))
    WHERE v = 1 OR hash(i) % 10 < 3
)"""
# Every observation is published after a month and revised after seven.
_MACRO = f"""
SELECT {{vintage}}, 'ZA' AS country, 'ZAF' AS country_iso3, begins AS period_start,
    last_day(begins) AS period_end,
    CAST((hash(i, v) % 1000000) * 0.0125 AS DECIMAL(38,18)) AS value, 'index' AS unit,
    CAST(NULL AS VARCHAR) AS base_period, 'A' AS obs_status,
    'CPI.' || (i // {MONTHS}) AS series, 'cpi' AS series_type, 'monthly' AS frequency
FROM (
    SELECT i, v, begins, begins + to_months(CASE v WHEN 1 THEN 1 ELSE 7 END) AS available,
        CASE WHEN v = 1 THEN begins + to_months(7) END AS superseded
    FROM (SELECT i, v, CAST(DATE '2004-01-01' + to_months(CAST(i % {MONTHS} AS INTEGER)) AS DATE)
              AS begins
          FROM range({{number}} * {MONTHS}) AS numbers(i), (VALUES (1), (2)) AS vintages(v))
)"""
_RELEASES = f"""
SELECT {{vintage}}, 'ocds-' || (i // 2) AS ocid, 'r' || i AS release_id, {_COUNTRY} AS country,
    CAST(available AS DATE) AS released_on, 'tender' AS tag,
    {list(CATEGORIES)}[1 + i // 3 % 3] AS category,
    'active' AS tender_status, 'open' AS procurement_method, 'buyer' || (i % {BUYERS}) AS buyer_key,
    CAST(i * 10.5 AS DECIMAL(38,18)) AS tender_value, 'ZAR' AS tender_currency,
    CAST(NULL AS DATE) AS tender_start, CAST(NULL AS DATE) AS tender_end,
    CAST(NULL AS BIGINT) AS number_of_tenderers,
    concat('{{{{"buyer":{{{{"id":"', i % {BUYERS}, '","name":"Department ', i % {BUYERS},
        '"}}}},"tender":{{{{"description":"', random_words(i, 24), '","id":"t', i, '","title":"',
        random_words(i + 7, 8), '","value":{{{{"amount":', i, '.50,"currency":"ZAR"}}}}}}}}}}}}')
        AS release,
    CAST(0 AS BIGINT) AS parties_withheld, 'https://example.org/r/' || i AS source_url
FROM (SELECT i, 1 AS v, DATE '2015-01-01' + CAST(i % 3650 AS INTEGER) AS available,
          NULL AS superseded FROM range({{number}}) AS numbers(i))"""
_ENTITIES = f"""
SELECT {{vintage}}, printf('DC%08d', i) AS service_id, 'Fictional ' || random_words(i, 2)
        AS legal_name,
    '["FI ' || i || '"]' AS other_names, {_COUNTRY} AS jurisdiction, {_COUNTRY} AS country,
    'company' AS entity_type, 'ACTIVE' AS status, printf('2138%016d', i) AS lei,
    'ISSUED' AS lei_status, CAST(NULL AS VARCHAR) AS same_as
FROM (SELECT i, 1 AS v, DATE '2015-01-01' AS available, NULL AS superseded
      FROM range({{number}}) AS numbers(i))"""

# What is derived: a metric of every issuer, and a panel of ten years of three countries.
_DERIVED = """
    'cc-by' AS license_class, 'https://example.org/documents/' || i AS source_ref,
    TIMESTAMPTZ '2026-01-01 06:00:00+00' AS observed_at, 'api' AS method,
    CAST(NULL AS DECIMAL(38,18)) AS extraction_confidence, md5('p' || i) AS provenance_id
"""
_METRICS = f"""
SELECT {_DERIVED}, printf('DC%08d', i // {YEARS}) AS service_id, '{METRIC}' AS metric,
    CAST((hash(i) % 1000000) / 1000000 AS VARCHAR) AS value, 'ratio' AS unit, 'ZAR' AS currency,
    'consolidated/ifrs' AS basis, 'FY' AS period_type, make_date(y, 1, 1) AS period_start,
    make_date(y, 12, 31) AS period_end, make_date(y + 1, 3, 31) AS published_at,
    make_date(y + 1, 3, 31) AS available_at, make_date(y + 1, 3, 31) AS answers_from,
    CASE WHEN i % {YEARS} < {YEARS - 1} THEN make_date(y + 2, 3, 31) END AS answers_until,
    'metrics-v1/{METRIC}' AS methodology_ref,
    '[{{{{"fact_id":"' || md5(i || '/1') || '","value":1234.50}}}}]' AS inputs
FROM (SELECT i, CAST(2014 + i % {YEARS} AS INTEGER) AS y
      FROM range({{number}} * {YEARS}) AS numbers(i))"""
_SIGNALS = f"""
SELECT {_DERIVED}, '{PANEL}' AS signal_key, {_COUNTRY} AS country, month,
    CAST(month + INTERVAL 35 DAY AS DATE) AS closed_at, 'buyer' AS dimension,
    'Department ' || (i // 360) AS dimension_value, NULL AS service_id,
    'single_bid_rate' AS measure, CAST((hash(i) % 1000) / 1000 AS DECIMAL(38,18)) AS value,
    CAST(hash(i) % 1000 AS DECIMAL(38,18)) AS numerator,
    CAST(1000 AS DECIMAL(38,18)) AS denominator,
    'share' AS unit, NULL AS currency, 20 AS n_eligible, 18 AS n_observed,
    CAST(0.9 AS DECIMAL(38,18)) AS coverage, 0 AS n_withheld, 1 AS vintage,
    CAST(month + INTERVAL 35 DAY AS DATE) AS available_at, CAST(NULL AS DATE) AS superseded_at,
    'signals-v1/{PANEL}' AS methodology_ref
FROM (SELECT i, CAST(DATE '2015-01-01' + to_months(CAST(i // 3 % 120 AS INTEGER)) AS DATE) AS month
      FROM range({{number}} * 360) AS numbers(i))"""


@dataclass(frozen=True)
class Data:
    """Where everything lies, and a key of the highest tier."""

    folder: Path
    size: Size

    @property
    def marts(self) -> Path:
        return self.folder / "marts"

    @property
    def keys(self) -> Path:
        return self.folder / "control.sqlite"

    @property
    def key(self) -> str:
        return (self.folder / "key").read_text()

    @property
    def plain(self) -> Path:
        return self.folder / "plain.db"


def at(scale: float) -> Data:
    """Return the data of a scale, created on first use in ``SANKOFA_BENCH_DATA``."""
    configured = os.environ.get("SANKOFA_BENCH_DATA")
    root = Path(configured) if configured else Path(tempfile.gettempdir(), "sankofa-bench-serve")
    data = Data(root / f"{scale}-{_code()}", Size(scale))
    if not (data.folder / "key").exists():
        _stage(data)
        publish_staged(data.folder / "stage", data.marts, VERSION)
        _export(data)
        key = create_key(KeyStore(data.keys), "professional")
        (data.folder / "key").write_text(key)
    return data


def _code() -> str:
    """Return a digest of the code that makes the data: a build of other code is made again."""
    folder = Path(publish.__file__).parent
    files = [*sorted(folder.glob("*.py")), *sorted(folder.glob("*.sql")), Path(__file__)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def _stage(data: Data) -> None:
    staged = data.folder / "stage"
    staged.mkdir(parents=True, exist_ok=True)
    rows = {
        "fundamentals": (_FUNDAMENTALS, data.size.issuers),
        "macro_series": (_MACRO, data.size.series),
        "tender_releases": (_RELEASES, data.size.releases),
        "entities": (_ENTITIES, data.size.entities),
    }
    with duckdb.connect() as sql:
        sql.execute("SET TimeZone = 'UTC'")
        sql.execute(_SAID)
        for table in RECORD_TABLES:
            path = staged / f"{table.name}.parquet"
            if table.name not in rows:
                pq.write_table(staged_schema(table.name).empty_table(), path)
                continue
            form, number = rows[table.name]
            statement = form.format(vintage=_VINTAGE, number=number)
            whole = with_every_column(sql, table.name, statement)
            sql.execute(f"COPY ({whole}) TO '{path}' (FORMAT parquet)")
        derived = {
            "metrics": _METRICS.format(number=data.size.issuers),
            "signals": _SIGNALS.format(number=data.size.buyers_of_panel),
        }
        for name, row in DERIVED.items():
            schema = arrow_schema(row)
            rows_of_table = (
                sql.sql(derived[name]).to_arrow_table().select(schema.names).cast(schema)
                if name in derived
                else schema.empty_table()
            )
            pq.write_table(rows_of_table, staged / f"{name}.parquet")


def publish_staged(staged: Path, marts: Path, data_version: str) -> None:
    """Write the build of what is staged, and make it the current one."""
    with Snapshot(staged, Record(str(staged / "record")), {}, data_version) as snapshot:
        for name in (*(table.name for table in RECORD_TABLES), *DERIVED):
            snapshot.create_view(name)
        snapshot.write(NEWEST_STATEMENTS, "SELECT * FROM fundamentals WHERE FALSE", ())
        write_mart(snapshot, marts, {"notice": "Invented for a benchmark."})
    builds_at(marts).switch(data_version)


# The members that we serve, as columns; releases in the order in which they are served.
_PLAIN = {
    "facts": """
SELECT row_id AS fact_id, service_id, line_item, statement,
    CAST(value_reported AS DOUBLE) AS value_reported, currency_reported, unit, period_type,
    CAST(period_start AS VARCHAR) AS period_start, CAST(period_end AS VARCHAR) AS period_end,
    fiscal_label, basis, accounting_standard, vintage, {provenance} FROM fundamentals
ORDER BY service_id, period_end DESC, line_item, vintage""",
    "macro": """
SELECT country, country_iso3, series, series_type, frequency,
    CAST(period_start AS VARCHAR) AS period_start, CAST(period_end AS VARCHAR) AS period_end,
    CAST(value AS DOUBLE) AS value, unit, base_period, obs_status, vintage, {provenance}
FROM macro_series ORDER BY series, period_end DESC, vintage""",
    "releases": """
SELECT row_number() OVER (ORDER BY country, released_on DESC, ocid DESC, release_id DESC)
    AS position,
    ocid, release_id, CAST(released_on AS VARCHAR) AS date, tag, country, category,
    parties_withheld, vintage, source_url, release, {provenance} FROM tender_releases
ORDER BY position""",
    "entities": """
SELECT service_id, legal_name, other_names, jurisdiction, country, entity_type, status, lei,
    lei_status, {provenance} FROM entities ORDER BY service_id""",
}
_PROVENANCE = """
    CAST(available_at AS VARCHAR) AS available_at,
    coalesce(CAST(superseded_at AS VARCHAR), '9999-12-31') AS superseded_at,
    source_ref, license_class, CAST(observed_at AS VARCHAR) AS observed_at, method,
    provenance_id"""
_INDEXES = (
    "CREATE INDEX facts_of ON facts (service_id, available_at)",
    "CREATE INDEX macro_of ON macro (series, available_at)",
    "CREATE INDEX releases_of ON releases (country, position)",
    "CREATE UNIQUE INDEX entities_of ON entities (service_id)",
    "ANALYZE",
)


def _export(data: Data) -> None:
    """Write what peers read: the same rows as a plain SQLite file."""
    data.plain.unlink(missing_ok=True)
    snapshot = data.folder / "stage"
    with duckdb.connect() as sql, dbapi.connect(str(data.plain), autocommit=True) as plain:
        sql.execute("SET TimeZone = 'UTC'")
        for name in ("fundamentals", "macro_series", "tender_releases", "entities"):
            sql.execute(f"CREATE VIEW {name} AS FROM read_parquet('{snapshot / name}.parquet')")
        with plain.cursor() as into:
            for name, form in _PLAIN.items():
                rows = sql.sql(form.format(provenance=_PROVENANCE)).to_arrow_table()
                into.adbc_ingest(name, rows, mode="create")
            for statement in _INDEXES:
                into.execute(statement)
