"""Dagster's storage follows from settings."""

from pathlib import Path

import yaml

from pipelines.dagster_home import create_dagster_home
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
