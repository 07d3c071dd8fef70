"""Sources are fetched by the clock; what depends on them follows as soon as it can."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from pipelines.definitions import definitions
from pipelines.stages import STAGES
from warehouse.shared.settings import read_settings


@pytest.fixture
def defs(tmp_path: Path) -> dg.Definitions:
    return definitions(read_settings({"SANKOFA_HOME": str(tmp_path)}))


BEFORE, AFTER = datetime(2026, 3, 16, 2, 59, tzinfo=UTC), datetime(2026, 3, 16, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("source", "first", "last", "number"),
    [
        ("za_etenders", "2026-02-14", "2026-03-16", 31),
        ("ecb", "2026-02-01", "2026-03-01", 2),
        ("sec_submissions", "00", "15", 16),
    ],
)
def test_every_night_what_may_have_changed_is_fetched_again(
    defs: dg.Definitions, source: str, first: str, last: str, number: int
) -> None:
    key = dg.AssetKey(f"{source}_landed")
    selection = dg.AssetSelection.assets(key)
    with dg.DagsterInstance.ephemeral() as instance:
        before = dg.evaluate_automation_conditions(
            defs, instance, selection, evaluation_time=BEFORE
        )
        after = dg.evaluate_automation_conditions(
            defs, instance, selection, evaluation_time=AFTER, cursor=before.cursor
        )
        later = dg.evaluate_automation_conditions(
            defs, instance, selection, evaluation_time=AFTER.replace(hour=9), cursor=after.cursor
        )
    assert before.total_requested == later.total_requested == 0
    partitions = sorted(filter(None, after.get_requested_partitions(key)))
    assert (partitions[0], partitions[-1], len(partitions)) == (first, last, number)


def test_what_was_fetched_is_loaded_and_published_whenever_it_comes(defs: dg.Definitions) -> None:
    landed, table = dg.AssetKey("ecb_landed"), dg.AssetKey("ecb_macro_series")
    graph = dg.AssetSelection.assets(*STAGES)
    selection = dg.AssetSelection.assets(table) | graph
    with dg.DagsterInstance.ephemeral() as instance:
        before = dg.evaluate_automation_conditions(defs, instance, selection)
        instance.report_runless_asset_event(dg.AssetMaterialization(landed, partition="2026-02-01"))
        loading = dg.evaluate_automation_conditions(defs, instance, selection, cursor=before.cursor)
        instance.report_runless_asset_event(dg.AssetMaterialization(table))
        publishing = dg.evaluate_automation_conditions(
            defs, instance, selection, cursor=loading.cursor
        )
    assert before.total_requested == 0
    assert loading.get_num_requested(table) == 1
    # All in one run.
    for name in ("snapshot", "metrics", "quality", "exports", "published_build"):
        assert (
            loading.get_num_requested(dg.AssetKey(name))
            + publishing.get_num_requested(dg.AssetKey(name))
            >= 1
        ), name


def test_fetching_starts_by_itself_only_with_a_contact(tmp_path: Path) -> None:
    for contact, fetching in (("", "STOPPED"), ("data@example.org", "RUNNING")):
        environment = {"SANKOFA_HOME": str(tmp_path), "SANKOFA_CONTACT": contact}
        repository = definitions(read_settings(environment)).get_repository_def()
        status = {sensor.name: sensor.default_status.value for sensor in repository.sensor_defs}
        assert status["fetch_every_night"] == fetching
        assert status["load_and_publish"] == "RUNNING"
