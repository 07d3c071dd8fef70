"""What an installation has of a source is counted in the tables of that source."""

from pathlib import Path

import pyarrow as pa
import pytest

from assets.ingest.sources import SOURCES
from pipelines.sources import source_statuses
from tests.helpers.record_rows import FIRST, load, party_row, series_row
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES, TENDER_PARTIES
from warehouse.shared.settings import read_settings


def test_one_source_is_counted_without_reading_tables_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = read_settings({"SANKOFA_HOME": str(tmp_path / "home")})
    record = Record(home.record)
    load(record, MACRO_SERIES, series_row("1", FIRST, source="ecb"))
    load(record, TENDER_PARTIES, party_row(source="za-etenders"))
    assert {row.source: row.rows for row in source_statuses(home, SOURCES) if row.rows} == {
        "ecb": 1,
        "za-etenders": 1,
    }
    queries: list[str] = []
    query = Record.query

    def noted(record: Record, statement: str) -> pa.Table:
        queries.append(statement)
        return query(record, statement)

    monkeypatch.setattr(Record, "query", noted)
    [row] = source_statuses(home, [source for source in SOURCES if source.key == "ecb"])
    assert row.rows == 1
    assert queries and not any("/tender_parties/" in text for text in queries)
