"""One table of processes: the compose file and the systemd units say the same."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.forms import COMPOSE, UNITS, forms
from deploy.local import Deployment
from deploy.processes import BY_NAME, PROCESSES
from warehouse.settings import SETTINGS


def test_the_written_forms_are_those_of_the_table() -> None:
    texts = forms()
    assert {COMPOSE, *UNITS.iterdir()} == texts.keys()
    stale = [file.name for file, text in texts.items() if file.read_text() != text]
    assert stale == [], "run `python -m deploy write`"


def test_every_process_that_stays_has_a_health_check_in_every_form() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    assert services.keys() == BY_NAME.keys()
    for process in PROCESSES:
        unit = (UNITS / f"sankofa-{process.name}.service").read_text()
        assert ("healthcheck" in services[process.name]) is not process.once
        assert ("ExecStartPost=" in unit) is not process.once
        assert bool(process.health.path or process.health.command) is not process.once


def test_the_set_is_two_of_each_surface_with_their_stores_dagster_and_spark() -> None:
    expected = {
        *("rest-1", "rest-2", "mcp-1", "mcp-2", "dagster-daemon", "dagster-web"),
        *("dagster-worker-1", "dagster-worker-2", "postgres", "keys", "usage"),
        *("object-store", "bucket", "spark", "spark-worker-1", "spark-worker-2"),
        "metrics",
    }
    assert {process.name for process in PROCESSES} == expected


def test_only_this_machine_reaches_a_port_and_nobody_starts_runs_from_another_container() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports and all(port.startswith("127.0.0.1:") for port in ports)
    assert "--read-only" in services["dagster-web"]["command"][-1]
    for unit in UNITS.glob("*.service"):
        assert "0.0.0.0" not in unit.read_text()


def test_what_a_process_waits_for_is_declared_before_it() -> None:
    seen: set[str] = set()
    for process in PROCESSES:
        assert {*process.after, *process.requires} <= seen, process.name
        seen.add(process.name)


def test_what_processes_provide_are_settings_that_exist() -> None:
    known = {setting.name for setting in SETTINGS.values()}
    provided = {name for process in PROCESSES for name in process.provides}
    assert {name for name in provided if name.startswith("SANKOFA_")} <= known


def test_no_secret_stands_in_a_form() -> None:
    for file, text in forms().items():
        assert "change-me" not in text, file


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("left out: systemd-analyze is not installed")
    units = [str(file) for file in UNITS.iterdir() if file.suffix != ".env"]
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_what_is_missing_is_left_out_with_all_that_requires_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.machine.search_path", lambda: str(tmp_path))
    deployment = Deployment(tmp_path / "deployment")
    assert deployment.left_out["postgres"] == "initdb is not installed"
    assert deployment.left_out["dagster-worker-1"] == "usage is left out"
    assert deployment.health("postgres") == "left out: initdb is not installed"
    # Without their servers, builds, keys and runs are files of the home.
    environment = deployment.environment()
    assert {"SANKOFA_MARTS", "SANKOFA_CONTROL", "SANKOFA_EXECUTOR"}.isdisjoint(environment)
