"""What the kernel knows of a server: the CPU and the memory of its processes."""

import os
from collections.abc import Iterator
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process and its children have used.

    On a machine that others use too, compare these: who has more threads is given more turns.
    """
    ticks = 0
    for each in _family(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def private_mb(pid: int) -> float:
    """Return the private memory of the largest of a process and its children, in MB."""
    return max(map(_private_mb, _family(pid)))


def _private_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["RssAnon"].split()[0]) / 1024


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from _family(int(child))
