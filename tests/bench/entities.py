"""Who is one organisation and who a party is, beside one equi-join in DuckDB on the same keys.

1,000,000 parties of 200,000 ways of writing, 100,000 organisations with 200,000 identifiers:
40 % of the parties state a known number, 30 % have a known name, 30 % are unknown. Then the
ids of GLEIF's size: 2,900,000 LEIs, each with a register number, one in fifty a second id, and
one in a hundred of another register.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

from assets.derive.organisations import joined_tables
from tests.bench.measure import measured
from tests.helpers.organisations import derive_organisations
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    IDENTIFIERS,
    RECORD_TABLES,
    TENDER_PARTIES,
    RecordTable,
    incoming_schema,
)

ORGANISATIONS, COPIES, TIMES, LEIS = 100_000, 2, 5, 2_900_000
Work = Callable[[], object]

_SHARED = """
    DATE '2024-05-01' AS available_at, '2024-05-01' AS publication,
    TIMESTAMPTZ '2026-01-01 06:00:00+00' AS observed_at, 'bench' AS source,
    'https://bench.example/' || n AS source_ref, 'd0' AS document, 'cc0' AS license_class,
    'file' AS method, NULL AS extraction_confidence, FALSE AS withdrawn
"""
_ID = "printf('DC%010d', n)"
_NUMBER = "printf('%04d/%06d/07', 1990 + n % 30, n)"
_LEI = "printf('2138%016d', CASE WHEN n % 50 = 1 THEN n - 1 ELSE n END)"
_NAME = "printf('%s Fictional %d (Pty) Ltd', ['Ubuntu', 'Société', 'Baobab'][1 + n % 3], n)"
_ENTITY = f"""
    {_ID} AS service_id, {_NAME} AS legal_name, NULL AS other_names, 'ZA' AS jurisdiction,
    'ZA' AS country, 'company' AS entity_type, 'ACTIVE' AS status, {_LEI} AS lei,
    'ISSUED' AS lei_status, NULL AS same_as
"""


def _append(record: Record, table: RecordTable, statement: str) -> None:
    rows = record.query(statement)
    schema = incoming_schema(table)
    for column in (field for field in schema if field.name not in rows.column_names):
        absent = pa.nulls(len(rows), column.type)
        # what is not nullable and was added later is a flag that is down
        absent = absent if column.nullable else absent.fill_null(False)
        rows = rows.append_column(column.name, absent)
    append(record, table, rows.select(schema.names).cast(schema), Load("bench", (table.name,)))


def fill(folder: Path) -> None:
    """Load the organisations and the parties."""
    record = Record(str(folder))
    many = f"FROM (SELECT range AS n FROM range({ORGANISATIONS}))"
    _append(record, ENTITIES, f"SELECT {_SHARED}, {_ENTITY} {many}")
    for kind, value, issuer in (("lei", _LEI, "NULL"), ("registry", _NUMBER, "'RA000531'")):
        named = f"{_ID} AS service_id, '{kind}' AS id_type, {value} AS id_value"
        issued = f"{issuer} AS issuer, NULL AS status"
        _append(record, IDENTIFIERS, f"SELECT {_SHARED}, {named}, {issued} {many}")
    stated, unknown = "(n % 10 < 4 OR n % 10 > 6)", "n % 10 > 6"
    parties = f"""
        SELECT {_SHARED}, printf('ocds-%d-%d-%d', n, copy, time) AS ocid, 'r1' AS release_id,
            'ZA' AS country, printf('p%d-%d', n, copy) AS party_key, 'supplier' AS role,
            upper(CASE WHEN {unknown} THEN 'Unknown ' ELSE '' END || {_NAME}) AS name,
            CASE WHEN {stated} THEN 'ZA-CIP' END AS identifier_scheme,
            CASE WHEN {unknown} THEN {_NUMBER} || '9' WHEN {stated} THEN {_NUMBER} END
                AS identifier_id,
            'legal_form:ltd' AS org_evidence, DATE '2024-05-01' AS released_on
        FROM range({ORGANISATIONS}) AS one(n), range({COPIES}) AS two(copy),
            range({TIMES}) AS three(time)
    """
    _append(record, TENDER_PARTIES, parties)


def fill_leis(folder: Path) -> None:
    """Write the ids of GLEIF's size as two files."""
    sql = duckdb.connect()
    many = f"FROM (SELECT range AS n FROM range({LEIS}))"
    sql.execute(f"COPY (SELECT {_ENTITY} {many}) TO '{folder}/entities.parquet'")
    lei = f"SELECT {_ID} AS service_id, 'lei' AS id_type, {_LEI} AS id_value, NULL AS issuer {many}"
    number = f"SELECT {_ID}, 'registry', {_NUMBER} || n, 'RA000531' {many}"
    sql.execute(f"COPY ({lei} UNION ALL {number}) TO '{folder}/identifiers.parquet'")


