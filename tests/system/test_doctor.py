"""``sankofa doctor`` names each fault in plain words; the faults are real where they can be."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assets.ingest.sources import SOURCES
from pipelines.commands.main import sankofa
from pipelines.dagster_home import alive_folder
from tests.helpers.facts import fact
from tests.helpers.installation import settings_of
from tests.helpers.publishing import publish
from tests.helpers.record_rows import load
from tests.helpers.redis_server import Redis
from tests.helpers.replay_server import Replay, Reply
from tests.helpers.stored_builds import change_metadata
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.control.keys import KeyStore, create_key, list_keys, revoke_key
from warehouse.publish.builds import PUBLISHING_LOCK, SAMPLE_NOTICE, builds_at
from warehouse.record.landing import Landing
from warehouse.record.store import Record, open_record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.shared.files import make_private
from warehouse.shared.locks import alive_file, named_lock
from warehouse.shared.settings import read_settings, variable_of
from warehouse.tables.operations import QualityMetric

H10 = b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        if name != "SANKOFA_TURNS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SANKOFA_LEAST_FREE_MB", "0")
    return tmp_path / "home"


@pytest.fixture(scope="module")
def healthy_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation without faults: a build of one fact of an hour ago, and a key."""
    home = tmp_path_factory.mktemp("healthy")
    settings = settings_of(home)
    record = open_record(settings)
    load(record, FUNDAMENTALS, fact("1"))
    measurements = measured(datetime.now(UTC) - timedelta(hours=1))
    publish(record, settings.marts, export=lambda *_: {"measured": measurements})
    create_key(KeyStore(settings.control), "starter")
    # As every command that loads or publishes does.
    make_private(settings)
    return home


@pytest.fixture
def healthy(home: Path, healthy_home: Path) -> Path:
    shutil.copytree(healthy_home, home)
    return home


def measured(moment: datetime, age: int = 10) -> str:
    """Return the measurements of a build that was published at a moment."""
    fresh = QualityMetric(
        sku="AF-FUND",
        dimension="freshness",
        metric="days_since_new",
        scope="sec-companyfacts",
        value=Decimal(age),
        unit="days",
        floor=Decimal(100),
        status="PASS" if age <= 100 else "FAIL",
        n_checked=1,
        n_passed=None,
        measured_at=moment,
        data_version="20261114.1",
    )
    return f"[{fresh.model_dump_json()}]"


def change_build(home: Path, **values: str) -> None:
    """Change the metadata of the build of a home."""
    marts = Path(settings_of(home).marts)
    (build,) = builds_at(marts).names()
    change_metadata(marts, build, **values)


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def run_doctor(*words: str) -> tuple[int, list[dict[str, Any]]]:
    completed = CliRunner().invoke(sankofa, ["doctor", "--json", *words])
    assert completed.stderr == "", completed.stderr
    return completed.exit_code, json.loads(completed.stdout)


def faults(*words: str) -> dict[str, str]:
    """Return the text of each fault by its subject; every fault says what to do."""
    status, findings = run_doctor(*words)
    wrong = [item for item in findings if item["state"] == "fault"]
    assert status == (1 if wrong else 0)
    assert all(item["do"] for item in wrong)
    return {item["subject"]: f"{item['says']} -> {item['do']}" for item in wrong}


def test_nothing_is_wrong_with_a_healthy_installation(healthy: Path) -> None:
    assert faults() == {}


def test_a_source_with_nothing_new_is_named_and_is_no_fault(healthy: Path) -> None:
    change_build(healthy, measured=measured(datetime.now(UTC) - timedelta(hours=1), age=120))
    status, findings = run_doctor()
    (found,) = [item for item in findings if item["subject"] == "freshness"]
    assert (status, found["state"]) == (0, "note")
    assert "sec-companyfacts: its newest publication was 120 days old" in found["says"]
    assert "100 are usual" in found["says"]


def test_a_person_sees_each_area_and_the_sum(healthy: Path) -> None:
    completed = CliRunner().invoke(sankofa, ["doctor"])
    for area in ("Machine", "Stores", "Keys and settings", "Build", "Sources"):
        assert f"\n{area}\n" in completed.output
    assert "faults, " in completed.output or "fault, " in completed.output


