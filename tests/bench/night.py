"""What publishing costs by how much is new: nothing, twenty rates, a day of three portals.

The small sample world is loaded and published by the command, as at night: CPU seconds of the
command with its start and all its processes, relative to those of the first publication.
"""

import os
import sys
from datetime import date
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from tests.bench.changed_rows import append_day
from tests.helpers.installation import load_sample, run_process, write_sample
from tests.helpers.withheld_key import WITHHELD_KEY
from tests.sample_world.world import SampleWorld
from warehouse.record.store import Record

SCALE = 10
# CPU seconds at scale 10 on the machine of docs/benchmarks.md.
GOALS = {"nothing": 4, "twenty rates": 9, "a day of three portals": 15}


def report(scale: int = SCALE, nights: int = 2) -> None:
    """Print what each publication costs."""
    os.environ["SANKOFA_WITHHELD_KEY"] = WITHHELD_KEY
    world = SampleWorld(size="small", scale=scale)
    with TemporaryDirectory() as folder:
        home = Path(folder, "home")
        write_sample(home, world)
        record = load_sample(home)
        first = _published(home)
        print(f"  everything: {first:.1f} s of CPU", flush=True)
        for night in range(nights):
            for turn, (what, goal) in enumerate(GOALS.items()):
                rows = _append(record, what, world.day, 10 * night + turn + 1)
                spent = _published(home)
                print(
                    f"  {what}, {rows:,} rows: {spent:.1f} s of CPU, {spent / first:.0%} of it all "
                    f"(goal {goal})",
                    flush=True,
                )
        peak = getrusage(RUSAGE_CHILDREN).ru_maxrss >> 10
        print(f"  the largest process of them took {peak:,} MB", flush=True)


def _append(record: Record, what: str, day: date, turn: int) -> int:
    match what:
        case "twenty rates":
            return append_day(record, day, turn, only={"macro_series"})
        case "a day of three portals":
            return append_day(record, day, turn, only={"tender_releases"}, most_sources=3)
        case _:
            return 0


def _published(home: Path) -> float:
    """Publish by the command; return the CPU seconds of all its processes."""
    before = _children()
    status, out, err = run_process(home, "publish")
    if status:
        raise RuntimeError(out + err)
    return _children() - before


def _children() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    report(*map(int, sys.argv[1:]))
