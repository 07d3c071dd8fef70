"""Publish in a child and kill it, again and again, a little later each time.

Run as ``python -m tests.helpers.killed_publications HOME MARTS MOMENTS``: prints what was found
after each kill and after the publication that came to its end, as JSON, a line each. A third of the
moments lie anywhere, the others from the first file of an export on.
"""

import json
import os
import signal
import sys
import time
from datetime import date
from pathlib import Path
from random import Random

# Loaded once here, so that no child takes seconds for it.
import great_expectations.render.renderer.site_builder  # noqa: F401

import quality.expectations  # noqa: F401
from tests.helpers.facts import fact
from tests.helpers.installation import Briefly, at, publication
from tests.helpers.random_world import ISSUERS, everything
from tests.helpers.record_rows import load
from warehouse.mart.builds import builds_at
from warehouse.read.fundamentals import facts_known
from warehouse.read.macro import series_known
from warehouse.read.mart import Mart
from warehouse.read.metrics import metrics
from warehouse.read.signals import procurement_demand
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

_LATER = date(2021, 6, 30)


def begin(work: str, home: Path, marts: str) -> int:
    """Do one kind of work in a child."""
    child = os.fork()
    if child:
        return child
    try:
        record = Record(at(home).record)
        if work == "publish":
            publication(at(home), Briefly, marts=marts).run(record)
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
    """Wait for the end of a child; tell whether it came to it by itself."""
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit("a child failed")
    return os.WIFEXITED(status)


def exporting(home: Path, child: int) -> bool:
    """Wait until a child has begun to export, and a moment more; tell if it did so."""
    exports = Path(at(home).exports)
    before = _folders(exports)
    while _folders(exports) <= before:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return False
        time.sleep(0.002)
    return True


def _folders(exports: Path) -> set[str]:
    return {path.name for path in exports.glob("*.*")}


def killed(home: Path, marts: str, seconds: float, *, in_export: bool) -> bool:
    """Publish in a child that is killed after some time; tell whether it had to be."""
    child = begin("publish", home, marts)
    if in_export:
        exporting(home, child)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return not ended(child)


def answers(marts: str) -> list[str]:
    """Ask the build that is read."""
    mart = Mart(marts)
    found: list[bytes] = []
    for day in (None, _LATER):
        for issuer in ISSUERS:
            known = facts_known(mart, issuer, day)
            found += known.rows if known else []
            found += metrics(mart, issuer, as_of=day).rows
        found += series_known(mart, as_of=day).rows
        found += procurement_demand(mart, as_of=day).rows
    mart.close()
    return [row.decode() for row in found]


def found(home: Path, marts: str, told: list[str]) -> dict[str, object]:
    """Say what a killed publisher left, and whether the build that is read answers as before."""
    here = at(home)
    exports = Path(here.exports)
    return {
        "current": builds_at(marts).current(),
        "builds": builds_at(marts).names(),
        "same": answers(marts) == told,
        "staged": sorted(path.name for path in here.work.iterdir()),
        "exported": sorted(path.parent.name for path in exports.glob("*/manifest.json")),
        "begun": sorted(path.name for path in exports.iterdir() if path.is_dir()),
        "pages": sorted(path.name for path in here.docs.iterdir()),
        "latest": (exports / "latest").read_text(),
        "partial": sorted(path.name for path in home.rglob("*.partial")),
    }


def main(home: Path, marts: str, moments: int) -> None:
    ended(begin("load", home, marts))
    start = time.perf_counter()
    child = begin("publish", home, marts)
    exporting(home, child)
    derived = time.perf_counter()
    ended(child)
    done = time.perf_counter()
    ended(begin("add", home, marts))
    told = answers(marts)

    def tell() -> None:
        print(json.dumps(found(home, marts, told)), flush=True)

    tell()
    early = moments // 3
    for number in range(early):
        killed(home, marts, (derived - start) * (number + 1) / (early + 1), in_export=False)
        tell()
    step, delay = (done - derived) / (moments - early), 0.0
    while killed(home, marts, delay, in_export=True):
        tell()
        delay += step
    tell()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
