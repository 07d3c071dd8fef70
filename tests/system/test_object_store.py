"""The landing and the record in an S3-compatible store that really runs."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from assets.ingest.land import land_sample
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from tests.helpers.facts import fact, facts
from tests.helpers.installation import loaded_home, run_command, settings_of
from tests.helpers.killed_machines import expected, run
from tests.helpers.s3_server import S3Server, s3_server
from warehouse.record.append import Load, append
from warehouse.record.erase import enter_erasure, erase_rows
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.lease import hold_lease, holder_of
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.record.upkeep import compact
from warehouse.shared.errors import BadStore
from warehouse.shared.file_store import FileStore, require_refusals


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


def count(record: Record) -> int:
    rows = record.query(f"SELECT count(*) AS n FROM {record.relation('fundamentals')}")
    return int(rows["n"][0].as_py())


def response(number: int) -> FetchedResponse:
    url = f"https://www.ecb.europa.eu/{number}"
    return FetchedResponse("ecb", url, b"x" * 100, "cc-by", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.nightly
def test_machines_killed_at_random_store_each_row_once(server: S3Server) -> None:
    """``python -m tests.helpers.killed_machines 50`` kills more of them."""
    found = run(server, kills=3, documents=8, seed=1)
    assert expected(8).items() <= found.items()
    assert found["kills"] == 3 and found["compactions"]


def test_a_record_in_a_store_is_that_of_a_folder(
    server: S3Server, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (source,) = [source for source in SOURCES if source.key == "ecb"]
    # The first day of the source is enough.
    first = min((settings_of(loaded_home(tmp_path_factory)).sample / "ecb").iterdir())
    sample = tmp_path / "sample"
    shutil.copytree(first, sample / "ecb" / first.name)
    answers = []
    for place in (str(tmp_path / "local"), server.url("same")):
        landing = Landing(f"{place}/landing", tmp_path / "caches")
        record = Record(f"{place}/record", caches=tmp_path / "caches")
        land_sample(landing, sample, source)
        load_source(record, landing, source)
        columns = "* EXCLUDE (load_id)"
        rows = record.query(f"SELECT {columns} FROM {record.relation('macro_series')}")
        answers.append(sorted(map(str, rows.to_pylist())))
        before = server.requests()
        assert load_source(record, landing, source) == []
        # Each note was read once: nothing but listings and the state of a few tables.
        made = (server.requests() - before).total()
        assert made < 20 + len(landing.documents("ecb"))
    assert answers[0] == answers[1] and answers[0]
    assert not Path("s3:").exists()


def test_two_commits_of_one_version_are_refused(server: S3Server, tmp_path: Path) -> None:
    record = Record(server.url("refused"), caches=tmp_path)
    append(record, FUNDAMENTALS, facts(fact("1")), Load("test", ("d",)))
    store = record.store
    assert not store.put_new(b"", "fundamentals", "_delta_log", f"{1:020}.json")
    require_refusals(store, "SANKOFA_RECORD_URL")


def test_a_compaction_beside_another_doubles_no_row(server: S3Server, tmp_path: Path) -> None:
    record = Record(server.url("merged"), caches=tmp_path / "1")
    for year in range(2000, 2004):
        append(record, FUNDAMENTALS, facts(fact("1", year=year)), Load("test", (str(year),)))
    with record.upkeep() as check:
        assert holder_of(record.store, "upkeep") is not None
        assert compact(record, "fundamentals", check, max_small_files=1)
    other = Record(server.url("merged"), caches=tmp_path / "2")
    again = append(other, FUNDAMENTALS, facts(fact("1", year=2001)), Load("test", ("again",)))
    assert (count(other), len(other.files("fundamentals")), again.held) == (4, 1, 1)


def test_an_erasure_leaves_nothing_of_a_document(server: S3Server, tmp_path: Path) -> None:
    record = Record(server.url("erased"), caches=tmp_path / "1")
    for year, document in ((2000, "a" * 64), (2001, "b" * 64)):
        rows = facts(fact("1", year=year, document=document))
        append(record, FUNDAMENTALS, rows, Load("test", (document,)))
    before = {file.path for file in record.store.listing("fundamentals")}
    with record.exclusive():
        enter_erasure(record, "a" * 64, "test", datetime(2026, 1, 1, tzinfo=UTC), "w", "me")
        erase_rows(record, "a" * 64)
    after = {file.path for file in record.store.listing("fundamentals")}
    assert not any(path.endswith(f"{1:020}.json") for path in after) and before - after
    other = Record(server.url("erased"), caches=tmp_path / "2")
    assert count(other) == 1
    rows = facts(fact("1", year=2000, document="a" * 64))
    assert append(other, FUNDAMENTALS, rows, Load("test", ("a",))).appended == 0


def test_small_documents_are_landed_by_one_upload(server: S3Server, tmp_path: Path) -> None:
    landing = Landing(server.url("plain"), tmp_path)
    landing.land(response(0))
    before = server.requests()
    for number in range(1, 4):
        assert landing.land(response(number))[1]
    made = server.requests() - before
    assert made["POST object"] == 0 and made["PUT object"] == 3
    assert len(landing.documents("ecb")) == 4
    before = server.requests()
    assert len(landing.documents("ecb")) == 4
    assert (server.requests() - before).total() <= 2


def test_a_lease_is_one_on_all_machines(server: S3Server) -> None:
    store = FileStore.of(server.url("leases"))
    with hold_lease(store, "publish") as lease:
        lease.check()
        assert holder_of(FileStore.of(server.url("leases")), "publish") is not None
    assert holder_of(store, "publish") is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host/record", "not known"),
        ("s3://", "names no bucket"),
        ("s3://no-such-bucket-here/record", "check the URL, the bucket"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_byte(
    server: S3Server, tmp_path: Path, url: str, words: str
) -> None:
    with pytest.raises(BadStore, match=words):
        append(Record(url, caches=tmp_path), FUNDAMENTALS, facts(fact("1")), Load("test", ("d",)))


def test_a_store_that_writes_over_objects_is_refused(
    server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore.of(server.url("careless"))
    monkeypatch.setattr(FileStore, "put_new", lambda *_: True)
    with pytest.raises(BadStore, match="ignores the header If-None-Match"):
        require_refusals(store, "SANKOFA_RECORD_URL")


def test_the_command_says_what_is_wrong_with_a_place(tmp_path: Path) -> None:
    status, _, err = run_command(tmp_path, "ingest", SANKOFA_RECORD_URL="ftp://host/record")
    assert status and "SANKOFA_RECORD_URL begins with ftp://, which is not known" in err


def test_delta_doubles_rows_where_we_do_not(tmp_path: Path) -> None:
    """If this fails, deltalake has mended it, and a compaction of our own is no longer needed."""
    place = str(tmp_path)
    for number in range(4):
        write_deltalake(place, pa.table({"x": [number]}), mode="append")
    first, second = DeltaTable(place), DeltaTable(place)
    first.optimize.compact()
    second.optimize.compact()
    assert len(DeltaTable(place).to_pyarrow_table()) == 8
