"""An erased document is gone from every byte of an installation, and does not come back."""

import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from assets.ingest.assets import landed_key
from assets.ingest.land import land_sample
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from assets.source import fictional
from pipelines.erasing import erase_documents, find_documents
from pipelines.ingest_definitions import ingest_definitions
from pipelines.jobs import instance
from tests.helpers.found_bytes import files_with
from tests.helpers.installation import BriefPublication, publication, settings_of
from tests.helpers.made_once import copy_of
from tests.helpers.record_rows import FIRST, SECOND, load, party_row, series_row
from tests.helpers.tender_packages import ZA, award_release, write_package
from warehouse.publish.builds import builds_at
from warehouse.record.append import Load, append
from warehouse.record.erase import enter_erasure, erase_rows, erasures, stored_rows
from warehouse.record.incoming import RejectedRow, to_arrow
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.merge import CompleteScope
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES, TENDER_PARTIES, TENDER_RELEASES
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.shared.errors import SankofaError, UnknownVersion
from warehouse.shared.settings import Settings

URL = f"{fictional(ZA).base_url}/a.json"
SECRET = "Xyzzy Secretive Trading"
# Another portal of such packages.
OTHER = next(source for source in SOURCES if source.key == "ug-ppda")
COMPANY = f"{SECRET} (Pty) Ltd"


def ingest(home: Settings) -> dict[str, int]:
    """Land what the folder has and load it; return what each table gained."""
    landing, record = Landing(home.landing), Record(home.record)
    _, new = land_sample(landing, home.sample, ZA)
    entries = load_source(record, landing, ZA)
    gained = {entry.table_name: 0 for entry in entries}
    for entry in entries:
        gained[entry.table_name] += entry.appended
    return {"landed": new, **gained}


