"""The sample world goes all the way through Dagster, and a second start repeats nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.jobs import run_job
from pipelines.up import ServerUrls, greeting, is_ready, prepare
from warehouse.errors import SankofaError
from warehouse.mart.sqlite_builds import current_build_file
from warehouse.record.store import Record
from warehouse.settings import Settings, read_settings


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANKOFA_HOME", str(tmp_path_factory.mktemp("home")))
        home = read_settings(os.environ)
        prepare(home, lambda _: None)
    return home


@pytest.fixture(autouse=True)
def at_home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(settings.home))


def test_every_count_of_the_ledger_adds_up(settings: Settings) -> None:
    record = Record(settings.record)
    wrong = record.query(
        f"SELECT * FROM {record.relation('loads')} WHERE read <> appended + held + quarantined"
    )
    assert len(wrong) == 0


def test_everything_quarantined_says_why_and_where(settings: Settings) -> None:
    record = Record(settings.record)
    quarantined = record.query(f"SELECT * FROM {record.relation('quarantine')}").to_pylist()
    assert quarantined
    for row in quarantined:
        assert len(row["reason"].split()) >= 2
        assert row["source_ref"].startswith("https://fictional.example/")


def test_starting_again_reads_nothing_and_keeps_the_build(settings: Settings) -> None:
    build = current_build_file(Path(settings.marts))
    counts_by_asset = run_job(settings, "ingest")
    assert {counts["read"] for counts in counts_by_asset.values()} == {0}
    assert {counts["documents_new"] for counts in counts_by_asset.values()} == {0}
    run_job(settings, "publish")
    assert current_build_file(Path(settings.marts)) == build


def test_the_restatements_of_the_sample_world_are_vintages(settings: Settings) -> None:
    record = Record(settings.record)
    traps = json.loads((settings.sample / "traps.json").read_text())
    several = record.query(
        f"SELECT figure FROM {record.relation('fundamentals')} "
        "GROUP BY figure, figure_check HAVING count(DISTINCT content) > 1"
    )
    assert len(several) >= len(traps["restatement"]) > 0


def test_no_withheld_name_of_the_sample_world_is_in_the_record(settings: Settings) -> None:
    record = Record(settings.record)
    withheld = record.query(
        f"SELECT name, identifier_id FROM {record.relation('tender_parties')} "
        "WHERE org_evidence IS NULL"
    )
    assert len(withheld) > 0
    assert withheld["name"].null_count == withheld["identifier_id"].null_count == len(withheld)


def test_the_greeting_has_a_key_and_three_commands(settings: Settings) -> None:
    text = greeting(settings, ServerUrls("http://127.0.0.1:8321", "http://127.0.0.1:8322", None))
    assert text.count("curl -s -H 'X-API-Key: sk_") == 3
    assert "http://127.0.0.1:8322/mcp" in text and "Runs" not in text


def test_a_home_is_ready_once_something_is_published(settings: Settings, tmp_path: Path) -> None:
    assert is_ready(settings)
    assert not is_ready(replace(settings, marts=str(tmp_path)))


def test_a_source_that_fails_leaves_the_others_running_and_is_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    other = read_settings(os.environ)
    for key in ("ecb", "alfred"):
        (other.sample / key / "2026-01-01").mkdir(parents=True)
    (other.sample / "ecb" / "not a day").mkdir()
    with pytest.raises(
        SankofaError, match=r"the job ingest failed in ecb: .*: name the folder after the day"
    ):
        run_job(other, "ingest")
