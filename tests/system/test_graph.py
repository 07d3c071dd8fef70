"""The graph of a publication: each asset by itself, over one frozen snapshot of the record."""

import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from assets.ingest.assets import ALIVE
from assets.ingest.sources import SOURCES
from pipelines.definitions import published_assets, publishing_resource
from pipelines.ingest_definitions import alive_resource
from pipelines.stages import NODES, STAGES, WHOLE_SUITES, derivations, suites_of
from quality.suites import SUITES
from tests.helpers.exports import load, party_row
from tests.helpers.facts import fact
from tests.helpers.installation import settings_of
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.publish.builds import builds_at
from warehouse.publish.snapshot import DerivedTables, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, TENDER_PARTIES


@cache
def assets() -> list[dg.AssetsDefinition]:
    """What is the same for every home."""
    return list(published_assets(SOURCES))


class Home:
    """A small record, and what Dagster needs to publish it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.record = folder, Record(str(folder / "record"))
        changed = {"withheld_key": WITHHELD_KEY, "keep_builds": 3, "processes": 1}
        self.settings = settings_of(folder).model_copy(update=changed)
        self.resources = {
            ALIVE: alive_resource(self.settings),
            "publishing": publishing_resource(self.settings),
        }

    @property
    def current(self) -> str | None:
        return builds_at(self.settings.marts).current()

    def run(self, *names: str) -> dg.ExecuteInProcessResult:
        """Materialise some assets, or all of them."""
        return dg.materialize(
            assets(),
            selection=list(names) or None,
            resources=self.resources,
            raise_on_error=False,
        )


@dataclass(frozen=True)
class Published:
    """A home and the two runs that published it: one that was interrupted, then a whole one."""

    home: Home
    begun: dg.ExecuteInProcessResult
    whole: dg.ExecuteInProcessResult

    def copy(self, folder: Path) -> Home:
        shutil.copytree(self.home.folder, folder, dirs_exist_ok=True)
        return Home(folder)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    home = Home(tmp_path_factory.mktemp("graph"))
    load(home.record, FUNDAMENTALS, fact())
    load(home.record, TENDER_PARTIES, party_row("Ubuntu Fictional Mining Ltd"))
    begun = home.run("snapshot", "registers", "same_as", "figures")
    assert begun.success and home.current is None
    return Published(home, begun, home.run())


def materialised(result: dg.ExecuteInProcessResult) -> set[str]:
    events = result.get_asset_materialization_events()
    return {event.asset_key.to_user_string() for event in events if event.asset_key}


def started(result: dg.ExecuteInProcessResult) -> set[str]:
    return {str(event.step_key) for event in result.all_events if event.is_step_start}


def metadata(result: dg.ExecuteInProcessResult, name: str) -> dict[str, Any]:
    [event] = [
        event
        for event in result.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey(name)
    ]
    values = event.step_materialization_data.materialization.metadata
    return {label: value.value for label, value in values.items()}


def failure(result: dg.ExecuteInProcessResult) -> str:
    return str(next(event for event in result.all_events if event.is_step_failure))


def results(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    """Return which checks passed, by asset and name."""
    return {
        f"{check.asset_key.to_user_string()} {check.check_name}": check.passed
        for check in result.get_asset_check_evaluations()
    }


def test_a_publication_that_was_interrupted_is_taken_up_again(published: Published) -> None:
    assert published.whole.success
    assert materialised(published.whole) == set(STAGES)
    assert published.home.current == metadata(published.begun, "snapshot")["data_version"]
    assert metadata(published.whole, "published_build")["data_version"] == published.home.current


def test_every_suite_is_a_check_of_the_asset_at_which_all_that_it_reads_is_made(
    published: Published,
) -> None:
    checked = [suite for node in NODES for suite in suites_of(node)]
    names = [suite.name for suite in (*checked, *WHOLE_SUITES)]
    assert sorted(names) == sorted(suite.name for suite in SUITES)
    passed = results(published.whole)
    assert all(passed.values())
    for node in NODES:
        for suite in suites_of(node):
            assert f"{node.name} {suite.name.replace('.', '_')}" in passed
    assert {"quality floors", "quality losses", "quality left_out"} <= passed.keys()


def test_metrics_alone_are_made_again_and_nothing_readable_changes(published: Published) -> None:
    home, before = published.home, published.home.current

    alone = home.run("metrics")

    assert materialised(alone) == {"metrics"}
    assert metadata(alone, "metrics") == metadata(published.whole, "metrics")
    assert results(alone) == {"metrics served_metrics": True, "metrics served_metrics_absent": True}
    # What is published never changes.
    for name in ("quality", "exports", "mart", "published_build"):
        assert "is published, and its files never change" in failure(home.run(name))
    assert home.current == before


def test_without_a_change_nothing_runs_and_no_check_reports_a_result(published: Published) -> None:
    home, before = published.home, published.home.current

    again = home.run()

    assert again.success and home.current == before
    assert materialised(again) == set()
    assert started(again) == {"snapshot"}
    assert results(again) == {}


def test_a_failing_check_blocks_exactly_what_depends_on_it(
    published: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = published.copy(tmp_path / "home")
    before = home.current

    def twice(snapshot: Snapshot) -> DerivedTables:
        return {name: pa.concat_tables([rows, rows]) for name, rows in matches(snapshot).items()}

    joins, parties, *others = derivations()
    matches = parties.derive
    faulty = replace(parties, version="faulty", derive=twice)
    monkeypatch.setattr("pipelines.stages.derivations", lambda _: (joins, faulty, *others))

    failed = home.run()

    assert not failed.success and home.current == before
    assert "no two rows have the same" in failure(failed)
    blocked = {"signals", "quality", "exports", "mart", "published_build"}
    assert materialised(failed) == set(STAGES) - blocked
    assert started(failed).isdisjoint(blocked)
    passed = results(failed)
    assert [name for name in passed if not passed[name]] == ["party_matches served_party_matches"]
    assert not any(name.startswith(("signals", "quality")) for name in passed)
    # Of what is not there, nothing can be made.
    assert "`signals` of " in failure(home.run("quality"))

    monkeypatch.undo()
    assert home.run().success is True and home.current == before


def test_an_asset_without_a_publication_says_what_to_do(tmp_path: Path) -> None:
    home = Home(tmp_path)
    load(home.record, FUNDAMENTALS, fact())
    why = failure(home.run("metrics"))
    assert "no publication has been begun in" in why and "materialise `snapshot`" in why
