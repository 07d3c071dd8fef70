"""Concurrent writers: no row twice, none missing, every count right."""

import subprocess
import sys
from pathlib import Path

from tests.helpers.killed_loads import BATCHES, ROWS
from tests.helpers.paths import ROOT
from warehouse.record.store import Record

WRITERS = 3


def test_concurrent_writers_append_each_row_once(tmp_path: Path) -> None:
    script = "import sys; from tests.helpers.killed_loads import load_all; load_all(sys.argv[1])"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(WRITERS)
    ]
    for writer in writers:
        _, stderr = writer.communicate()
        assert writer.returncode == 0, stderr

    record = Record(str(tmp_path))
    rows = record.query(
        f"SELECT count(*), count(DISTINCT (sighting, content)), count(DISTINCT load_seq) "
        f"FROM {record.relation('fundamentals')}"
    )
    assert [column[0].as_py() for column in rows.columns] == [
        BATCHES * ROWS,
        BATCHES * ROWS,
        BATCHES,
    ]
    ledger = record.query(
        f"SELECT sum(appended), sum(held), sum(quarantined), count(*), "
        f"bool_and(read = appended + held + quarantined) FROM {record.relation('loads')}"
    )
    assert [column[0].as_py() for column in ledger.columns] == [
        BATCHES * ROWS,
        (WRITERS - 1) * BATCHES * ROWS,
        WRITERS * BATCHES,
        WRITERS * BATCHES,
        True,
    ]
