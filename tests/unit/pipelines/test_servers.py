"""What runs servers: cores, log files, the steps of ``up``."""

import os
import re
import stat
from pathlib import Path

import pytest

from pipelines.output import Steps
from pipelines.supervisor import FILES, LogFile
from warehouse.shared.server_log import LineWriter
from warehouse.shared.settings import available_cores


def test_without_cpu_affinity_all_cores_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)

    assert len(available_cores()) == (os.cpu_count() or 1)


def test_all_files_together_stay_within_their_bytes_and_end_with_the_newest_line(
    tmp_path: Path,
) -> None:
    log = LogFile(tmp_path / "logs" / "rest.log", 40_000)
    writer = LineWriter(log.write)
    for number in range(9_000):
        writer.add(b"%030d" % number)
    writer.flush()
    log.close()
    files = sorted((tmp_path / "logs").iterdir())
    assert [file.name for file in files] == [
        "rest.log",
        *(f"rest.log.{n}" for n in range(1, FILES)),
    ]
    assert sum(file.stat().st_size for file in files) <= 40_000
    lines = [line for file in (*files[:0:-1], files[0]) for line in file.read_text().splitlines()]
    assert list(map(int, lines)) == list(range(9_000 - len(lines), 9_000))
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700


def test_a_restarted_server_goes_on_in_its_file(tmp_path: Path) -> None:
    for line in (b"one\n", b"two\n"):
        log = LogFile(tmp_path / "rest.log", 40_000)
        log.write(line)
        log.close()
    assert (tmp_path / "rest.log").read_text() == "one\ntwo\n"


def test_a_line_longer_than_a_file_is_cut_and_stops_nothing(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "rest.log", 4_000)
    writer = LineWriter(log.write)
    for line in (b"x" * 10_000, b"last"):
        writer.add(line)
    writer.flush()
    log.close()
    assert (tmp_path / "rest.log").read_text().endswith("last\n")
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 4_000


def test_a_folder_that_cannot_be_made_costs_lines_only(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file instead of the folder")
    writer = LineWriter(LogFile(tmp_path / "logs" / "rest.log", 4_000).write)
    writer.add(b"one")
    writer.flush()
    assert writer.dropped == 1


def test_each_step_is_announced_then_its_time_and_what_it_noted_follow() -> None:
    said: list[str] = []
    steps = Steps(said.append, bars=False)
    steps.total = 2
    for title in ("Loading", "Publishing"):
        with steps.step(title) as step:
            assert said[-1].endswith(f"] {title} …")
            step.show(1, 3)
            step.note(f"{title} went well")
    numbered = [re.sub(r"\d+\.\d s", "0.1 s", line) for line in said]
    assert numbered == [
        "[1/2] Loading …",
        "      done in 0.1 s",
        "      Loading went well",
        "[2/2] Publishing …",
        "      done in 0.1 s",
        "      Publishing went well",
    ]
