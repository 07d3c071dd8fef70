"""Writers at once, killed, and with compactions and indexes: no row twice, none lost."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from tests.helpers.evolution import opened, wider_table
from tests.helpers.facts import fact, facts
from tests.helpers.killed_loads import BATCHES, ROWS, load_all
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from warehouse.record import ledger
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.record.upkeep import keep_up
from warehouse.shared.errors import SankofaError

WRITERS = ("revenue", "profit")
# Does what it is told, line by line: a stage and the folder of a record.
WRITER = """
import sys
from tests.helpers.evolution import opened, wider_table
from tests.helpers.facts import fact, facts
from tests.helpers.killed_loads import load_all
from tests.helpers.record_rows import load
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

item = sys.argv[1]

def load_many(folder):
    record = Record(folder)
    for number in range(40):
        rows = facts(fact(str(number), item=item, year=1950 + number))
        append(record, FUNDAMENTALS, rows, Load("test", (f"{item}{number}",)))

def add_and_load(folder):
    table = wider_table(FUNDAMENTALS, note=str | None)
    record = opened(Record(folder), table)
    for number in range(6):
        load(record, table, fact("1", item=item, year=1950 + number, note=item))

for line in sys.stdin:
    stage, folder = line.split()
    {"load_many": load_many, "add_and_load": add_and_load, "load_all": load_all}[stage](folder)
    print(stage, flush=True)
"""


@dataclass(frozen=True)
class Writers:
    """Processes that write at once."""

    processes: list["subprocess.Popen[str]"]
    threads: ThreadPoolExecutor

    def begin(self, stage: str, folder: Path) -> list["Future[str]"]:
        """Let all of them do a stage; return what each will print."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{stage} {folder}\n")
            process.stdin.flush()
        return [self.threads.submit(self._done, process) for process in self.processes]

    def run(self, stage: str, folder: Path) -> None:
        """Let all of them do a stage, to its end."""
        for done in self.begin(stage, folder):
            assert done.result() == stage

    @staticmethod
    def _done(process: "subprocess.Popen[str]") -> str:
        assert process.stdout is not None
        # Nothing is printed by one that failed; its traceback is in the output of the test.
        return process.stdout.readline().strip()


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", WRITER, item],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for item in WRITERS
        ]
        yield Writers(processes, stack.enter_context(ThreadPoolExecutor(len(processes))))
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(60) == 0


def counts(record: Record) -> list[object]:
    statement = f"""
        SELECT (SELECT count(*) FROM {record.relation("fundamentals")}),
            (SELECT count(DISTINCT (sighting, content)) FROM {record.relation("fundamentals")}),
            (SELECT count(*) FROM {record.relation("loads")}),
            (SELECT count(DISTINCT load_seq) FROM {record.relation("loads")}),
            (SELECT sum(appended) FROM {record.relation("loads")})
    """
    return [int(column[0].as_py()) for column in record.query(statement).columns]


def test_writers_and_compactions_at_once_duplicate_nothing(
    writers: Writers, tmp_path: Path
) -> None:
    record = Record(str(tmp_path))
    compactions = 0
    stages = writers.begin("load_many", tmp_path)
    while not all(stage.done() for stage in stages):
        compactions += len(list(keep_up(record, 1, max_small_files=4)))
        time.sleep(0.05)
    assert [stage.result() for stage in stages] == ["load_many"] * 2
    assert compactions
    assert counts(record) == [80, 80, 80, 80, 80]
    assert len(record.files("fundamentals")) < 80


def test_threads_that_share_a_record_duplicate_nothing(record: Record) -> None:
    def load(number: int) -> int:
        rows = facts(*(fact("1", year=1950 + year) for year in range(number % 4, 20)))
        return append(record, FUNDAMENTALS, rows, Load("test", (f"{number}",))).appended

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(load, range(8))) == 20
    rows = record.query(f"SELECT count(*) AS n FROM {record.relation('fundamentals')}")
    assert rows["n"].to_pylist() == [20]


