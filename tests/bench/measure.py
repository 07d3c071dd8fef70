"""Run a piece of work in a process of its own: seconds and peak memory."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Measured:
    """What one way of doing the work cost, the median of its runs."""

    seconds: float
    peak_mb: int
    output: str


def measured(module: str, way: str, *arguments: str, runs: int = 3) -> Measured:
    """Run ``module.way(*arguments)`` in fresh processes and take the medians."""
    answers = []
    for _ in range(runs):
        command = [sys.executable, "-m", "tests.bench.measure", module, way, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{way} failed:\n{done.stderr}")
        answers.append(json.loads(done.stdout.splitlines()[-1]))
    return Measured(
        median(answer["seconds"] for answer in answers),
        round(median(answer["peak_mb"] for answer in answers)),
        str(answers[-1]["output"]),
    )


def _peak_mb() -> float:
    """Return the peak memory of this process, without what it inherited at its start."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not tell the peak memory of a process")


def _run(module: str, way: str, arguments: list[str]) -> None:
    """Do the work once; what comes before the timed part is returned as a function."""
    work: Callable[[], object] = getattr(__import__(module, fromlist=[way]), way)(*arguments)
    start = time.perf_counter()
    output = work()
    seconds = time.perf_counter() - start
    peak = _peak_mb()
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "output": str(output)}))


if __name__ == "__main__":
    _run(sys.argv[1], sys.argv[2], sys.argv[3:])
