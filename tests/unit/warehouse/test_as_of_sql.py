"""The one definition of as_of is SQL that DuckDB and Spark both take."""

import shutil
from datetime import UTC, date, datetime
from typing import get_args

import pytest
import sqlglot

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.as_of import Vintages, vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES, RecordTable

MODES: tuple[Vintages, ...] = get_args(Vintages)


@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("vintages", MODES)
def test_the_statement_means_the_same_in_duckdb_and_in_spark(
    table: RecordTable, vintages: Vintages
) -> None:
    statement = vintages_query(
        table, "held", as_of=date(2020, 1, 31), vintages=vintages, load_seq=7
    )
    meant_by_duckdb = sqlglot.parse_one(statement, read="duckdb").sql("spark")
    meant_by_spark = sqlglot.parse_one(statement, read="spark").sql("spark")
    assert meant_by_duckdb == meant_by_spark


def test_spark_answers_as_duckdb_does(record: Record) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="left out: pyspark is missing (extra: spark)")
    if shutil.which("java") is None:
        pytest.skip("left out: Spark needs Java")
    for number, value in enumerate(["1", "2", "2", None, "1"]):
        published = date(2020, 1, 1 + number)
        row = fact(value, available_at=published, publication=f"p{number}")
        append(record, FUNDAMENTALS, facts(row), Load("test", (f"d{number}",)))
    later = fact("9", observed_at=datetime(2026, 5, 1, tzinfo=UTC), publication="p0", document="e")
    append(record, FUNDAMENTALS, facts(later), Load("test", ("e",)))
    spark = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    try:
        files = record.table("fundamentals").file_uris()
        spark.read.parquet(*files).createOrReplaceTempView("held")
        columns = ["line_item", "value_reported", "available_at"]
        for as_of in (None, date(2020, 1, 3)):
            for vintages in MODES:
                ours, theirs = (
                    vintages_query(
                        FUNDAMENTALS, where, as_of=as_of, vintages=vintages, columns=columns
                    )
                    for where in (record.relation("fundamentals"), "held")
                )
                answered = [tuple(row) for row in spark.sql(theirs).collect()]
                expected = [tuple(row.values()) for row in record.query(ours).to_pylist()]
                assert sorted(answered, key=str) == sorted(expected, key=str)
                assert answered
    finally:
        spark.stop()