def test_too_little_disk_space_is_named(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANKOFA_LEAST_FREE_MB", str(10**9))
    fault = faults()["disk space"]
    assert fault.startswith("no disk space: ") and "MB free at" in fault


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        yield disk


def test_a_full_disk_is_named(
    healthy: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OSError, match="No space left"), (small_disk / "all").open("wb") as file:
        file.write(bytes(1 << 20))
    monkeypatch.setenv("SANKOFA_EXPORTS", str(small_disk / "exports"))
    assert f"no disk space: {small_disk} (exports) is full" in faults()["folders"]


def test_a_folder_on_a_read_only_disk_is_named(
    healthy: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    monkeypatch.setenv("SANKOFA_EXPORTS", str(small_disk / "exports"))
    fault = faults()["folders"]
    assert f"{small_disk} (exports) cannot be written: Read-only file system" in fault


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """Mount a small disk in memory; skip the test where that is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("left out: only root may mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_file_in_place_of_a_folder_is_named(
    healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("SANKOFA_LANDING_URL", str(file / "landing"))
    assert f"{file} (landing) is a file, where a folder is needed" in faults()["folders"]


def test_a_store_that_is_down_is_named_and_is_well_again_when_it_is_back(
    healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Redis(tmp_path)
    server.start()
    try:
        monkeypatch.setenv("SANKOFA_USAGE", server.url)
        assert faults() == {}
        server.kill()
        down = faults()
        assert down.keys() == {"usage store"}
        assert "is down, or its URL is wrong" in down["usage store"]
        assert f"{server.url} does not answer" in down["usage store"]
        server.start()
        assert faults() == {}
    finally:
        server.kill()


def test_a_database_that_is_down_is_named_once_and_without_its_password(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_port()}/name"
    monkeypatch.setenv("SANKOFA_CONTROL", f"postgresql://someone:hidden@{address}?password=hidden")
    faults_named = faults()
    assert faults_named.keys() == {"control database"}
    assert f"postgresql://{address} does not answer" in faults_named["control database"]
    assert "correct SANKOFA_CONTROL" in faults_named["control database"]
    assert "hidden" not in str(run_doctor())


@pytest.mark.parametrize(
    ("setting", "value", "store"),
    [
        ("SANKOFA_MARTS", "mysql://u:hidden@example.org/db", "datastore"),
        ("SANKOFA_MARTS", "s3://u:hidden@bucket/marts", "datastore"),
        ("SANKOFA_CONTROL", "http://u:hidden@example.org", "control database"),
        ("SANKOFA_CONTROL", "redis//example.org", "control database"),
        ("SANKOFA_USAGE", "postgresql://u:hidden@example.org/db", "usage store"),
        ("SANKOFA_RECORD_URL", "ftp://u:hidden@example.org", "record"),
        ("SANKOFA_EXPORTS", "ftp://u:hidden@example.org", "exports"),
    ],
)
def test_a_wrong_url_is_named_with_what_it_may_be(
    healthy: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, store: str
) -> None:
    monkeypatch.setenv(setting, value)
    fault = faults()[store]
    assert f"wrong URL: {setting} is " in fault and "-> give a f" in fault
    assert "hidden" not in fault


def test_a_wrong_url_never_shows_its_password(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_MARTS", "postgresql:/me:hunter2@host/db")
    monkeypatch.setenv("SANKOFA_CONTROL", "redis:me:hunter2@host")
    assert "hunter2" not in str(run_doctor())
    assert "wrong URL: SANKOFA_MARTS is postgresql…" in faults()["datastore"]


def test_a_landing_url_of_an_unknown_scheme_is_a_fault_and_no_traceback(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_LANDING_URL", "foo://x")
    assert faults() != {}


def test_the_compute_is_named(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANKOFA_PROCESSES", "2")
    monkeypatch.setenv("SANKOFA_MEMORY_MB", "1024")

    (found,) = [item for item in run_doctor()[1] if item["subject"] == "compute"]

    assert (found["state"], found["says"]) == ("ok", "2 processes of this machine, 512 MB each")


def test_a_key_store_that_was_lost_is_named(healthy: Path) -> None:
    Path(settings_of(healthy).control).unlink()
    Path(settings_of(healthy).usage).touch()
    found = faults()
    assert "has none any more: no request can be authorised" in found["API keys"]
    assert "is missing -> restore it from a backup" in found["control database"]


def test_keys_that_nobody_made_yet_are_a_note_wherever_they_are_missed(healthy: Path) -> None:
    Path(settings_of(healthy).control).unlink()
    _, findings = run_doctor()
    found = [item for item in findings if item["subject"] in ("control database", "API keys")]
    assert [item["state"] for item in found] == ["note", "note"]
    assert all("`sankofa keys create --tier starter`" in item["do"] for item in found)


def test_a_build_that_nobody_can_read_is_named(healthy: Path) -> None:
    change_build(healthy, layout="0")
    assert "cannot be read" in faults()["datastore"]


def test_no_key_in_use_is_named(healthy: Path) -> None:
    store = KeyStore(read_settings(os.environ).control)
    for row in list_keys(store):
        revoke_key(store, row.key_id)
    assert "no key is in use" in faults()["API keys"]


def test_a_signing_key_that_others_can_read_is_named(healthy: Path) -> None:
    read_settings(os.environ).signing_key.write_text("key")
    read_settings(os.environ).signing_key.chmod(0o644)
    assert "can be read by other users" in faults()["signing key"]


def test_real_data_hashed_under_a_weak_key_is_named(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = Landing(read_settings(os.environ).landing)
    landing.enter("fictional")
    assert "withheld parties" not in faults()
    shutil.rmtree(read_settings(os.environ).landing)
    Landing(read_settings(os.environ).landing).enter("real")
    monkeypatch.delenv("SANKOFA_WITHHELD_KEY", raising=False)
    assert "SANKOFA_WITHHELD_KEY is not set" in faults()["withheld parties"]
    monkeypatch.setenv("SANKOFA_WITHHELD_KEY", "a secret of our own")
    assert "has 19 characters, fewer than 32" in faults()["withheld parties"]
    monkeypatch.setenv("SANKOFA_WITHHELD_KEY", WITHHELD_KEY)
    assert "withheld parties" not in faults()


def test_documents_that_other_users_can_read_are_named(healthy: Path) -> None:
    assert "private folders" not in faults()
    Path(read_settings(os.environ).record).chmod(0o755)
    assert "other users can read" in faults()["private folders"]


def test_a_build_that_lacks_what_was_loaded_since_is_stale(healthy: Path) -> None:
    load(Record(read_settings(os.environ).record), FUNDAMENTALS, fact("2", year=2001))
    assert "stale: what was loaded since is not in it (fundamentals)" in faults()["build"]


def test_a_build_that_is_old_is_stale_unless_it_is_the_sample_world(healthy: Path) -> None:
    change_build(healthy, measured=measured(datetime.now(UTC) - timedelta(days=3, hours=1)))
    assert "was published 3 days and 1 hours ago" in faults()["build"]
    change_build(healthy, notice=SAMPLE_NOTICE)
    assert faults() == {}


def test_a_home_that_was_never_used_has_no_fault_and_stays_unmade(home: Path) -> None:
    assert faults() == {}
    assert not home.exists()


def test_what_is_loaded_and_not_published_is_a_fault(home: Path) -> None:
    settings = read_settings(os.environ)
    load(open_record(settings), FUNDAMENTALS, fact())
    assert "what is loaded is not published -> `sankofa publish`" in faults()["build"]


def test_who_publishes_and_which_runs_were_killed_are_named(healthy: Path) -> None:
    settings = read_settings(os.environ)
    killed = alive_folder(settings) / "f888cd6a"
    with (
        named_lock(Path(settings.marts) / PUBLISHING_LOCK, "the builds"),
        alive_file(killed.with_name("of-a-living-process")),
    ):
        killed.touch()
        says = {row["subject"]: row["says"] for row in run_doctor()[1] if row["state"] == "note"}
    assert f"the builds are in use by process {os.getpid()} on " in says["publication"]
    assert says["runs"] == "killed, and perhaps still in progress for Dagster: f888cd6a"


def test_a_publication_that_was_refused_is_named(healthy: Path) -> None:
    why = read_settings(os.environ).work / "failed" / "20261114.1" / "why.txt"
    why.parent.mkdir(parents=True)
    why.write_text("the audit failed; nothing was published.\nmore\n")
    assert "the last publication was refused: the audit failed" in faults()["audit"]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """Point every source at a local server that has no documents."""
    with Replay() as server:
        for key in [source.key for source in SOURCES if source.base_url]:
            monkeypatch.setenv(variable_of("SANKOFA_BASE_", key), f"{server.base}/{key}")
        monkeypatch.setenv("SANKOFA_CONTACT", "https://example.org/contact")
        monkeypatch.setenv("SANKOFA_PUBLICATION_CO_SECOP", "1")
        monkeypatch.setenv("SANKOFA_H10_CADENCES", "monthly")
        yield server


def test_a_source_that_blocks_us_is_named_and_asked_only_once(healthy: Path, world: Replay) -> None:
    world.on("/h10/monthly.csv", Reply(b"Request Rate Threshold Exceeded", 403))
    findings = faults("--live")
    live = {source.key for source in SOURCES if source.permitted and source.fetch is not None}
    assert findings.keys() == live
    assert (
        "blocked: " in findings["h10"] and "it answers 403, saying 'Request Rate" in findings["h10"]
    )
    assert "does not answer correctly" in findings["worldbank"]
    assert sorted(request.path.split("/")[1] for request in world.requests) == sorted(live)


def test_a_source_that_answers_is_ok(healthy: Path, world: Replay) -> None:
    world.on("/h10/monthly.csv", Reply(H10))
    _, findings = run_doctor("--live")
    by_subject = {item["subject"]: item for item in findings}
    assert by_subject["h10"]["state"] == "ok" and by_subject["h10"]["says"].startswith("answers; ")
    assert by_subject["xbrl-filings"]["state"] == "note"


def test_no_source_is_contacted_without_live(healthy: Path, world: Replay) -> None:
    assert faults() == {}
    assert world.requests == []


@pytest.mark.parametrize("live", [True, False])
def test_a_missing_key_is_named_and_a_fault_if_it_is_needed(
    healthy: Path, world: Replay, monkeypatch: pytest.MonkeyPatch, live: bool
) -> None:
    for key in ("alfred", "worldbank"):
        monkeypatch.delenv(variable_of("SANKOFA_BASE_", key))
    monkeypatch.delenv("SANKOFA_CONTACT")
    _, findings = run_doctor(*(["--live"] if live else []))
    by_subject: Mapping[str, dict[str, Any]] = {item["subject"]: item for item in findings}
    for subject, setting in {"alfred": "SANKOFA_FRED_KEY", "contact": "SANKOFA_CONTACT"}.items():
        assert setting in by_subject[subject]["says"]
        assert by_subject[subject]["state"] == ("fault" if live else "note")
    assert by_subject["worldbank"]["state"] == ("note" if live else "ok")
