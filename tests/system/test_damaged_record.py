"""Damage of the record, a full disk and a read-only folder are told in our words."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.damage import copy_home, flip
from tests.helpers.facts import fact
from tests.helpers.installation import run_command, settings_of, write_sample
from tests.helpers.publishing import publish
from tests.helpers.record_rows import load
from warehouse.record.integrity import note_files, require_intact
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.record.upkeep import compact
from warehouse.shared.errors import DamagedRecord, disk_failure

TABLE = "fundamentals"


def truncate_log(root: Path) -> None:
    path = max((root / TABLE / "_delta_log").glob("*.json"))
    path.write_bytes(path.read_bytes()[:200])


def delete_data(root: Path) -> None:
    max((root / TABLE).glob("*.parquet")).unlink()


def delete_log(root: Path) -> None:
    shutil.rmtree(root / TABLE / "_delta_log")


def delete_commit(root: Path) -> None:
    max((root / TABLE / "_delta_log").glob("*.json")).unlink()


def flip_data(root: Path) -> None:
    flip(Path(max(file.path for file in Record(str(root)).files(TABLE))))


def flip_log(root: Path) -> None:
    flip(max((root / TABLE / "_delta_log").glob("*.json")))


DAMAGE = [truncate_log, delete_data, delete_log, delete_commit, flip_data, flip_log]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of several loads, whose files are noted."""
    folder = tmp_path_factory.mktemp("loaded") / "record"
    record = Record(str(folder))
    for number in range(3):
        load(record, FUNDAMENTALS, fact(str(number)))
    note_files(record)
    return folder


@pytest.fixture
def noted(loaded: Path, tmp_path: Path) -> Record:
    """A copy of that record, to damage."""
    return Record(str(copy_home(loaded, tmp_path / "record")))


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__.replace("_", " "))
def test_nothing_is_published_from_a_damaged_record(
    noted: Record, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(Path(noted.root))
    with pytest.raises(DamagedRecord) as refused:
        publish(noted, tmp_path / "marts")
    said = str(refused.value)
    assert f"the table {TABLE} of the record is damaged" in said
    assert "from your backup" in said
    assert "unknown>" not in said
    assert not (tmp_path / "marts" / "current").exists()


@pytest.mark.parametrize("damage", [flip_data, delete_data])
def test_damaged_files_are_not_merged_into_whole_ones(
    noted: Record, damage: Callable[[Path], None]
) -> None:
    damage(Path(noted.root))
    files = sorted(path.name for path in Path(noted.root, TABLE).glob("*.parquet"))
    with pytest.raises(DamagedRecord):
        compact(noted, TABLE, max_small_files=1)
    assert sorted(path.name for path in Path(noted.root, TABLE).glob("*.parquet")) == files


def test_a_compaction_notes_the_files_it_makes(noted: Record) -> None:
    assert compact(noted, TABLE, max_small_files=1) is not None
    require_intact(noted, thorough=True)
    flip_data(Path(noted.root))
    with pytest.raises(DamagedRecord):
        require_intact(noted, thorough=True)


def test_a_query_of_a_missing_file_says_that_the_record_is_damaged(noted: Record) -> None:
    delete_data(Path(noted.root))
    with pytest.raises(DamagedRecord, match="backup"):
        noted.query(f"SELECT count(*) FROM {noted.relation(TABLE)}")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the documents of the sample world, of which nothing is loaded."""
    home = tmp_path_factory.mktemp("sample") / "home"
    write_sample(home)
    return home


@pytest.fixture(scope="module")
def damaged_home(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = copy_home(sample, tmp_path_factory.mktemp("damaged-record") / "home")
    settings = settings_of(home)
    record = Record(settings.record)
    load(record, FUNDAMENTALS, fact("1"))
    note_files(record)
    truncate_log(Path(settings.record))
    return home


@pytest.mark.parametrize(
    "command",
    [("ingest", "sec-companyfacts"), ("publish",), ("doctor",), ("compact",), ("verify",)],
    ids=" ".join,
)
def test_every_command_names_the_table_and_says_what_to_restore(
    damaged_home: Path, command: tuple[str, ...]
) -> None:
    status, out, err = run_command(damaged_home, *command)
    said = out + err
    assert status == 1, said
    assert f"the table {TABLE} of the record is damaged" in said
    assert "from your backup" in said
    assert "unknown>" not in said
    assert "Traceback" not in said


@pytest.mark.nightly
def test_a_full_disk_is_told_in_our_words(sample: Path, tmp_path: Path) -> None:
    home = copy_home(sample, tmp_path / "home")
    command = Path(sys.executable).with_name("sankofa")
    # No file may become larger than 8 kB, which no user needs to be root for.
    limited = f"ulimit -f 8; exec {command} ingest sec-companyfacts"
    others = {name: value for name, value in os.environ.items() if not name.startswith("SANKOFA_")}
    completed = subprocess.run(
        ["bash", "-c", limited],
        env={**others, "SANKOFA_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    said = completed.stdout + completed.stderr
    assert completed.returncode == 1, said
    assert "the disk is full" in said
    assert "Traceback" not in said


@pytest.mark.skipif(os.geteuid() == 0, reason="left out: root may write to a read-only folder")
def test_a_folder_that_cannot_be_written_is_told_in_our_words(sample: Path, tmp_path: Path) -> None:
    home = copy_home(sample, tmp_path / "home")
    home.chmod(0o500)
    try:
        status, out, err = run_command(home, "ingest", "sec-companyfacts")
    finally:
        home.chmod(0o700)
    assert status == 1
    assert "nothing can be written there" in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("IO Error: Could not write file: No space left on device", "the disk is full"),
        ("database or disk is full", "the disk is full"),
        ("[Errno 30] Read-only file system: 'record'", "nothing can be written there"),
        ("attempt to write a readonly database", "nothing can be written there"),
        ("disk I/O error", "the disk is full, or it fails"),
    ],
)
def test_what_libraries_say_of_a_disk_is_understood(said: str, words: str) -> None:
    assert str(disk_failure(said)).startswith(words)
    assert disk_failure("no such column: x") is None
