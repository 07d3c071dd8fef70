"""Killed at any moment of publishing, the old build answers and the next publication is whole."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.dagster_home import killed_runs
from pipelines.jobs import instance
from quality.report import history
from tests.helpers.exports import verify_export
from tests.helpers.facts import fact
from tests.helpers.installation import sample_home, settings_of
from tests.helpers.made_once import copy_of
from tests.helpers.publishing import publish
from tests.helpers.reads import facts_known
from tests.helpers.record_rows import load
from warehouse.publish.builds import Builds, builds_at
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports

MODULE = (sys.executable, "-m", "tests.helpers.killed_publications")
Line = dict[str, Any]


def lines_of(*words: str) -> list[Line]:
    """Return what a trial prints."""
    completed = subprocess.run([*MODULE, *words], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return [json.loads(line) for line in completed.stdout.splitlines()]


@dataclass(frozen=True)
class Trial:
    """Publications of one home that were ended at a few moments, and then a whole one."""

    home: Path
    terminated: Line
    states: list[Line]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    home = copy_of(sample_home(tmp_path_factory), "killed", tmp_path_factory)
    terminated, *states = lines_of("few", str(home))
    return Trial(home, terminated, states)


def require_whole(home: Path, states: list[Line], least: int) -> None:
    """Require that the old build answered after every kill, and that the last one is whole."""
    before, *kills, after = states
    (first,) = before["builds"]

    assert len(kills) >= least
    for kill in kills:
        old = kill["current"] == first
        assert old == kill["same"]
        assert kill["current"] in kill["builds"] and kill["current"] in kill["exported"]
        assert kill["latest"] in kill["exported"]
    assert {_reached(kill, first) for kill in kills} >= {"deriving", "exporting"}

    assert not after["same"]
    assert after["current"] == after["latest"] == after["builds"][-1] != first
    assert after["exported"] == after["begun"] == sorted(after["builds"])
    staged = [after["current"], "builds", "searched.msgpack", "steps"]
    assert (after["staged"], after["partial"]) == (staged, [])
    exports = settings_of(home).exports
    for version in PublishedExports(exports).versions():
        assert not verify_export(exports, version)
    measured = set(history(Record(settings_of(home).record))["data_version"].to_pylist())
    assert {first, after["current"]} <= measured <= set(after["builds"])


def _reached(state: Line, first: str) -> str:
    if state["current"] != first:
        return "switched"
    return "exporting" if len(state["begun"]) > 1 else "deriving"


def test_killed_at_any_moment_the_old_build_answers_and_the_next_one_is_whole(trial: Trial) -> None:
    # Twice as a command, before its export and in it.
    require_whole(trial.home, trial.states, 4)


@pytest.mark.nightly
def test_killed_at_many_moments_the_old_build_answers_and_the_next_one_is_whole(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home = copy_of(sample_home(tmp_path_factory), "killed", tmp_path_factory)
    require_whole(home, lines_of("states", str(home), "30"), 15)


def test_killed_again_and_again_also_while_cleaning_up_the_next_publication_waits_for_nobody(
    trial: Trial,
) -> None:
    """``python -m tests.helpers.killed_publications`` does so 60 times, at every step."""
    *kills, last = (state["attempt"] for state in trial.states if state["attempt"])
    moments = ["start of snapshot", "after marking"]
    assert [kill["moment"] for kill in kills if kill["killed"]] == moments
    assert last["switched"] and not last["waited"], last
    settings = settings_of(trial.home)
    assert killed_runs(settings) == []
    with instance(settings) as dagster_instance:
        (succeeded, *failed) = dagster_instance.get_runs()
    assert succeeded.is_success
    # The one that was terminated, and the one that was killed as it began: the other one was
    # killed while it cleaned up and had no run of its own yet.
    assert [run.status for run in failed] == [dg.DagsterRunStatus.FAILURE] * 2


def test_a_publication_says_what_it_waits_for_and_ends_at_once_when_it_is_terminated(
    trial: Trial,
) -> None:
    terminated = trial.terminated
    words = f"waiting for the builds, in use by process {terminated['lock']} on "
    assert terminated["output"].startswith(words)
    assert terminated["status"] == 1 and "Aborted!" in terminated["output"]
    # Its run had ended by itself: otherwise the next command would have been the one to mark it.
    assert terminated["runs"] == ["FAILURE"] and terminated["killed_runs"] == 0


def test_killed_between_a_complete_build_and_its_switch_the_next_publication_is_whole(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marts = tmp_path / "marts"
    load(record, FUNDAMENTALS, fact())

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(Builds, "switch", kill)
        with pytest.raises(KeyboardInterrupt):
            publish(record, marts)
    assert builds_at(marts).current() is None

    published = publish(record, marts)

    assert builds_at(marts).names() == [published] == [builds_at(marts).current()]
    known = facts_known(Mart(marts), fact()["service_id"])
    assert known is not None and len(known.rows) == 1