def publish(home: Settings) -> str:
    return publication(home, BriefPublication).run()


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A document with a secret, and a later one that repeats one of its two releases."""
    home = settings_of(tmp_path_factory.mktemp("ingested") / "home")
    shared = award_release(2, "Open Fictional Roads (Pty) Ltd")
    broken = {**award_release(3, COMPANY), "ocid": None}
    write_package(home, "2026-05-03", "a.json", award_release(1, COMPANY), shared, broken)
    write_package(
        home, "2026-05-04", "b.json", shared, award_release(4, "Other Fictional Roads (Pty) Ltd")
    )
    ingest(home)
    return home.home


@pytest.fixture(scope="module")
def published(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = copy_of(ingested, "published", tmp_path_factory)
    publish(settings_of(home))
    return home


@pytest.fixture
def here(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_of(copy_of(ingested, "here", tmp_path_factory))


@pytest.fixture
def served(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_of(copy_of(published, "served", tmp_path_factory))


def test_not_one_byte_of_an_erased_document_is_left(served: Settings) -> None:
    here, older = served, str(builds_at(served.marts).current())
    (here.work / "failed" / "20260101.1").mkdir(parents=True)
    (here.work / "failed" / "20260101.1" / "why.txt").write_text(SECRET)
    places = {path.split("/")[0] for path in files_with(here.home, SECRET)}
    assert places >= {"landing", "record", "marts", "exports", "sample", "stage"}
    (document,) = {note.sha256 for note in Landing(here.landing).find(url=URL)}

    found = find_documents(here, URL)
    assert [erasure.document for erasure in found] == [document]
    assert found[0].data_versions == (older,)
    newer = erase_documents(here, found, "a request", lambda: publish(here))

    assert files_with(here.home, SECRET) == []
    assert [entry.document for entry in erasures(Record(here.record))] == [document]
    assert builds_at(here.marts).names() == [newer]
    assert PublishedExports(here.exports).versions() == [newer]
    with pytest.raises(UnknownVersion, match="withdrawn: a document in it was erased on 2"):
        Mart(here.marts).at(older).build()
    # Running it again finishes at once.
    assert erase_documents(here, find_documents(here, document), "again", str) is None


def test_an_erased_document_is_neither_landed_nor_read_again(here: Settings) -> None:
    path = here.sample / "za-etenders" / "2026-05-03" / "a.json"
    body = path.read_bytes()
    erase_documents(here, find_documents(here, URL), "why", str)
    assert not path.exists()
    path.write_bytes(body)
    assert ingest(here)["landed"] == 0
    path.unlink()
    assert files_with(here.home, SECRET) == []


def test_what_later_documents_repeat_is_read_from_them(here: Settings) -> None:
    record = Record(here.record)
    relation = record.relation(TENDER_RELEASES.name)
    stored = f"SELECT ocid, document FROM {relation} ORDER BY ocid"
    first, second, fourth = record.query(stored).to_pylist()
    assert first["document"] == second["document"] != fourth["document"]
    erase_documents(here, find_documents(here, first["document"]), "a request", str)
    record = Record(here.record)
    relation = record.relation(TENDER_RELEASES.name)
    assert record.query(f"SELECT ocid FROM {relation}")["ocid"].to_pylist() == [fourth["ocid"]]
    assert ingest(here) == {"landed": 0, "tender_releases": 1, "tender_parties": 2}
    record = Record(here.record)
    stored = f"SELECT ocid, document FROM {record.relation(TENDER_RELEASES.name)} ORDER BY ocid"
    assert record.query(stored).to_pylist() == [
        {"ocid": second["ocid"], "document": fourth["document"]},
        fourth,
    ]
    # And only once.
    assert ingest(here) == {"landed": 0}


def test_a_document_of_two_sources_is_erased_from_both_and_runs_that_read_one_are_forgotten(
    here: Settings,
) -> None:
    landing, record = Landing(here.landing), Record(here.record)
    folder = here.sample / ZA.key
    for path in sorted(folder.glob("*/*.json")):
        copy = here.sample / OTHER.key / path.relative_to(folder)
        copy.parent.mkdir(parents=True)
        copy.write_bytes(path.read_bytes())
    land_sample(landing, here.sample, OTHER)
    load_source(record, landing, OTHER)
    jobs = ingest_definitions(here)
    of_another = frozenset({dg.AssetKey("ecb_macro_series")})
    runs = {
        ("ingest", None): False,
        ("fetch_za_etenders_landed", None): False,
        (f"fetch_{landed_key(OTHER).to_user_string()}", None): False,
        ("fetch_ecb_landed", None): True,
        ("ingest", of_another): True,
    }
    with instance(here) as dagster_instance:
        for name, chosen in runs:
            job = jobs.resolve_job_def(name)
            dagster_instance.create_run_for_job(
                job, status=dg.DagsterRunStatus.FAILURE, asset_selection=chosen
            )
    (found,) = find_documents(here, URL)
    assert set(found.sources) == {ZA.key, OTHER.key}

    erase_documents(here, [found], "a request", str)

    assert files_with(here.home, SECRET) == []
    record = Record(here.record)
    assert {entry.source for entry in erasures(record)} == {ZA.key, OTHER.key}
    with instance(here) as dagster_instance:
        left = {(run.job_name, run.asset_selection) for run in dagster_instance.get_runs()}
    assert left == {run for run, stays in runs.items() if stays}
    # The later document of each is read again: it may repeat what the erased one said.
    for source in (ZA, OTHER):
        read = {key for entry in load_source(record, landing, source) for key in entry.documents}
        assert read == landing.keys(source.key) != set()


def test_a_document_that_is_not_there_is_named(here: Settings) -> None:
    for text in ("0" * 64, "https://example.org/nothing"):
        with pytest.raises(SankofaError, match=f"no document is '{text}'"):
            find_documents(here, text)


def test_without_a_new_build_nothing_is_served_if_the_operator_says_so(served: Settings) -> None:
    here, older = served, str(builds_at(served.marts).current())
    found = find_documents(here, URL)

    def refuse() -> str:
        raise SankofaError("the audit failed")

    with pytest.raises(SankofaError, match="the audit failed"):
        erase_documents(here, found, "a request", refuse)
    assert builds_at(here.marts).current() == older
    with pytest.raises(SankofaError, match="the audit failed"):
        erase_documents(here, found, "a request", refuse, unpublish=True)
    assert builds_at(here.marts).current() is None
    assert files_with(here.home, SECRET) == []


# The record alone: what is deleted, what stays, and that a killed erasure can be finished.


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A document with secrets, one that withdraws a figure of it, and rows of others."""
    folder = tmp_path_factory.mktemp("filled")
    record = Record(str(folder / "record"))
    secret = {"document": "d1", "source_ref": f"d1#/{SECRET}"}
    load(record, MACRO_SERIES, series_row("1", FIRST, **secret), series_row("2", SECOND))
    load(record, TENDER_PARTIES, party_row(name=SECRET, party_key=f"name:{SECRET}", **secret))
    table, _ = to_arrow(TENDER_PARTIES, [party_row(ocid="ocds-2", name="Roads Ltd", document="d2")])
    complete = CompleteScope({"source": "test"}, datetime(2026, 2, 1, tzinfo=UTC), "d2", "d2")
    rejected = [RejectedRow("d1", "d1#/9", f"{SECRET} is not a number")]
    append(record, TENDER_PARTIES, table, Load("test", ("d2",)), complete=complete)
    append(record, MACRO_SERIES, series(), Load("test", ("d3",)), rejected=rejected)
    return folder


