"""SQL in files: named statements, fragments that must fit, values only as parameters."""

import re
from pathlib import Path

import duckdb
import pytest

from warehouse.shared.code_version import PACKAGES, ROOT
from warehouse.shared.data_files import SqlFile, code_of

FILES = [path for package in PACKAGES for path in (ROOT / package).rglob("sql/*.sql")]
RATES = SqlFile(
    {
        "rates": "CREATE TEMP TABLE rates AS SELECT {{ columns }} FROM months WHERE month < $last",
        "count_rates": "SELECT count(*) FILTER (note = ';') FROM rates",
    },
    {"columns": "month, note"},
    {"last": 3, "other": 1},
)


def test_statements_run_by_name_with_the_parameters_they_name() -> None:
    with duckdb.connect() as sql:
        sql.execute("CREATE TABLE months AS SELECT i AS month, ';' AS note FROM range(9) AS t(i)")
        RATES.run(sql, "rates")
        assert RATES.run(sql, "count_rates").fetchall() == [(3,)]
        sql.execute("DROP TABLE rates")
        RATES.run(sql, "rates", last=5)
        assert RATES.run(sql, "count_rates").fetchall() == [(5,)]


def test_every_placeholder_is_filled() -> None:
    with pytest.raises(KeyError, match="columns"):
        SqlFile(RATES.texts).statement("rates")
    assert "SELECT a FROM" in RATES.statement("rates", columns="a")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_says_what_it_promises_and_has_each_statement_once(path: Path) -> None:
    header, *parts = re.split(r"^-- name: (\w+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    assert "\n-- Inputs: " in header and "\n-- Outputs: " in header and not code_of(header)
    names, bodies = parts[::2], parts[1::2]
    assert names and len({*names}) == len(names)
    for body in bodies:
        # Exactly one semicolon, at the end: what follows would be dropped or run unseen.
        code = re.sub(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""", "", code_of(body))
        assert body.rstrip().endswith(";") and code.count(";") == 1


def test_comments_and_layout_are_no_code() -> None:
    assert code_of("-- a\nSELECT  '-- b  c' -- d\n  FROM \"e  f\";") == (
        "SELECT '-- b  c' FROM \"e  f\";"
    )
