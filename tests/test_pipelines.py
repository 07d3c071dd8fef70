"""The jobs, schedules and the terminal: what runs when, and what a person sees."""

from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner

from assets.live import FETCH
from pipelines.command import sankofa
from pipelines.definitions import definitions
from pipelines.sources import SOURCES


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    monkeypatch.delenv("SANKOFA_CONTACT", raising=False)
    return tmp_path


def test_every_source_has_its_assets() -> None:
    keys = {
        key.to_user_string() for key in definitions().resolve_asset_graph().get_all_asset_keys()
    }
    for source in SOURCES:
        name = source.key.replace("-", "_")
        assert name in keys
        assert (f"{name}_landed" in keys) == (source.key in FETCH)


def test_every_live_source_is_fetched_on_a_schedule_and_retried() -> None:
    repository = definitions().get_repository_def()
    names = {schedule.name for schedule in repository.schedule_defs}
    for source in SOURCES:
        if source.key in FETCH:
            landed = f"{source.key.replace('-', '_')}_landed"
            assert f"fetch_{landed}_schedule" in names
            retries = repository.assets_defs_by_key[dg.AssetKey(landed)].op.retry_policy
            assert retries is not None
            assert retries.max_retries == 3


def test_a_new_file_asks_for_a_load_once(home: Path) -> None:
    [sensor] = definitions().get_repository_def().sensor_defs
    document = home / "sample" / "ecb" / "2026-01-01" / "a.csv"
    document.parent.mkdir(parents=True)
    document.write_text("KEY\n")
    with dg.build_sensor_context(cursor=None) as context:
        first = sensor.evaluate_tick(context)
    assert len(first.run_requests or []) == 1
    with dg.build_sensor_context(cursor=first.cursor) as context:
        again = sensor.evaluate_tick(context)
    assert not again.run_requests
    assert again.skip_message == "no new file"


def test_the_terminal_says_what_came_of_each_source() -> None:
    runner = CliRunner()
    assert runner.invoke(sankofa, ["sample"]).exit_code == 0
    said = runner.invoke(sankofa, ["ingest", "ecb", "gleif"])
    assert said.exit_code == 0, said.output
    assert "ecb" in said.output
    assert "41 documents, 41 new; 1,261 read" in said.output
    again = runner.invoke(sankofa, ["ingest", "ecb"])
    assert "41 documents, 0 new; nothing new" in again.output


def test_an_unknown_source_is_named_with_those_there_are() -> None:
    said = CliRunner().invoke(sankofa, ["ingest", "nonsense"])
    assert said.exit_code != 0
    assert "nonsense is no source; one of sec-companyfacts" in str(said.exception)


def test_a_live_source_without_a_contact_says_what_to_set() -> None:
    said = CliRunner().invoke(sankofa, ["ingest", "worldbank", "--live"])
    assert said.exit_code != 0
    assert "set SANKOFA_CONTACT" in said.output
