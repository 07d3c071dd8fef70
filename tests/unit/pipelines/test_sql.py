"""SQL by hand: files are printed ready to run, after those that make what they read."""

from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click import UsageError
from click.testing import CliRunner

from pipelines.sql import literal, main, printed, views, with_inputs


def test_a_file_is_printed_after_those_that_make_what_it_reads() -> None:
    ordered = with_inputs(["signals/demand"], {"tender_releases", "tender_parties"})
    assert ordered[-1] == "signals/demand"
    assert ordered.index("signals/calendar") < ordered.index("signals/process_states")
    assert with_inputs(["signals/calendar"], {"tender_releases"}) == ["signals/calendar"]


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
