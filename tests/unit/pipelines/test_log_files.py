"""Log files take no more of the disk than they may, and keep the newest lines."""

import stat
from pathlib import Path

from pipelines.supervisor import FILES, LogFile
from warehouse.server_log import LineWriter


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
