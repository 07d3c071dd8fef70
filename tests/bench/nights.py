"""Whether many publications in a row stay as cheap as the first: time, files, memory, opening.

Every night 20 exchange rates arrive in the smallest sample world, the record is kept up and
published by the job of the command, all in one process. Every tenth of the nights prints a line.
"""

import os
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from pipelines.dagster_home import PUBLISH
from pipelines.jobs import open_runner
from tests.bench.changed_rows import append_day
from tests.helpers.installation import load_sample, settings_of, write_sample
from tests.helpers.withheld_key import WITHHELD_KEY
from tests.sample_world.world import SampleWorld
from warehouse.record.store import open_record
from warehouse.record.upkeep import keep_up
from warehouse.serve.build import Mart, check_readable

NIGHTS = 300
# Those of commits are kept for ever: the ledger is completed from them.
_COMMITS = "_delta_log"


def report(nights: int = NIGHTS) -> None:
    """Print what publications cost, and what there is on disk and in memory, as nights go by."""
    os.environ["SANKOFA_WITHHELD_KEY"] = WITHHELD_KEY
    world = SampleWorld(size="small", scale=1)
    with TemporaryDirectory() as folder:
        home = Path(folder, "home")
        os.environ["SANKOFA_HOME"] = str(home)
        write_sample(home, world)
        record, settings = load_sample(home), settings_of(home)
        with open_runner(settings) as runner:
            runner.run(PUBLISH).raise_failures()
            spent: list[float] = []
            for night in range(1, nights + 1):
                append_day(record, world.day, night, only={"macro_series"})
                # As if what was replaced were a day old.
                dict(keep_up(record, 0))
                started = process_time()
                runner.run(PUBLISH).raise_failures()
                spent.append(process_time() - started)
                if night % max(nights // 10, 1) == 0:
                    print(f"  {night:>4}: {median(spent):.2f} s of CPU; {_state(home)}", flush=True)
                    spent.clear()


def _state(home: Path) -> str:
    """Return what is on disk and in memory, and what opening a record and a build costs."""
    settings = settings_of(home)
    files, sizes, commits = Counter[str](), Counter[str](), 0
    for path in home.rglob("*"):
        if path.is_file() and _COMMITS in path.parts:
            commits += 1
        elif path.is_file():
            part = path.relative_to(home).parts[0]
            files[part] += 1
            sizes[part] += path.stat().st_size
    held = ", ".join(f"{part} {files[part]} ({sizes[part] / 1e6:.1f} MB)" for part in sorted(files))
    started = process_time()
    record = open_record(settings)
    _ = [record.files(name) for name in record.schemas]
    opened = process_time() - started
    started = process_time()
    check_readable(Mart(settings.marts))
    return (
        f"{_resident_mb():.0f} MB of memory; record opened in {opened * 1e3:.0f} ms, "
        f"build in {(process_time() - started) * 1e3:.0f} ms; {commits} commits; files: {held}"
    )


def _resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not tell the memory of a process")


if __name__ == "__main__":
    report(*map(int, sys.argv[1:]))
