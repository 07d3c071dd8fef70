"""Dagster keeps metadata for ever: it repeats no value of a table that may name people."""

from pathlib import Path

import pytest

from assets.ingest.metadata import load_metadata
from tests.helpers.monthly_portal import SOURCE
from tests.helpers.record_rows import party_row, series_row
from warehouse.record.append import Load, append
from warehouse.record.incoming import RejectedRow, to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES, TENDER_PARTIES, RecordTable

SECRET = "Nomsa Fictional Dlamini"
HIDDEN = {"| 2 | country |", "| 2 | see `sankofa quarantine list` |"}


@pytest.mark.parametrize(("table", "hidden"), [(TENDER_PARTIES, True), (MACRO_SERIES, False)])
def test_reasons_quote_values_of_tables_without_people_only(
    tmp_path: Path, table: RecordTable, hidden: bool
) -> None:
    record = Record(str(tmp_path))
    row = party_row() if table is TENDER_PARTIES else series_row("1", party_row()["available_at"])
    faulty = [{**row, "country": SECRET}, {**row, "country": f"{SECRET} 2"}]
    rows, _ = to_arrow(table, faulty)
    # The first word of the second could be a column, and is a value.
    reasons = (f"{SECRET} is no organisation", "dlamini: not known")
    rejected = [RejectedRow("d1", f"d1#/{number}", why) for number, why in enumerate(reasons)]
    entry = append(record, table, rows, Load("test", ("d1",)), rejected=rejected)
    assert entry.quarantined == 4
    metadata = load_metadata(record, SOURCE, table, [entry])
    why = metadata["why quarantined"].value
    assert ("dlamini" in why.lower()) != hidden
    assert (set(why.splitlines()[2:]) == HIDDEN) == hidden
