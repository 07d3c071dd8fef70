"""The one definition of as_of is SQL that DuckDB and Spark both take."""

from datetime import date
from typing import get_args

import pytest
import sqlglot

from warehouse.record.as_of import Vintages, known
from warehouse.record.tables import RECORD_TABLES, RecordTable

MODES: tuple[Vintages, ...] = get_args(Vintages)


@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("vintages", MODES)
def test_the_statement_means_the_same_in_duckdb_and_in_spark(
    table: RecordTable, vintages: Vintages
) -> None:
    statement = known(table, "held", as_of=date(2020, 1, 31), vintages=vintages, load_seq=7)
    meant_by_duckdb = sqlglot.parse_one(statement, read="duckdb").sql("spark")
    meant_by_spark = sqlglot.parse_one(statement, read="spark").sql("spark")
    assert meant_by_duckdb == meant_by_spark


def test_spark_answers_as_duckdb_does() -> None:
    pytest.importorskip("pyspark", reason="left out: pyspark is not installed (extra: spark)")
