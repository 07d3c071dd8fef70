"""Dagster's storage follows from settings."""

from pathlib import Path

import dagster as dg
import pytest
import yaml

from pipelines.dagster_home import create_dagster_home
from pipelines.jobs import instance
from tests.helpers.installation import with_dagster
from warehouse.shared.settings import Settings, read_settings


def settings(home: Path, **values: str) -> Settings:
    return read_settings({"SANKOFA_HOME": str(home), **values})


def test_runs_in_postgresql_are_configured_by_name_and_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "dagster" / "dagster.yaml"
    address = "postgresql+psycopg2://user:secret@host/dagster"
    create_dagster_home(settings(tmp_path, SANKOFA_RUNS=address))
    storage = yaml.safe_load(file.read_text())["storage"]
    assert storage == {"postgres": {"postgres_url": {"env": "SANKOFA_RUNS"}}}
    create_dagster_home(settings(tmp_path))
    assert "storage" not in yaml.safe_load(file.read_text())


def test_runs_whose_process_was_killed_start_again(tmp_path: Path) -> None:
    create_dagster_home(settings(tmp_path))
    ours = yaml.safe_load((tmp_path / "dagster" / "dagster.yaml").read_text())
    assert ours["run_retries"] == {
        "enabled": True,
        "max_retries": 2,
        "retry_on_asset_or_op_failure": False,
    }


def test_a_command_and_dagsters_page_read_what_the_other_stores_while_both_are_open(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with_dagster(tmp_path_factory, tmp_path)
    here, asset = settings(tmp_path), dg.AssetKey("rows")
    with instance(here) as command, dg.DagsterInstance.from_config(str(here.dagster)) as page:
        for number, writer in enumerate([command, page, command], start=1):
            writer.report_runless_asset_event(dg.AssetObservation(asset))
            for reader in (command, page):
                assert len(reader.fetch_observations(asset, limit=9).records) == number
