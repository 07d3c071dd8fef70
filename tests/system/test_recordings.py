"""``sankofa ingest SOURCE PATH…``: the same record as from a live fetch, and never mixed."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pipelines.commands.main import sankofa
from pipelines.ingest import Outcome
from pipelines.jobs import Run
from tests.helpers.installation import with_dagster
from tests.helpers.replay_server import Replay, Reply
from warehouse.record.landing import Document, Landing
from warehouse.record.store import Record

H10 = b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n2024-02-01,South Africa,19.1\n"
BASE = "https://raw.githubusercontent.com/datasets/exchange-rates/main/data"
URL = f"{BASE}/monthly.csv"
LOCAL = "http://localhost/monthly.csv"
GLEIF = "https://goldencopy.gleif.org/api/v2/golden-copies/publishes/lei2/latest.csv"


@pytest.fixture
def in_home(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Return a function that runs the command in a home of some name."""
    monkeypatch.delenv("SANKOFA_CONTACT", raising=False)

    def run(home: str, *arguments: object, **environment: str) -> Result:
        if not (tmp_path / home / "dagster").exists():
            with_dagster(tmp_path_factory, tmp_path / home)
        names = {f"SANKOFA_{name}": value for name, value in environment.items()}
        names["SANKOFA_HOME"] = str(tmp_path / home)
        return CliRunner().invoke(sankofa, [str(argument) for argument in arguments], env=names)

    return run


def documents(home: Path, source: str = "h10") -> list[Document]:
    return Landing(str(home / "landing")).documents(source)


def rows(home: Path) -> list[dict[str, Any]]:
    """Return the rows of the record without what only says when they were loaded."""
    record = Record(str(home / "record"))
    table = record.query(f"SELECT * FROM {record.relation('macro_series')} ORDER BY period_start")
    loads = {"load_seq", "load_id", "loaded_at"}
    return [{n: v for n, v in row.items() if n not in loads} for row in table.to_pylist()]


def test_a_recording_gives_the_documents_and_rows_of_a_live_fetch_and_nothing_when_replayed(
    tmp_path: Path, in_home: Callable[..., Result]
) -> None:
    with Replay() as server:
        server.on("/mirror/monthly.csv", Reply(H10, headers={"ETag": '"1"'}))
        live = in_home(
            "live",
            *("ingest", "h10", "--live"),
            BASE_H10=f"{server.base}/mirror",
            H10_CADENCES="monthly",
        )
    assert "1 documents, 1 new; 2 read, 2 appended" in live.output
    (document,) = documents(tmp_path / "live")
    assert document.url == URL

    (tmp_path / "rates.csv").write_bytes(H10)
    (tmp_path / "rates.csv.headers.json").write_text('{"etag": "\\"1\\""}')
    moment = ("--observed-at", document.observed_at.isoformat())
    recording = ("ingest", "h10", tmp_path / "rates.csv", "--origin", URL, *moment)
    assert "1 documents, 1 new; 2 read, 2 appended" in in_home("file", *recording).output
    assert documents(tmp_path / "file")[0].key == document.key
    assert documents(tmp_path / "file")[0].headers == {"etag": '"1"'}
    assert rows(tmp_path / "file") == rows(tmp_path / "live")
    assert "1 documents, 0 new; nothing new" in in_home("file", *recording).output
    assert {row["source_ref"].partition("#")[0] for row in rows(tmp_path / "file")} == {URL}


def test_a_bad_file_fails_the_command_and_the_others_are_kept(
    tmp_path: Path, in_home: Callable[..., Result]
) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "monthly.csv").write_bytes(H10)
    (tmp_path / "all" / "daily.csv").write_bytes(b"")
    options = ("--origin", BASE, "--observed-at", "2026-02-20")
    result = in_home("home", "ingest", "h10", tmp_path / "all", *options)
    assert result.exit_code == 1
    assert "1 documents, 1 new; 2 read, 2 appended" in result.output
    assert f"{tmp_path / 'all' / 'daily.csv'}: the file is empty" in result.output
    assert "1 of the recordings could not be read" in result.output
    assert documents(tmp_path / "home")[0].url == URL


def test_a_manifest_ingests_the_files_of_many_sources_at_once(
    tmp_path: Path, in_home: Callable[..., Result]
) -> None:
    (tmp_path / "rates.csv").write_bytes(H10)
    (tmp_path / "lei.csv").write_bytes(b"LEI\n")
    (tmp_path / "m.tsv").write_text(
        "path\turl\tobserved_at\tsource\n"
        f"rates.csv\t{URL}\t2026-02-20\th10\n"
        f"lei.csv\t{GLEIF}\t2026-02-20\tgleif\n"
        f"gone.csv\t{URL}\t2026-02-20\th10\n"
    )
    result = in_home("home", "ingest", "--manifest", tmp_path / "m.tsv", "--json")
    assert result.exit_code == 1
    outcomes = {line["source"]: line for line in json.loads(result.stdout)}
    assert {key: line["documents_new"] for key, line in outcomes.items()} == {"h10": 1, "gleif": 1}
    assert "gone.csv: No such file or directory" in outcomes["h10"]["problems"][0]
    assert documents(tmp_path / "home", "gleif")[0].url == GLEIF


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["h10", "rates.csv"], "give --origin, its address at the publisher"),
        (["h10", "rates.csv", "--origin", URL], "--observed-at, the day it was read is missing"),
        (["h10", "rates.csv", "--observed-at", "2026-02-20"], "--origin is missing"),
        (["h10", "rates.csv", "--origin", URL, "--observed-at", "now"], "neither a day"),
        (["h10", "gone.csv"], "no such file: gone.csv"),
        (["h10", "gone.csv", "--origin", URL, "--observed-at", "2026-02-20"], "No such file"),
        (["rates.csv", "--origin", URL, "--observed-at", "2026-02-20"], "name the source"),
        (["h10", "ecb", "rates.csv"], "recordings are of one source"),
        (["h10", "rates.csv", "--live"], "do not apply to recordings"),
        (["h10", "rates.csv", "--manifest", "m.csv"], "give it alone"),
        (["h10", "--manifest", "m.csv"], "names no file of h10"),
        (["xbrl-filings", "rates.csv"], "its licence"),
        (
            [
                "h10",
                "rates.csv",
                "--origin",
                "http://localhost/a.csv",
                "--observed-at",
                "2026-02-20",
            ],
            "local network",
        ),
    ],
)
def test_what_is_missing_or_contradictory_is_said(
    tmp_path: Path,
    in_home: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    why: str,
) -> None:
    (tmp_path / "rates.csv").write_bytes(H10)
    (tmp_path / "m.csv").write_text(f"path,url,observed_at,source\na,{GLEIF},2026-02-20,gleif\n")
    monkeypatch.chdir(tmp_path)
    result = in_home("home", "ingest", *arguments)
    assert result.exit_code == 1
    assert why in result.output
    assert not (tmp_path / "home" / "landing" / "documents").exists()