def sankofa(folder: str) -> Work:
    """Derive as a publication does, from what is staged."""
    record = Record(folder)
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    snapshot = Snapshot(Path(folder, "stage"), record, loads, "20260101.1")
    snapshot.copy_record()

    def work() -> str:
        made = derive_organisations(snapshot)
        matches = made["party_matches"]
        resolved = len(matches) - matches["service_id"].null_count
        return f"{resolved:,} of {len(matches):,} resolved, {len(made['same_as']):,} point"

    return work


def equi_join(folder: str) -> Work:
    """Less than the answer: distinct parties joined on number, else on name, as written."""
    record = Record(folder)
    parties, identifiers, entities = (
        record.relation(name) for name in ("tender_parties", "identifiers", "entities")
    )
    statement = f"""
        WITH parties_to_match AS (
            SELECT DISTINCT source, country, party_key, name, identifier_scheme, identifier_id
            FROM {parties}
        )
        SELECT parties_to_match.*, coalesce(numbered.service_id, named.service_id) AS service_id
        FROM parties_to_match
        LEFT JOIN {identifiers} AS numbered
          ON numbered.id_value = identifier_id AND numbered.id_type = 'registry'
        LEFT JOIN {entities} AS named ON upper(named.legal_name) = parties_to_match.name
    """
    record.query("SELECT 1")
    return lambda: f"{len(record.query(statement)):,} rows"


def leis(folder: str) -> Work:
    """Find which of GLEIF's ids are one."""
    sql = duckdb.connect(config={"preserve_insertion_order": False})
    more = """TRUE AS is_current, NULL::DATE AS known_from, NULL::DATE AS known_until,
        CASE WHEN service_id[-2:] = '01' THEN 'sec-submissions' ELSE 'gleif' END AS source"""
    absent = {
        "identifiers": "NULL::VARCHAR AS status, NULL::VARCHAR AS figi_level, "
        "NULL::DATE AS valid_from, NULL::DATE AS valid_to",
        "entities": "NULL::VARCHAR AS trading_names",
    }
    for name, columns in absent.items():
        statement = f"SELECT *, {more}, {columns} FROM '{folder}/{name}.parquet'"
        sql.execute(f"CREATE VIEW {name} AS {statement}")
    return lambda: f"{joined_tables(sql)['same_as'].num_rows:,} point"


def grouped(folder: str) -> Work:
    """Less than the answer: the identifiers that several ids bear, as written."""
    sql = duckdb.connect(config={"preserve_insertion_order": False})
    statement = f"""
        SELECT id_type, issuer, id_value FROM '{folder}/identifiers.parquet'
        GROUP BY ALL HAVING count(DISTINCT service_id) > 1
    """
    return lambda: f"{len(sql.sql(statement).to_arrow_table()):,} shared"


def report() -> None:
    """Print what each way took."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fill(folder)
        fill_leis(folder)
        for way in ("sankofa", "equi_join", "leis", "grouped"):
            cost = measured("tests.bench.entities", way, temporary)
            print(f"  {way:10} {cost.seconds:7.3f} s  {cost.peak_mb:5} MB  ({cost.output})")
    print("  goal for sankofa: under 10 s and under 1,024 MB")


if __name__ == "__main__":
    report()
