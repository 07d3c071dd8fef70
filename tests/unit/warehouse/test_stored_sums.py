"""Sums by data file: what they add up to, and which files are read for them."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.helpers.facts import fact, facts
from warehouse.publish.partitions import Partitions
from warehouse.publish.stored_sums import StoredSums
from warehouse.record.append import Load, append
from warehouse.record.integrity import note_files
from warehouse.record.row_index import SUMS
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.record.upkeep import compact
from warehouse.shared.errors import DamagedRecord

pytestmark = pytest.mark.slow
ISSUERS = ("DCA1", "DCB2", "DCC3")


def load(record: Record, year: int, *issuers: str) -> None:
    rows = facts(*(fact("1", year=year, issuer=issuer) for issuer in issuers))
    append(record, FUNDAMENTALS, rows, Load("test", (str(year),)))
    note_files(record)


@pytest.fixture
def sql(record: Record) -> Iterator[duckdb.DuckDBPyConnection]:
    for number, issuer in enumerate(ISSUERS):
        load(record, 2000 + number, issuer)
    with closing(record.connection.cursor()) as cursor:
        yield cursor


def sums(record: Record, sql: duckdb.DuckDBPyConnection) -> StoredSums:
    return StoredSums(sql, record, FUNDAMENTALS, ("service_id",))


def totals(record: Record, sql: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    columns = "service_id, sum(rows), sum(total)"
    relation = sums(record, sql).relation
    return sql.execute(f"SELECT {columns} FROM {relation} GROUP BY ALL ORDER BY ALL").fetchall()


def test_sums_stay_when_files_are_merged_and_differ_when_a_row_is_added(
    record: Record, sql: duckdb.DuckDBPyConnection
) -> None:
    before = totals(record, sql)
    assert [row[:2] for row in before] == [(issuer, 1) for issuer in ISSUERS]
    assert compact(record, "fundamentals", max_small_files=1)
    assert totals(record, sql) == before
    load(record, 2010, "DCB2")
    after = totals(record, sql)
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1][1] == 2 and after[1][2] != before[1][2]


def test_a_file_is_read_for_its_sums_once(record: Record, sql: duckdb.DuckDBPyConnection) -> None:
    before = totals(record, sql)
    for file in record.files("fundamentals"):
        Path(file.path).rename(f"{file.path}.away")
    assert totals(record, sql) == before


def test_sums_that_are_damaged_or_deleted_are_made_again(
    record: Record, sql: duckdb.DuckDBPyConnection
) -> None:
    before = totals(record, sql)
    (kept,) = record.index_folder("fundamentals").glob(f"*{SUMS}")
    body = kept.read_bytes()
    kept.write_bytes(body[:100] + bytes([body[100] ^ 1]) + body[101:])
    assert totals(record, sql) == before
    (made_again,) = record.index_folder("fundamentals").glob(f"*{SUMS}")
    made_again.unlink()
    assert totals(record, sql) == before


def test_only_the_files_that_have_rows_of_a_partition_are_read_for_it(
    record: Record, sql: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    same_as = tmp_path / "same_as.parquet"
    empty = "SELECT '' AS service_id, '' AS same_as, '' AS match_method LIMIT 0"
    sql.execute(f"COPY ({empty}) TO '{same_as}' (FORMAT parquet)")
    loads = {"fundamentals": record.load_seq(FUNDAMENTALS)}
    partitions = Partitions(sql, record, loads, tmp_path / "stored", same_as, 16)
    split = partitions.stored(FUNDAMENTALS)
    assert sorted(split.rows.values()) == [1, 1, 1]
    # The figures of 2001 are those of one organisation, and its file is damaged.
    (damaged,) = (file for file in record.files("fundamentals") if "2001" in _years(sql, file.path))
    body = Path(damaged.path).read_bytes()
    Path(damaged.path).write_bytes(body[:-20] + bytes([body[-20] ^ 1]) + body[-19:])
    (needed,) = (name for name in split.rows if name in _bucket(sql, "DCB2"))
    split.write(split.rows.keys() - {needed})
    with pytest.raises(DamagedRecord, match="fundamentals"):
        split.write([needed])


def _years(sql: duckdb.DuckDBPyConnection, path: str) -> str:
    return str(sql.execute(f"SELECT period_end FROM read_parquet('{path}')").fetchall())


def _bucket(sql: duckdb.DuckDBPyConnection, issuer: str) -> list[str]:
    rows = sql.execute(
        "SELECT partition FROM partition_of_fundamentals WHERE service_id = ?", [issuer]
    )
    return [partition for (partition,) in rows.fetchall()]
