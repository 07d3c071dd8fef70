"""Merging and deleting files: no row twice, none lost, nothing deleted that somebody needs."""

import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.helpers.facts import fact, facts
from warehouse.record import upkeep
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.store import DataFile, Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.record.upkeep import compact, vacuum
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.shared.errors import WriteConflict
from warehouse.shared.file_store import FileStore

pytestmark = pytest.mark.slow

LOADS = 6


def rows(record: Record) -> int:
    counted = record.query(f"SELECT count(*) AS n FROM {record.relation('fundamentals')}")
    return int(counted["n"][0].as_py())


def load(record: Record, *years: int) -> None:
    for year in years:
        append(record, FUNDAMENTALS, facts(fact("1", year=year)), Load("test", (str(year),)))


@pytest.fixture
def filled(record: Record) -> Record:
    load(record, *range(2000, 2000 + LOADS))
    return record


def test_two_compactions_of_one_version_do_not_double_a_row(
    filled: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta's own compaction doubles every row here."""
    other = Record(filled.root)
    write = upkeep._write

    def write_after_the_other(record: Record, *others: object) -> DataFile:
        monkeypatch.setattr(upkeep, "_write", write)
        assert compact(other, "fundamentals", max_small_files=1)
        return write(record, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(upkeep, "_write", write_after_the_other)
    with pytest.raises(WriteConflict, match="replaced by somebody else"):
        compact(filled, "fundamentals", max_small_files=1)
    assert (rows(filled), len(filled.files("fundamentals"))) == (LOADS, 1)
    # What the second one wrote is no part of the table.
    assert vacuum(filled, "fundamentals", 0) == f"{LOADS + 1} old files deleted"
    assert rows(Record(filled.root)) == LOADS


def test_rows_appended_while_files_are_merged_are_kept(
    filled: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are appended while files are merged are kept, and found again."""
    write = upkeep._write

    def write_after_an_append(record: Record, *others: object) -> DataFile:
        load(Record(filled.root), 2050, 2051)
        return write(record, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(upkeep, "_write", write_after_an_append)
    done = compact(filled, "fundamentals", max_small_files=1)
    assert done is not None and done.startswith(f"{LOADS} files became 3, ")
    assert rows(filled) == LOADS + 2 and done.endswith(f" {LOADS + 2} rows")
    again = append(filled, FUNDAMENTALS, facts(fact("1", year=2050)), Load("test", ("d",)))
    assert (again.appended, again.held) == (0, 1)


def test_a_compaction_that_lost_its_lease_changes_nothing(filled: Record) -> None:
    def lost() -> None:
        raise WriteConflict("another machine is at it")

    before = {file.path for file in filled.files("fundamentals")}
    with pytest.raises(WriteConflict):
        compact(filled, "fundamentals", lost, max_small_files=1)
    assert {file.path for file in filled.files("fundamentals")} == before


def test_a_commit_whose_answer_was_lost_counts_once(
    filled: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeated request is answered that the version is there: it is our own."""
    put_new = FileStore.put_new

    def put_and_lose_the_answer(store: FileStore, body: bytes, *parts: str) -> bool:
        put_new(store, body, *parts)
        return put_new(store, body, *parts)

    monkeypatch.setattr(FileStore, "put_new", put_and_lose_the_answer)
    load(filled, 2050)
    assert compact(filled, "fundamentals", max_small_files=1) is not None
    assert len(filled.files("fundamentals")) == 1
    assert rows(Record(filled.root)) == LOADS + 1
    entered = filled.query(f"SELECT appended FROM {filled.relation('loads')}")
    assert entered["appended"].to_pylist() == [1] * (LOADS + 1)


def test_a_merged_file_has_the_bounds_by_which_a_load_finds_it(filled: Record) -> None:
    before = filled.files("fundamentals")
    compact(filled, "fundamentals", max_small_files=1)
    (after,) = filled.files("fundamentals")
    assert (after.low, after.high) == (
        min(str(file.low) for file in before),
        max(str(file.high) for file in before),
    )
    # As every process reads them in the log.
    assert Record(filled.root).files("fundamentals") == (after,)


def test_published_versions_stay_as_they_are(filled: Record) -> None:
    version = name_version(filled)
    load(filled, 2060)

    def published() -> list[str]:
        statement = vintages_query(
            FUNDAMENTALS,
            filled.relation("fundamentals"),
            vintages="all",
            load_seq=load_seqs_of(filled, version)["fundamentals"],
        )
        return sorted(map(str, filled.query(statement).to_pylist()))

    before = published()
    compact(filled, "fundamentals", max_small_files=1)
    assert vacuum(filled, "fundamentals", 0) == f"{LOADS + 1} old files deleted"
    assert published() == before and len(before) == LOADS
    assert rows(Record(filled.root)) == LOADS + 1


def test_files_that_somebody_may_be_reading_stay(filled: Record) -> None:
    reader = DeltaTable(f"{filled.root}/fundamentals", LOADS)
    relation = filled.relation("fundamentals", reader)
    # Written long ago, and part of the table until just now.
    for path in Path(filled.root, "fundamentals").rglob("*.*"):
        os.utime(path, (time.time() - 200_000,) * 2)
    compact(filled, "fundamentals", max_small_files=1)
    assert vacuum(filled, "fundamentals", 24) is None
    assert len(filled.query(f"SELECT * FROM {relation}")) == LOADS


def test_what_a_killed_writer_left_is_deleted_when_it_is_old(filled: Record) -> None:
    left = Path(filled.root, "fundamentals", "part-killed.parquet")
    left.write_bytes(b"half a file")
    assert vacuum(filled, "fundamentals", 24) is None and left.exists()
    os.utime(left, (time.time() - 25 * 3600,) * 2)
    assert vacuum(filled, "fundamentals", 24) == "1 old files deleted" and not left.exists()
    assert rows(filled) == LOADS