@pytest.fixture
def record(filled: Path, tmp_path: Path) -> Record:
    """A copy of that record, in the folder of a test."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return Record(str(tmp_path / "record"))


def series() -> Any:
    return to_arrow(MACRO_SERIES, [series_row("3", date(2021, 1, 1), document="d3")])[0]


def erase(record: Record) -> None:
    enter_erasure(record, "d1", "test", datetime(2026, 1, 1, tzinfo=UTC), "a request", "op")
    with record.exclusive():
        erase_rows(record, "d1")


def test_rows_of_other_documents_stay_and_tables_are_append_only_again(
    record: Record, tmp_path: Path
) -> None:
    assert stored_rows(record, "d1") == {"macro_series": 1, "tender_parties": 1, "quarantine": 1}
    loads = {table.name: record.load_seq(table) for table in (MACRO_SERIES, TENDER_PARTIES)}
    erase(record)
    assert files_with(tmp_path, SECRET) == []
    assert stored_rows(record, "d1") == {}
    # The withdrawal by another document repeated the key of the erased party.
    names = record.query(f"SELECT name FROM {record.relation('tender_parties')}")["name"]
    assert names.to_pylist() == ["Roads Ltd"]
    values = record.query(f"SELECT value FROM {record.relation('macro_series')} ORDER BY value")
    assert values["value"].to_pylist() == [2, 3]
    record = Record(record.root)
    assert {table.name: record.load_seq(table) for table in (MACRO_SERIES, TENDER_PARTIES)} == loads
    with pytest.raises(DeltaError):
        record.table("macro_series").delete("value = 2")
    load(record, MACRO_SERIES, series_row("4", date(2022, 1, 1)))
    assert record.load_seq(MACRO_SERIES) == loads["macro_series"] + 1
    assert record.table("loads").count() == 5


def test_withdrawals_of_figures_that_the_document_never_showed_stay(record: Record) -> None:
    # Of these, the erased document had shown the first, another document showed the second, and
    # the third is a deletion by the publisher of a figure that we had never read.
    days = [FIRST, SECOND, date(2023, 1, 1)]
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    for day in days:
        row = series_row("1", day, withdrawn=True, document="d4", observed_at=moment)
        load(record, MACRO_SERIES, {**row, "value": None})
    withdrawn = "SELECT period_start FROM {} WHERE withdrawn ORDER BY ALL"
    found = record.query(withdrawn.format(record.relation("macro_series")))
    assert found["period_start"].to_pylist() == days
    erase(record)
    found = record.query(withdrawn.format(record.relation("macro_series")))
    assert found["period_start"].to_pylist() == days[1:]


def test_the_writer_accepts_no_row_of_an_erased_document(record: Record, tmp_path: Path) -> None:
    erase(record)
    rows, _ = to_arrow(MACRO_SERIES, [series_row("1", FIRST, document="d1")])
    rejected = [RejectedRow("d1", "d1#/9", f"{SECRET} is not a number")]
    entry = append(record, MACRO_SERIES, rows, Load("test", ("d1",)), rejected=rejected)
    assert (entry.read, entry.appended, entry.quarantined) == (0, 0, 0)
    assert files_with(tmp_path, SECRET) == []


def test_erasing_the_first_reading_does_not_date_a_silent_edit_back(tmp_path: Path) -> None:
    record = Record(str(tmp_path / "record"))
    edits = [
        series_row(
            str(number),
            FIRST,
            document=f"d{number}",
            observed_at=datetime(2020, number, 1, tzinfo=UTC),
        )
        for number in (1, 2, 3)
    ]
    for edit in edits:
        load(record, MACRO_SERIES, edit)
    stored = "SELECT value, available_at FROM {} ORDER BY available_at"
    relation = record.relation("macro_series")
    before = record.query(stored.format(relation)).to_pylist()
    assert [row["available_at"] for row in before] == [
        FIRST,
        date(2020, 2, 1),
        date(2020, 3, 1),
    ]
    erase(record)
    for edit in edits[1:]:
        load(record, MACRO_SERIES, edit)
    relation = record.relation("macro_series")
    assert record.query(stored.format(relation)).to_pylist() == before[1:]


class Killed(BaseException):
    """Simulates the death of the process at a step."""


STEPS = {
    "before a deletion": (DeltaTable, "delete", 0),
    "between two deletions": (DeltaTable, "delete", 2),
    "before the old files are deleted": (DeltaTable, "vacuum", 0),
    "between two tables": (DeltaTable, "vacuum", 1),
    "before a checkpoint": (DeltaTable, "create_checkpoint", 0),
    "while commits are deleted": (Path, "unlink", 1),
}


EVERY_NIGHT = ("before a deletion", "before the old files are deleted", "before a checkpoint")


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=[pytest.mark.nightly] * (step in EVERY_NIGHT)) for step in STEPS],
)
def test_an_erasure_that_was_killed_is_finished_by_running_it_again(
    step: str, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, calls_before = STEPS[step]
    real: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def killing(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > calls_before:
            raise Killed
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing)
        with pytest.raises(Killed):
            erase(record)
    assert files_with(tmp_path, SECRET)
    erase(Record(record.root))
    assert files_with(tmp_path, SECRET) == []
    assert len(erasures(record)) == 1
    load(Record(record.root), MACRO_SERIES, series_row("4", date(2022, 1, 1)))


def test_a_killed_erasure_of_a_body_is_finished_too(tmp_path: Path) -> None:
    landing = Landing(str(tmp_path))
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    response = FetchedResponse("s", "https://example.org/a", SECRET.encode(), "cc-by", moment)
    document, _ = landing.land(response)
    landing.land(FetchedResponse("s", "https://example.org/b", SECRET.encode(), "cc-by", moment))
    part = tmp_path / "bodies" / document.sha256[:2] / f"{document.sha256}.zst.abc.part"
    part.write_text(SECRET)
    for _ in range(2):
        landing.erase(document.sha256)
        assert files_with(tmp_path, SECRET) == []
        assert landing.documents("s") == []
        assert landing.land(response) == (document, False)
        assert landing.keys("s") == set()
