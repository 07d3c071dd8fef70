"""The jobs, schedules and the terminal: what runs when, and what a person sees."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner

from assets.ingest.sources import SOURCES
from pipelines.commands.main import sankofa
from pipelines.definitions import definitions
from tests.helpers.installation import with_dagster
from tests.helpers.replay_server import Replay, Reply
from warehouse.record.landing import Landing
from warehouse.shared.settings import read_settings


@pytest.fixture(autouse=True)
def home(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    with_dagster(tmp_path_factory, tmp_path)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    monkeypatch.delenv("SANKOFA_CONTACT", raising=False)
    return tmp_path


@dataclass(frozen=True)
class Defined:
    """A home, and what Dagster reads for it."""

    home: Path
    definitions: dg.Definitions


@pytest.fixture(scope="module")
def defined(tmp_path_factory: pytest.TempPathFactory) -> Defined:
    home = tmp_path_factory.mktemp("defined")
    return Defined(home, definitions(read_settings({"SANKOFA_HOME": str(home)})))


def test_every_table_of_every_source_is_an_asset(defined: Defined) -> None:
    keys = {
        key.to_user_string()
        for key in defined.definitions.resolve_asset_graph().get_all_asset_keys()
    }
    for source in SOURCES:
        name = source.key.replace("-", "_")
        tables = {f"{name}_{table.name}" for table in source.tables}
        assert tables & keys == (tables if source.permitted else set())
        assert (f"{name}_landed" in keys) == (source.fetch is not None and source.permitted)


def test_every_live_source_is_fetched_every_night_and_retried(defined: Defined) -> None:
    repository = defined.definitions.get_repository_def()
    assert repository.has_sensor_def("fetch_every_night")
    for source in SOURCES:
        if source.fetch is not None and source.permitted:
            landed = repository.assets_defs_by_key[
                dg.AssetKey(f"{source.key.replace('-', '_')}_landed")
            ]
            assert all(spec.automation_condition is not None for spec in landed.specs)
            retries = landed.op.retry_policy
            assert retries is not None
            assert retries.max_retries == 3


def test_an_unknown_source_is_refused_with_the_list_of_sources() -> None:
    result = CliRunner().invoke(sankofa, ["ingest", "nonsense"])
    assert result.exit_code != 0
    assert "unknown source: nonsense; `sankofa sources` lists all" in result.output


def test_a_live_source_without_a_contact_says_what_to_set() -> None:
    result = CliRunner().invoke(sankofa, ["ingest", "worldbank", "--live"])
    assert result.exit_code != 0
    assert "set SANKOFA_CONTACT" in result.output


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    with Replay() as replay:
        for key in ("H10", "GLEIF_API", "XBRL_FILINGS"):
            monkeypatch.setenv(f"SANKOFA_BASE_{key}", replay.base)
        yield replay


H10 = b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n"


def test_the_terminal_reports_every_source_and_the_sample_world_is_not_mixed_with_live_documents(
    server: Replay,
) -> None:
    runner = CliRunner()
    assert runner.invoke(sankofa, ["sample"]).exit_code == 0
    result = runner.invoke(sankofa, ["ingest", "ecb", "gleif"])
    assert result.exit_code == 0, result.output
    assert re.search(r"ecb +41 documents, 41 new; [0-9,]+ read, [0-9,]+ appended", result.output)
    second = runner.invoke(sankofa, ["ingest", "ecb"])
    assert "41 documents, 0 new; nothing new" in second.output
    live = runner.invoke(sankofa, ["ingest", "h10", "--live"])
    assert "this home holds the sample world, which is fictional" in live.output
    assert live.exit_code == 1
    assert server.requests == []


def test_a_home_of_real_documents_does_not_read_the_sample_world(
    home: Path, server: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_H10_CADENCES", "monthly")
    server.on("/monthly.csv", Reply(H10))
    live = CliRunner().invoke(sankofa, ["ingest", "h10", "--live"])
    document = home / "sample" / "h10" / "2024-03-01" / "annual.csv"
    document.parent.mkdir(parents=True)
    document.write_bytes(H10)
    again = CliRunner().invoke(sankofa, ["ingest", "h10"])
    sample = CliRunner().invoke(sankofa, ["sample"])

    assert "1 documents, 1 new; 1 read, 1 appended" in live.output
    assert "0 documents, 0 new; nothing new" in again.output
    assert sample.exit_code == 1
    assert "set SANKOFA_HOME to another folder for that world" in sample.output
    (document_landed,) = Landing(str(home / "landing")).documents("h10")
    assert document_landed.url.startswith("https://raw.githubusercontent.com/datasets/")


def test_lei_records_are_ingested_from_the_api(
    server: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_GLEIF_COUNTRIES", "MU")
    record = {
        "type": "lei-records",
        "id": "213800WAVVOPS85N2205",
        "attributes": {
            "lei": "213800WAVVOPS85N2205",
            "entity": {
                "legalName": {"name": "London Stock Exchange Group plc"},
                "category": "GENERAL",
                "status": "ACTIVE",
                "jurisdiction": "GB",
            },
            "registration": {"status": "ISSUED", "lastUpdateDate": "2024-01-01T00:00:00Z"},
        },
    }
    answer = {"meta": {"pagination": {"lastPage": 1, "total": 1}}, "data": [record]}
    server.on("/api/v1/lei-records", Reply(json.dumps(answer).encode()))

    result = CliRunner().invoke(sankofa, ["ingest", "gleif-api", "--live"])

    assert "1 documents, 1 new; 2 read, 2 appended" in result.output, result.output


@pytest.mark.parametrize("way", ["--live", "--sample"])
def test_a_source_whose_licence_does_not_permit_serving_is_refused_before_any_request(
    home: Path, server: Replay, way: str
) -> None:
    report = home / "sample" / "xbrl-filings" / "2024-03-01" / "report.json"
    report.parent.mkdir(parents=True)
    report.write_text("{}")

    result = CliRunner().invoke(sankofa, ["ingest", "xbrl-filings", way])

    assert result.exit_code != 0
    assert "xbrl-filings is refused: its licence (None stated" in result.output
    assert "does not permit serving" in result.output
    assert server.requests == []
    assert not (home / "landing").exists()


def test_all_sources_are_those_whose_licence_permits_serving() -> None:
    result = CliRunner().invoke(sankofa, ["ingest"])
    assert result.exit_code == 0, result.output
    assert "xbrl-filings" not in result.output
    assert "gleif-api" in result.output
