"""A load killed at any point and run again ends in the same rows."""

import subprocess
import sys
from pathlib import Path

from tests.helpers.killed_loads import BATCHES, ROWS, load_all
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS


def rows(record: Record) -> list[dict[str, object]]:
    statement = vintages_query(
        FUNDAMENTALS,
        record.relation("fundamentals"),
        vintages="all",
        columns=["line_item", "value_reported", "available_at", "publication", "source_ref"],
    )
    return sorted(record.query(statement).to_pylist(), key=str)


def test_a_load_killed_at_many_points_ends_in_the_same_rows(tmp_path: Path) -> None:
    killed, whole = Record(str(tmp_path / "killed")), Record(str(tmp_path / "whole"))
    longer = "0" if is_nightly() else "0.25"
    process = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed_loads", killed.root, longer],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    load_all(whole.root)

    assert int(process.stdout) >= 5, "the load was never killed midway"
    assert rows(killed) == rows(whole)
    assert len(rows(killed)) == BATCHES * ROWS

    ledger = killed.query(
        f"SELECT sum(appended), bool_and(read = appended + held + quarantined), "
        f"count(DISTINCT load_seq) FILTER (appended > 0), count(*) FILTER (appended > 0) "
        f"FROM {killed.relation('loads')}"
    )
    assert [column[0].as_py() for column in ledger.columns] == [
        BATCHES * ROWS,
        True,
        BATCHES,
        BATCHES,
    ]
    quarantined = killed.query(f"SELECT quarantine_id FROM {killed.relation('quarantine')}")
    ids = quarantined["quarantine_id"].to_pylist()
    assert len(ids) == len(set(ids)) == BATCHES
