"""Killed at any moment of publishing, the old build answers and the next publication is whole."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.dagster_home import killed_runs
from pipelines.jobs import instance
from quality.report import history
from tests.helpers.exports import verify_export
from tests.helpers.facts import fact
from tests.helpers.installation import sankofa, settings_of
from tests.helpers.nightly import times
from tests.helpers.publishing import publish
from tests.helpers.reads import facts_known
from tests.helpers.record_rows import load
from warehouse.publish.builds import Builds, builds_at
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports

MODULE = (sys.executable, "-m", "tests.helpers.killed_publications")


def test_killed_at_any_moment_the_old_build_answers_and_the_next_one_is_whole(
    tmp_path: Path,
) -> None:
    home, moments = tmp_path / "home", str(times(3))
    completed = subprocess.run(
        [*MODULE, "states", str(home), str(home / "marts"), moments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    before, *kills, after = (json.loads(line) for line in completed.stdout.splitlines())
    (first,) = before["builds"]

    assert len(kills) >= int(moments) // 2
    for kill in kills:
        old = kill["current"] == first
        assert old == kill["same"]
        assert kill["current"] in kill["builds"] and kill["current"] in kill["exported"]
        assert kill["latest"] in kill["exported"]
    assert {_reached(kill, first) for kill in kills} >= {"exporting"}, "killed too early always"

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


def test_killed_again_and_again_also_while_cleaning_up_the_next_publication_waits_for_nobody(
    tmp_path: Path,
) -> None:
    """``python -m tests.helpers.killed_publications`` does so 60 times, at every step."""
    moments = ("start of snapshot", "after marking")
    completed = subprocess.run(
        [*MODULE, "in-a-row", str(tmp_path / "home"), *moments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    *kills, last = (json.loads(line) for line in completed.stdout.splitlines())
    assert [kill["moment"] for kill in kills if kill["killed"]] == list(moments)
    assert last["switched"] and not last["waited"], last
    settings = settings_of(tmp_path / "home")
    assert killed_runs(settings) == []
    with instance(settings) as dagster_instance:
        (succeeded, *failed) = dagster_instance.get_runs()
    assert succeeded.is_success
    # The one that was killed while it cleaned up had no run of its own yet.
    assert [run.status for run in failed] == [dg.DagsterRunStatus.FAILURE]


def test_a_publication_says_what_it_waits_for_and_ends_at_once_when_it_is_terminated(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    settings = settings_of(home)
    load(Record(settings.record), FUNDAMENTALS, fact())
    with builds_at(settings.marts).publishing_lock(), sankofa(home, "publish") as publisher:
        assert publisher.stderr is not None
        words = f"waiting for the builds, in use by process {os.getpid()} on "
        assert publisher.stderr.readline().startswith(words)
        publisher.terminate()
        # The lock is never released here: what does not answer the signal waits for ever.
        _, err = publisher.communicate(timeout=60)
    assert publisher.returncode == 1 and "Aborted!" in err
    with instance(settings) as dagster_instance:
        (run,) = dagster_instance.get_runs()
    assert run.status == dg.DagsterRunStatus.FAILURE and killed_runs(settings) == []


def _reached(state: dict[str, Any], first: str) -> str:
    if state["current"] != first:
        return "switched"
    return "exporting" if len(state["begun"]) > 1 else "deriving"


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
