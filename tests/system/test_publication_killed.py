"""Killed at any moment of publishing, the old build answers and the next publication is whole."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assets.exports.signing import verify_export
from quality.history import history
from tests.helpers.installation import BriefPublication, publication, settings_of
from tests.helpers.postgres_server import new_database, postgres
from tests.helpers.random_world import everything
from tests.helpers.record_rows import load
from tests.helpers.thoroughness import times
from warehouse.exports.published import PublishedExports
from warehouse.mart.builds import builds_at
from warehouse.record.store import Record

MODULE = (sys.executable, "-m", "tests.helpers.killed_publications")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def marts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "home" / "marts")
        return
    with postgres() as server:
        yield new_database(server)


def test_killed_at_any_moment_the_old_build_answers_and_the_next_one_is_whole(
    marts: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    moments = "3" if marts.startswith("postgres") else str(times(5))
    completed = subprocess.run(
        [*MODULE, "states", str(home), marts, moments],
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
    assert after["exported"] == after["begun"] == after["pages"] == sorted(after["builds"])
    assert (after["staged"], after["partial"]) == ([after["current"], "builds", "steps"], [])
    exports = settings_of(home).exports
    for version in PublishedExports(exports).versions():
        assert not verify_export(exports, version)
    measured = set(history(Record(settings_of(home).record))["data_version"].to_pylist())
    assert {first, after["current"]} <= measured <= set(after["builds"])


def _reached(state: dict[str, Any], first: str) -> str:
    if state["current"] != first:
        return "switched"
    return "exporting" if len(state["begun"]) > 1 else "deriving"


def test_killed_between_a_complete_build_and_its_switch_the_next_publication_is_whole(
    marts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path / "home")
    for table, rows in everything(Random(7)).items():
        load(Record(settings.record), table, *rows)

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(type(builds_at(marts)), "switch", kill)
        with pytest.raises(KeyboardInterrupt):
            publication(settings, BriefPublication, marts=marts).run()
    assert builds_at(marts).current() is None

    published = publication(settings, BriefPublication, marts=marts).run()

    assert builds_at(marts).names() == [published] == [builds_at(marts).current()]
    assert PublishedExports(settings.exports).versions() == [published]
    assert not verify_export(settings.exports, published)