def test_a_committed_load_without_a_ledger_entry_is_entered_by_the_next_writer(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(ledger, "write_missing_entries", lambda *_: None)
        for number in range(3):
            rows = facts(fact("1", year=1950 + number))
            append(record, FUNDAMENTALS, rows, Load("test", (f"{number}",)))
    assert len(record.query(f"SELECT * FROM {record.relation('loads')}")) == 0
    entry = append(
        Record(record.root), FUNDAMENTALS, facts(fact("1", year=1950)), Load("t", ("x",))
    )
    assert entry.appended == 0
    append(Record(record.root), FUNDAMENTALS, facts(fact("1", year=1960)), Load("t", ("y",)))
    entries = record.query(f"SELECT load_seq, appended FROM {record.relation('loads')}")
    assert sorted(zip(*(column.to_pylist() for column in entries.columns), strict=True)) == [
        (1, 1),
        (2, 1),
        (3, 0),
        (3, 1),
        (4, 1),
    ]


@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
def test_a_missing_or_damaged_index_is_written_again(record: Record, damage: str) -> None:
    rows = facts(*(fact("1", year=1950 + year) for year in range(20)))
    append(record, FUNDAMENTALS, rows, Load("test", ("d",)))
    for path in record.index_folder("fundamentals").glob("*.marks"):
        content = path.read_bytes()
        path.unlink()
        if damage != "missing":
            path.write_bytes(content[: len(content) // 2] if damage == "cut" else b"")
    entry = append(record, FUNDAMENTALS, rows, Load("test", ("d",)))
    assert (entry.appended, entry.held) == (0, 20)


@pytest.mark.parametrize("name", ["with space", "it's", "über", "all*"])
def test_a_record_works_in_any_ordinary_folder(tmp_path: Path, name: str) -> None:
    record = Record(str(tmp_path / name))
    append(record, FUNDAMENTALS, facts(fact("1")), Load("test", ("d",)))
    statement = vintages_query(
        FUNDAMENTALS, record.relation("fundamentals"), as_of=date(2020, 1, 1)
    )
    assert len(record.query(statement)) == 1
    assert append(record, FUNDAMENTALS, facts(fact("1")), Load("test", ("d",))).held == 1


@pytest.mark.parametrize("name", ["a[1]", "100%", "back\\slash", "a#b", "what?"])
def test_an_unusable_folder_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    with pytest.raises(SankofaError, match="the path of a record cannot contain"):
        Record(str(tmp_path / name))


def test_processes_that_add_a_column_at_once_lose_nothing(writers: Writers, tmp_path: Path) -> None:
    record = Record(str(tmp_path))
    append(record, FUNDAMENTALS, facts(fact("1")), Load("test", ("d",)))
    writers.run("add_and_load", tmp_path)
    table = wider_table(FUNDAMENTALS, note=str | None)
    newer = opened(record, table)
    notes = newer.query(
        f"SELECT note, count(*) AS n FROM {newer.relation('fundamentals')} GROUP BY 1"
    )
    assert sorted((row["note"] or "", row["n"]) for row in notes.to_pylist()) == [
        ("", 1),
        ("profit", 6),
        ("revenue", 6),
    ]
    assert counts(newer) == [13, 13, 13, 13, 13]
    operations = [commit["operation"] for commit in newer.table("fundamentals").history()]
    assert operations.count("ADD COLUMN") == 1


# Writers of the same rows


def test_concurrent_writers_append_each_row_once(writers: Writers, tmp_path: Path) -> None:
    writers.run("load_all", tmp_path)
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
        (len(WRITERS) - 1) * BATCHES * ROWS,
        len(WRITERS) * BATCHES,
        len(WRITERS) * BATCHES,
        True,
    ]


# A load killed at any point and run again


def rows(record: Record) -> list[dict[str, object]]:
    statement = vintages_query(
        FUNDAMENTALS,
        record.relation("fundamentals"),
        vintages="all",
        columns=["line_item", "value_reported", "available_at", "publication", "source_ref"],
    )
    return sorted(record.query(statement).to_pylist(), key=str)


@pytest.mark.nightly
def test_a_load_killed_at_many_points_ends_in_the_same_rows(tmp_path: Path) -> None:
    killed, whole = Record(str(tmp_path / "killed")), Record(str(tmp_path / "whole"))
    longer = "0" if is_nightly() else "0.6"
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
