"""SQL by hand: every file is printed ready to run, and DuckDB accepts every statement."""

from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click import UsageError
from click.testing import CliRunner

from pipelines.sql import literal, main, printed, sql_paths, views


@pytest.mark.parametrize("name", sql_paths())
def test_every_sql_file_is_read_and_each_statement_is_one_of_duckdb(name: str) -> None:
    text = printed(name)
    assert len(duckdb.extract_statements(text)) == text.count("-- name: ")


def test_views_over_a_kept_snapshot_run_with_the_statements(tmp_path: Path) -> None:
    columns = {
        "country": ["KE", "KE"],
        "source": ["a", "b"],
        "available_at": [date(2024, 1, 9), date(2024, 3, 1)],
        "released_on": [date(2024, 1, 9), None],
        "observed_at": [date(2024, 5, 1)] * 2,
        "license_class": ["public-domain"] * 2,
        "method": ["api"] * 2,
        "extraction_confidence": pa.array([None, None], pa.decimal128(38, 18)),
        "withdrawn": [False, False],
    }
    pq.write_table(pa.table(columns), tmp_path / "tender_releases.parquet")
    with duckdb.connect() as sql:
        sql.execute(views(tmp_path))
        sql.execute(printed("signals/calendar"))
        assert sql.sql("SELECT country, closing_count FROM countries").fetchall() == [("KE", 3)]


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no SQL file signals/nothing; there are .*calendar"):
        printed("signals/nothing")
    with pytest.raises(UsageError, match="has no Parquet file"):
        views(tmp_path)
    listed = CliRunner().invoke(main, [])
    assert "signals/concentration" in listed.output.splitlines()


def test_parameters_are_written_as_sql() -> None:
    values = [None, True, 3, "it's", date(2024, 2, 1), [1, 2], {"a": 1}]
    as_map = literal({"key": ["KE"], "value": [5]})
    with duckdb.connect() as sql:
        for value in values:
            assert sql.execute(f"SELECT {literal(value)}").fetchall() == [(value,)]
        assert sql.execute(f"SELECT {as_map}['KE']").fetchall() == [(5,)]
