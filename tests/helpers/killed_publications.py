"""Publish in a child process and kill it, a little later each time.

Run as ``python -m tests.helpers.killed_publications HOME MARTS MOMENTS``: prints the
state after each kill and after the first publication that finished, one JSON object per line. A
third of the kills happen before the export begins, the others during it.
"""

import json
import os
import signal
import sys
import time
from datetime import date
from pathlib import Path
from random import Random

# Imported here once: each child would otherwise spend seconds on it.
import great_expectations.render.renderer.site_builder  # noqa: F401

import quality.expectations  # noqa: F401
from tests.helpers.facts import fact
from tests.helpers.installation import BriefPublication, publication, settings_of
from tests.helpers.random_world import ISSUERS, everything
from tests.helpers.record_rows import load
from tests.helpers.waiting import wait_until
from warehouse.mart.builds import builds_at
from warehouse.read.fundamentals import facts_known
from warehouse.read.macro import series_known
from warehouse.read.mart import Mart
from warehouse.read.metrics import metrics
from warehouse.read.signals import panel
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

_LATER = date(2021, 6, 30)


def begin(work: str, home: Path, marts: str) -> int:
    """Start a child that publishes, loads or adds a fact; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        record = Record(settings_of(home).record)
        if work == "publish":
            publication(settings_of(home), BriefPublication, marts=marts).run()
        elif work == "load":
            for table, rows in everything(Random(7)).items():
                load(record, table, *rows)
        else:
            load(record, FUNDAMENTALS, fact("7", issuer=ISSUERS[0], available_at=_LATER))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def ended(child: int) -> bool:
    """Wait for a child to end; return whether it finished by itself."""
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit("a child failed")
    return os.WIFEXITED(status)


def exporting(home: Path, child: int) -> bool:
    """Wait until a child has begun to export; return False if it ended before."""
    exports = Path(settings_of(home).exports)
    before = _folders(exports)

    def has_ended() -> bool:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    wait_until(lambda: not _folders(exports) <= before or has_ended(), 250, every=0.002)
    return not _folders(exports) <= before


def _folders(exports: Path) -> set[str]:
    return {path.name for path in exports.glob("*.*")}


def killed(home: Path, marts: str, seconds: float, *, in_export: bool) -> bool:
    """Publish in a child and kill it after some seconds; return whether it was still running."""
    child = begin("publish", home, marts)
    if in_export:
        exporting(home, child)
    # The kill comes after a random delay, at whatever step the publication has reached.
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return not ended(child)


def answers(marts: str) -> list[str]:
    """Query the current build."""
    mart = Mart(marts)
    rows: list[bytes] = []
    for day in (None, _LATER):
        for issuer in ISSUERS:
            facts = facts_known(mart, issuer, day)
            rows += facts.rows if facts else []
            rows += metrics(mart, issuer, as_of=day).rows
        rows += series_known(mart, as_of=day).rows
        demand = panel(mart, "procurement-demand", "ZA", as_of=day)
        rows += demand.rows if demand else []
    mart.close()
    return [row.decode() for row in rows]


def state_after_kill(home: Path, marts: str, expected: list[str]) -> dict[str, object]:
    """Describe what a killed publisher left, and whether the current build answers as before."""
    settings = settings_of(home)
    exports = Path(settings.exports)
    return {
        "current": builds_at(marts).current(),
        "builds": builds_at(marts).names(),
        "same": answers(marts) == expected,
        "staged": sorted(path.name for path in settings.work.iterdir()),
        "exported": sorted(path.parent.name for path in exports.glob("*/manifest.json")),
        "begun": sorted(path.name for path in exports.iterdir() if path.is_dir()),
        "pages": sorted(path.name for path in Path(settings.pages).iterdir()),
        "latest": (exports / "latest").read_text(),
        "partial": sorted(path.name for path in home.rglob("*.partial")),
    }


def main(home: Path, marts: str, moments: int) -> None:
    ended(begin("load", home, marts))
    started_at = time.perf_counter()
    child = begin("publish", home, marts)
    exporting(home, child)
    derived_at = time.perf_counter()
    ended(child)
    published_at = time.perf_counter()
    ended(begin("add", home, marts))
    expected = answers(marts)

    def print_state() -> None:
        print(json.dumps(state_after_kill(home, marts, expected)), flush=True)

    print_state()
    early = moments // 3
    for number in range(early):
        killed(home, marts, (derived_at - started_at) * (number + 1) / (early + 1), in_export=False)
        print_state()
    step, delay = (published_at - derived_at) / (moments - early), 0.0
    while killed(home, marts, delay, in_export=True):
        print_state()
        delay += step
    print_state()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
