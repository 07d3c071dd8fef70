"""SQL in files: named statements, fragments that must fit, values only as parameters."""

import re

import duckdb
import pytest

from warehouse.shared.data_files import (
    BadSqlFile,
    SqlFile,
    code_of,
    parse_sql_file,
    sql_file,
)

HEADER = "-- Rates of a month.\n--\n-- Inputs: months\n-- Outputs: rates\n\n"
TWO = f"""{HEADER}-- name: rates
-- {{{{ columns }}}} are those of the row class.
CREATE TEMP TABLE rates AS SELECT {{{{ columns }}}} FROM months WHERE month < $last; -- the end

-- name: count_rates
SELECT count(*) FILTER (note = ';') FROM rates;
"""


def parsed(text: str, **fragments: str) -> SqlFile:
    return SqlFile("a.sql", parse_sql_file("a.sql", text), fragments)


def test_statements_run_by_name_with_the_parameters_they_name() -> None:
    read = parse_sql_file("a.sql", TWO.replace("; -- the end", ";"))
    rates = SqlFile("a.sql", read, {"columns": "month, note"}, {"last": 3, "other": 1})
    with duckdb.connect() as sql:
        sql.execute("CREATE TABLE months AS SELECT i AS month, ';' AS note FROM range(9) AS t(i)")
        rates.run(sql, "rates")
        assert rates.run(sql, "count_rates").fetchall() == [(3,)]
        sql.execute("DROP TABLE rates")
        rates.run(sql, "rates", last=5)
        assert rates.run(sql, "count_rates").fetchall() == [(5,)]
        with pytest.raises(BadSqlFile, match=r"count_rates has no \$first"):
            rates.run(sql, "count_rates", first=1)
        with pytest.raises(BadSqlFile, match=r"no value for \$last"):
            parsed(TWO.replace("; -- the end", ";"), columns="month").run(sql, "rates")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TWO, "rates is not one statement that ends with a semicolon"),
        (f"{HEADER}-- name: a\nSELECT 1; SELECT 2;", "a is not one statement"),
        (f"{HEADER}-- name: a\nSELECT 1", "a is not one statement"),
        (f"{HEADER}-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;", "two statements are called a"),
        (f"{HEADER}SELECT 1;\n-- name: a\nSELECT 2;", "stands before the first line"),
        (HEADER, "no line '-- name: …' begins"),
        ("-- A.\n--\n-- Inputs: a\n\n-- name: a\nSELECT 1;", "no line '-- Outputs: …'"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadSqlFile, match=f"a.sql: .*{re.escape(why)}"):
        parse_sql_file("a.sql", text)


def test_every_placeholder_is_filled_and_every_fragment_used() -> None:
    text = TWO.replace("; -- the end", ";")
    with pytest.raises(BadSqlFile, match=r"nothing fills {{ columns }} of rates"):
        parsed(text).statement("rates")
    with pytest.raises(BadSqlFile, match=r"count_rates has no {{ columns }}"):
        parsed(text).statement("count_rates", columns="a")
    with pytest.raises(BadSqlFile, match="no statement sums; it has rates, count_rates"):
        parsed(text).statement("sums")
    assert "SELECT a FROM" in parsed(text).statement("rates", columns="a")
    with pytest.raises(BadSqlFile, match="does not exist"):
        sql_file("warehouse.shared.data_files", "nothing_of_this_name")


def test_comments_and_layout_are_no_code() -> None:
    assert code_of("-- a\nSELECT  '-- b  c' -- d\n  FROM \"e  f\";") == (
        "SELECT '-- b  c' FROM \"e  f\";"
    )
