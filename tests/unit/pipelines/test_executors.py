"""Dagster's storage and executor follow from settings."""

import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from pipelines.dagster_home import create_dagster_home
from pipelines.executors import executor
from warehouse.errors import SankofaError
from warehouse.settings import SettingError, Settings, read_settings


def settings(home: Path, **values: str) -> Settings:
    return read_settings({"SANKOFA_HOME": str(home), **values})


def test_without_a_setting_steps_run_in_the_process_of_the_run(tmp_path: Path) -> None:
    assert executor(settings(tmp_path)) is dg.in_process_executor


def test_a_broker_gives_steps_to_celery_and_its_password_to_nobody(tmp_path: Path) -> None:
    pytest.importorskip("dagster_celery", reason="left out: install the extra `workers`")
    chosen = executor(settings(tmp_path, SANKOFA_EXECUTOR="redis://:secret@queue/1"))
    assert chosen.name == "celery"
    defaults = str(chosen.config_schema.config_type) + repr(vars(chosen))
    assert "secret" not in defaults


def test_an_executor_that_is_not_installed_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dagster_k8s", None)
    with pytest.raises(SankofaError, match=r"pip install -e .\[kubernetes\]"):
        executor(settings(tmp_path, SANKOFA_EXECUTOR="kubernetes"))


def test_other_executors_and_drivers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="SANKOFA_EXECUTOR is 'amqp://queue'; give nothing, "):
        settings(tmp_path, SANKOFA_EXECUTOR="amqp://queue")
    with pytest.raises(SettingError, match=r"begins with postgresql\+psycopg2://"):
        settings(tmp_path, SANKOFA_RUNS="postgresql://host/dagster")


def test_runs_in_postgresql_are_configured_by_name_and_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "dagster" / "dagster.yaml"
    address = "postgresql+psycopg2://user:secret@host/dagster"
    create_dagster_home(settings(tmp_path, SANKOFA_RUNS=address))
    storage = yaml.safe_load(file.read_text())["storage"]
    assert storage == {"postgres": {"postgres_url": {"env": "SANKOFA_RUNS"}}}
    create_dagster_home(settings(tmp_path))
    assert "storage" not in yaml.safe_load(file.read_text())
