"""The size of a build and of the record it is made from, and what days of publications write.

The small sample world goes through the whole pipeline. Then a thousandth of the rows changes, as a
day of filings, releases and observations does (``changed_rows.py``), and is published.
"""

import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.changed_rows import append_day
from tests.helpers.installation import (
    BriefPublication,
    load_sample,
    publication,
    settings_of,
    write_sample,
)
from tests.sample_world.world import SampleWorld
from warehouse.publish.builds import builds_at, delete_old_builds

SCALE, PUBLICATIONS = 50, 30
# A build at most so many times the record; a publication of a thousandth at most such a part of it.
TIMES_RECORD, PART_OF_BUILD = 5.0, 0.05


def report(scale: int = SCALE, publications: int = PUBLICATIONS) -> None:
    """Print sizes, with goals and verdicts."""
    world = SampleWorld(size="small", scale=scale)
    with TemporaryDirectory() as folder:
        home = Path(folder, "home")
        write_sample(home, world)
        record = load_sample(home)
        settings = settings_of(home)
        shutil.rmtree(settings.sample)
        marts, exports = Path(settings.marts), Path(settings.exports)
        publication(settings, BriefPublication).run()
        before, stored = _size(marts), _size(Path(settings.record))
        times = before / stored
        print(f"  record {stored / 1e6:,.1f} MB, build {before / 1e6:,.1f} MB", end=", ")
        print(f"{times:.2f} times: {_verdict(times, TIMES_RECORD)}", flush=True)
        written: list[float] = []
        for turn in range(1, publications + 1):
            rows = append_day(record, world.day, turn)
            files, bulk, began = _files(marts), _size(exports), time.process_time()
            publication(settings, BriefPublication).run()
            spent = time.process_time() - began
            new = sum(size for path, size in _files(marts).items() if path not in files)
            written.append(new / before)
            print(
                f"  {turn:3}: {rows:,} rows, {new / 1e6:,.2f} MB written, {written[-1]:.2%} of the "
                f"first build; bulk files {(_size(exports) - bulk) / 1e6:,.1f} MB; "
                f"{spent:.1f} s of CPU",
                flush=True,
            )
        most = max(written)
        print(f"  at most {most:.2%} of the build: {_verdict(most, PART_OF_BUILD)}")
        every = _size(marts)
        delete_old_builds(builds_at(marts), 1)
        last = _size(marts)
        print(
            f"  after {publications} publications {every / 1e6:,.1f} MB with all builds, "
            f"{last / 1e6:,.1f} MB with the last one alone ({last / before:.2f} times the first)"
        )


def _files(folder: Path) -> dict[Path, int]:
    """Return the files below a folder with their sizes."""
    return {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def _size(folder: Path) -> int:
    return sum(_files(folder).values())


def _verdict(figure: float, bound: float) -> str:
    return f"{'yes' if figure <= bound else 'NO'} (goal: at most {bound:g})"


if __name__ == "__main__":
    report(*map(int, sys.argv[1:]))
