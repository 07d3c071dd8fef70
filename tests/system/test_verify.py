"""``sankofa verify`` finds one flipped bit in a file of any kind, and makes again what can be."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipelines.commands import verify
from pipelines.commands.main import sankofa
from pipelines.dagster_home import PUBLISH
from pipelines.jobs import run_job
from tests.helpers.damage import KINDS, MADE_AGAIN, copy_home, current, flip, small_home
from tests.helpers.installation import (
    BriefPublication,
    publication,
    run_command,
    settings_of,
)
from tests.helpers.whole_tables import query
from warehouse.record.integrity import damaged_files, note_files
from warehouse.record.store import open_record
from warehouse.serve.build import Mart
from warehouse.shared.settings import Settings


@pytest.fixture
def home(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        if name != "SANKOFA_TURNS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    return copy_home(small_home(tmp_path_factory), tmp_path / "home")


def verified(*options: str) -> tuple[int, Any]:
    completed = CliRunner().invoke(sankofa, ["verify", "--json", *options])
    assert completed.exception is None or completed.exit_code, completed.output
    return completed.exit_code, json.loads(completed.stdout)


def test_a_home_as_it_was_written_is_intact(home: Path) -> None:
    assert verified() == (0, {"repaired": 0, "damaged": []})


# Kinds whose damage hides that of others: those of one row are tried in one home, and in another
# all that hide nothing.
HIDING = (
    ("manifest", "export manifest", "index of the record", "mark of the landing"),
    ("pointer", "list of the record", "published versions"),
    ("Delta log",),
)
TOGETHER = (tuple(kind for kind in KINDS if not any(kind in kinds for kinds in HIDING)), *HIDING)
# What says that a file is damaged or gone; of other kinds, it is the name of the file.
FLIPPED = {
    "manifest": "its manifest cannot be read",
    "pointer": "pointer",
    "list of the record": "the list of checks is damaged",
    "document": "Data corruption detected",
}
DELETED = {
    "manifest": "names it, and it is not there",
    "export manifest": "names exports that are missing",
    "pointer": "pointer",
}
# Without its list or index a file counts as new, without its note a document as never read; the
# documents say of which world they are.
HARMLESS = (
    *("list of the record", "index of the record", "list of steps", "note of a document"),
    "mark of the landing",
)


def of_kind(found: Any, text: str) -> list[Any]:
    """Return the findings about a kind of file."""
    return [damage for damage in found["damaged"] if text in f"{damage['what']}: {damage['says']}"]


@pytest.mark.parametrize("kinds", TOGETHER, ids=range(len(TOGETHER)))
def test_one_flipped_bit_is_found(home: Path, kinds: tuple[str, ...]) -> None:
    files = {kind: KINDS[kind](home) for kind in kinds}
    for file in files.values():
        flip(file)
    status, found = verified()
    assert status == 1
    assert all(damage["says"] and damage["do"] for damage in found["damaged"])
    for kind, file in files.items():
        damaged = of_kind(found, FLIPPED.get(kind, file.name))
        assert damaged, kind
        if kind in MADE_AGAIN:
            assert all(damage["remake"] for damage in damaged), kind


@pytest.mark.parametrize("kinds", TOGETHER, ids=range(len(TOGETHER)))
def test_a_deleted_file_is_found(home: Path, kinds: tuple[str, ...]) -> None:
    files = {kind: KINDS[kind](home) for kind in kinds if kind not in HARMLESS}
    for file in files.values():
        file.unlink()
    status, found = verified()
    assert status == 1
    for kind, file in files.items():
        assert of_kind(found, DELETED.get(kind, file.name)), kind


def test_without_lists_that_are_made_as_they_are_needed_nothing_is_damaged(home: Path) -> None:
    for kind in HARMLESS:
        KINDS[kind](home).unlink()
    assert verified() == (0, {"repaired": 0, "damaged": []})


def test_a_summary_says_what_can_be_made_again_and_what_needs_a_backup(home: Path) -> None:
    flip(KINDS["mart"](home))
    flip(KINDS["record"](home))
    completed = CliRunner().invoke(sankofa, ["verify"])
    assert completed.exit_code == 1
    assert "2 damaged: 1 can be made again, 1 need a backup" in completed.stdout
    assert "Restore the folder" in completed.stdout
    assert "the table fundamentals of the record is damaged" in completed.stdout


def published_briefly(settings: Settings, job: str) -> None:
    """Publish without the suites, which take seconds."""
    assert job == PUBLISH
    publication(settings, BriefPublication).run()


@pytest.mark.parametrize(
    "publish", [published_briefly, pytest.param(run_job, marks=pytest.mark.nightly)]
)
def test_repair_makes_a_build_with_the_same_rows(
    home: Path, monkeypatch: pytest.MonkeyPatch, publish: Callable[..., object]
) -> None:
    monkeypatch.setattr(verify, "run_job", publish)

    def rows() -> list[tuple[Any, ...]]:
        mart = Mart(home / "marts")
        statement = "SELECT service_id, row FROM entities ORDER BY row_number"
        found = query(mart.build(), statement)
        mart.close()
        return found

    expected, before = rows(), current(home)
    for kind in MADE_AGAIN:
        if kind != "manifest":
            flip(KINDS[kind](home))
    status, out, err = run_command(home, "verify", "--repair", "--json")
    found = json.loads(out)
    assert current(home) != before, err
    assert rows() == expected
    # Files of the mart are shared, but for what pages show of a build. Exports name their version:
    # those that it lost stay lost without a backup, and verify says what to do.
    lost = {damage["what"]: damage["do"] for damage in found["damaged"]}
    assert (status, set(lost)) == (1, {f"exports {before}", f"build {before}"})
    assert all(f"`sankofa builds drop {before}`" in do for do in lost.values())
    assert CliRunner().invoke(sankofa, ["builds", "drop", before]).exit_code == 0
    assert verified()[0] == 0


def test_files_of_the_record_are_noted_when_they_are_written(home: Path) -> None:
    record = open_record(settings_of(home))
    (home / "record" / ".checks" / "fundamentals.json").unlink()
    note_files(record)
    assert list(damaged_files(record, thorough=True)) == []
    flip(KINDS["record"](home))
    (damage,) = damaged_files(record, thorough=True)
    assert damage.table == "fundamentals"


def test_a_lost_last_commit_is_found_although_the_table_can_be_read(home: Path) -> None:
    log = home / "record" / "fundamentals" / "_delta_log"
    max(log.glob("*.json")).unlink()
    (damage,) = damaged_files(open_record(settings_of(home)))
    assert damage.says.endswith(".json: it is missing")