def test_a_source_without_a_live_address_that_is_named_fails(
    in_home: Callable[..., Result],
) -> None:
    result = in_home("home", "ingest", "listings", "--live")
    assert result.exit_code == 1
    assert "read a recording of it with `sankofa ingest listings PATH`" in result.output


def test_documents_on_which_the_parser_failed_are_in_the_outcome_of_recordings(
    tmp_path: Path, in_home: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = Outcome("h10", failed="the parser failed", failures=({"url": URL},))
    monkeypatch.setattr("pipelines.ingest.load", lambda runner, sources, report: report(outcome))
    (tmp_path / "a.csv").write_bytes(H10)
    moment = ("--observed-at", "2026-02-20")
    recording = (tmp_path / "a.csv", "--origin", URL, *moment)
    result = in_home("home", "ingest", "h10", *recording, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["failures"] == [{"url": URL}]


def test_a_run_that_ends_without_a_word_is_a_failure(
    in_home: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = SimpleNamespace(run=lambda *_, **__: Run("ingest"))
    monkeypatch.setattr("pipelines.ingest.open_runner", lambda _: nullcontext(runner))
    monkeypatch.setattr("pipelines.ingest.has_documents", lambda *_: True)
    result = in_home("home", "ingest", "h10")
    assert result.exit_code == 1
    assert "failed: the run ended before it" in result.output


def test_recordings_and_the_sample_world_are_never_mixed(
    tmp_path: Path, in_home: Callable[..., Result]
) -> None:
    (tmp_path / "rates.csv").write_bytes(H10)
    recorded = ("h10", tmp_path / "rates.csv", "--origin", URL, "--observed-at", "2026-02-20")
    sample = tmp_path / "fictional" / "sample" / "h10" / "2024-03-01" / "monthly.csv"
    sample.parent.mkdir(parents=True)
    sample.write_bytes(H10)
    assert "1 new" in in_home("fictional", "ingest", "h10", "--sample").output
    refused = in_home("fictional", "ingest", *recorded)
    assert refused.exit_code == 1
    assert "this home holds the sample world, which is fictional" in refused.output
    assert len(documents(tmp_path / "fictional")) == 1

    assert "1 new" in in_home("real", "ingest", *recorded).output
    for command in (("ingest", "--sample"), ("ingest", "h10", "--sample"), ("sample",)):
        refused = in_home("real", *command)
        assert refused.exit_code == 1
        assert "this home holds real documents" in refused.output
    assert not (tmp_path / "real" / "sample").exists()


def test_a_recording_of_which_nothing_can_be_read_does_not_take_the_sample_world(
    tmp_path: Path, in_home: Callable[..., Result]
) -> None:
    sample = tmp_path / "home" / "sample" / "h10" / "2024-03-01" / "monthly.csv"
    sample.parent.mkdir(parents=True)
    sample.write_bytes(H10)
    (tmp_path / "bad.zip").write_text("no zip")
    assert in_home("home", "ingest", "h10", tmp_path / "bad.zip").exit_code == 1
    assert Landing(str(tmp_path / "home" / "landing")).world() is None
    with Replay() as server:
        server.on("/monthly.csv", Reply(b"", status=304))
        mirror = {"BASE_H10": server.base, "H10_CADENCES": "monthly"}
        in_home("home", "ingest", "h10", "--live", **mirror)
    assert Landing(str(tmp_path / "home" / "landing")).world() is None


def test_no_path_reaches_the_landing_or_the_record(
    tmp_path: Path, in_home: Callable[..., Result]
) -> None:
    (tmp_path / "secret-folder").mkdir()
    for name in ("monthly.csv", "bad.csv"):
        (tmp_path / "secret-folder" / name).write_bytes(H10 if name[0] == "m" else b"\xff\0broken")
    options = ("--origin", BASE, "--observed-at", "2026-02-20")
    in_home("home", "ingest", "h10", tmp_path / "secret-folder", *options)
    record = Record(str(tmp_path / "home" / "record"))
    for table in ("macro_series", "quarantine"):
        text = str(record.query(f"SELECT * FROM {record.relation(table)}").to_pylist())
        assert URL.rpartition("/")[0] in text and "secret-folder" not in text
    for path in (tmp_path / "home" / "landing" / "documents").rglob("*.json"):
        assert "secret-folder" not in path.read_text()
