"""Dagster's page explains the service: every asset, job and schedule says what it is."""

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from pipelines.dagster_home import create_dagster_home
from pipelines.definitions import definitions
from quality.suites import SUITES
from warehouse.shared.settings import read_settings

# Servers give up on each other after some seconds, and a shared machine may halt for longer: a
# test that fails is run once more, and the summary names it.
pytestmark = pytest.mark.flaky(reruns=1)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def everything() -> dg.Definitions:
    return definitions(read_settings(os.environ))


def test_every_asset_has_a_group_a_description_and_its_kinds(everything: dg.Definitions) -> None:
    specs = everything.resolve_all_asset_specs()
    assert len(specs) > 40
    for spec in specs:
        assert spec.group_name in {
            *("filings", "macro", "entities", "tenders", "record"),
            *("snapshot", "parties", "metrics", "signals", "revisions", "published"),
        }
        assert spec.description and len(spec.description.split()) > 4, spec.key
        assert spec.kinds, spec.key


def test_every_table_says_what_each_of_its_columns_means(everything: dg.Definitions) -> None:
    for spec in everything.resolve_all_asset_specs():
        if spec.kinds & {"deltalake", "duckdb"}:
            schema = spec.metadata["dagster/column_schema"]
            assert isinstance(schema, dg.TableSchema)
            assert schema.columns and all(column.description for column in schema.columns)


def test_landed_assets_link_to_their_source_and_name_the_licence(
    everything: dg.Definitions,
) -> None:
    for spec in everything.resolve_all_asset_specs():
        if "http" in spec.kinds:
            assert spec.metadata["address"].url.startswith("http")
            assert spec.metadata["licence"]


def test_every_job_and_sensor_says_what_it_does(everything: dg.Definitions) -> None:
    repository = everything.get_repository_def()
    descriptions = {
        **{job.name: job.description for job in repository.get_all_jobs()},
        **{sensor.name: sensor.description for sensor in repository.sensor_defs},
    }
    assert [
        name
        for name, description in descriptions.items()
        if not description and name != "__ASSET_JOB"
    ] == []


def test_every_check_of_the_build_blocks_and_is_described(everything: dg.Definitions) -> None:
    graph = everything.resolve_asset_graph()
    assert len(graph.asset_check_keys) == len(SUITES) + len(("floors", "left_out", "losses"))
    for key in graph.asset_check_keys:
        assert graph.get(key).blocking and graph.get(key).description


def test_whatever_requests_an_asset_requests_its_checks(everything: dg.Definitions) -> None:
    """Automation too: a check is of the step that makes its asset, not of one that may be left."""
    graph = everything.resolve_asset_graph()
    for key in graph.asset_check_keys:
        assert key in graph.get(key.asset_key).execution_set_entity_keys


def test_the_definitions_load_without_a_warning() -> None:
    script = "from pipelines.definitions import defs; defs().get_repository_def()"
    completed = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (completed.returncode, completed.stderr) == (0, "")


def test_an_edited_dagster_yaml_is_kept(home: Path) -> None:
    settings = home / "dagster" / "dagster.yaml"
    create_dagster_home(read_settings(os.environ))
    assert "managed_python_loggers" in settings.read_text() and "nux:" in settings.read_text()
    settings.write_text("telemetry:\n  enabled: true\n")
    create_dagster_home(read_settings(os.environ))
    assert settings.read_text() == "telemetry:\n  enabled: true\n"
