"""The log of a server loses lines, and counts them, where it cannot be written."""

import json
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from warehouse.shared.server_log import MOST_LINES, LineWriter, json_line


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        try:
            os.close(descriptor)
        except OSError:
            continue


def test_lines_are_written_in_their_order(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as file:
        writer = LineWriter(file.fileno())
        for number in range(1_000):
            writer.add(f"line {number}".encode())
        writer.flush()
    assert (tmp_path / "log").read_text().split("\n") == [f"line {n}" for n in range(1_000)] + [""]
    assert writer.dropped == 0


def test_a_reader_that_does_not_read_costs_lines_and_is_told_how_many(
    pipe: tuple[int, int],
) -> None:
    read, write = pipe
    writer = LineWriter(write)
    # A pipe holds 64 kB: the rest waits, and the last lines find no room.
    for number in range(MOST_LINES + 5_000):
        writer.add(f"{number:0100d}".encode())
    assert writer.dropped > 0
    received: list[bytes] = []
    reader = threading.Thread(
        target=lambda: received.extend(iter(lambda: os.read(read, 4_096), b""))
    )
    reader.start()
    writer.flush(30)
    writer.add(b"one more")
    writer.flush(30)
    os.close(write)
    reader.join(30)
    *lines, last = b"".join(received).decode().splitlines()
    notices = [json.loads(line) for line in lines if line.startswith("{")]
    assert last == "one more"
    assert len(lines) - len(notices) == MOST_LINES + 5_000 - writer.dropped
    assert sum(notice["lines_dropped"] for notice in notices) == writer.dropped


def test_a_reader_that_is_gone_costs_every_line_and_nothing_else(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.close(read)
    writer = LineWriter(write)
    for number in range(100):
        writer.add(f"line {number}".encode())
    writer.flush()
    assert writer.dropped == 100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="left out: needs Linux's /dev/full")
def test_a_full_disk_costs_lines_until_there_is_room_again(tmp_path: Path) -> None:
    full, descriptor = os.open("/dev/full", os.O_WRONLY), os.open(os.devnull, os.O_WRONLY)
    os.dup2(full, descriptor)
    writer = LineWriter(descriptor)
    writer.add(b"lost")
    writer.flush()
    assert writer.dropped == 1
    with (tmp_path / "log").open("ab") as file:
        os.dup2(file.fileno(), descriptor)
    writer.add(b"kept")
    writer.flush()
    os.close(full)
    os.close(descriptor)
    notice, kept = (tmp_path / "log").read_text().splitlines()
    assert json.loads(notice)["lines_dropped"] == 1 and kept == "kept"


def test_without_stderr_lines_are_counted(tmp_path: Path) -> None:
    writer = LineWriter(None)
    writer.add(b"nowhere")
    writer.flush()
    assert writer.dropped == 1


def test_a_forked_process_writes_its_own_lines_and_none_of_its_parent(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as file:
        writer = LineWriter(file.fileno())
        writer.add(b"of the parent")
        child = os.fork()
        if not child:
            writer.add(b"of the child")
            writer.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        writer.flush()
    lines = (tmp_path / "log").read_text().splitlines()
    assert sorted(lines) == ["of the child", "of the parent"]


def test_a_record_is_one_json_line_without_keys() -> None:
    key = "sk_live_" + "a" * 32
    try:
        raise ValueError(f"two\nlines and {key}")
    except ValueError as error:
        raised = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("sankofa.x", logging.ERROR, "", 1, "of %s", (key,), raised)
    line = json_line(record)
    assert key not in line and "\n" not in line
    decoded = json.loads(line)
    assert (decoded["level"], decoded["logger"]) == ("error", "sankofa.x")
    assert decoded["time"].endswith("Z") and "ValueError: two\nlines" in decoded["exception"]
