"""The one definition of as_of is SQL that DuckDB and Spark both run."""

from datetime import date
from typing import get_args

import pytest
import sqlglot

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.as_of import Vintages, statements_query, vintages_query
from warehouse.record.retractions import Rereading
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES, RecordTable

MODES: tuple[Vintages, ...] = get_args(Vintages)


@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("vintages", MODES)
def test_the_statement_means_the_same_in_duckdb_and_in_spark(
    table: RecordTable, vintages: Vintages
) -> None:
    statement = vintages_query(
        table, "sightings", as_of=date(2020, 1, 31), vintages=vintages, load_seq=7
    )
    assert_same_in_both(statement)


def test_the_statement_for_statements_means_the_same_too() -> None:
    assert_same_in_both(statements_query(FUNDAMENTALS, "sightings", load_seq=7))


def assert_same_in_both(statement: str) -> None:
    parsed_as_duckdb = sqlglot.parse_one(statement, read="duckdb").sql("spark")
    parsed_as_spark = sqlglot.parse_one(statement, read="spark").sql("spark")
    assert parsed_as_duckdb == parsed_as_spark


def test_statements_repeat_what_vintages_do_not(record: Record) -> None:
    days = [date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)]
    for number, (day, value) in enumerate(zip(days, ("1", "1", "2"), strict=True)):
        row = fact(value, available_at=day, publication=f"p{number}")
        append(record, FUNDAMENTALS, facts(row), Load("test", (f"d{number}",)))
    corrected = fact("3", available_at=days[2], publication="p2")
    append(record, FUNDAMENTALS, facts(corrected), Load("test", ("d2",)), reread=Rereading([]))
    relation, columns = record.relation("fundamentals"), ["publication", "value_reported"]

    statements = record.query(statements_query(FUNDAMENTALS, relation, columns=columns))
    before = record.query(statements_query(FUNDAMENTALS, relation, columns=columns, load_seq=2))
    vintages = record.query(vintages_query(FUNDAMENTALS, relation, vintages="all", columns=columns))

    assert sorted(statements.to_pydict()["publication"]) == ["p0", "p1", "p2"]
    assert sorted(map(int, statements.to_pydict()["value_reported"])) == [1, 1, 3]
    assert sorted(before.to_pydict()["publication"]) == ["p0", "p1"]
    assert sorted(vintages.to_pydict()["publication"]) == ["p0", "p2"]
