"""Publish in a child process that is killed, a little later each time.

Run as ``python -m tests.helpers.killed_publications HOME MARTS MOMENTS``: prints the
state after each kill and after the first publication that finished, one JSON object per line. A
third of the kills happen before the export begins, the others after that.

Moments are counted in changes to files, not in seconds: they are the same on every machine.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

# Imported here once: each child would otherwise spend seconds on it.
import great_expectations.render.renderer.site_builder  # noqa: F401

import quality.expectations  # noqa: F401
from tests.helpers.facts import fact
from tests.helpers.installation import BriefPublication, publication, settings_of
from tests.helpers.random_world import ISSUERS, everything
from tests.helpers.record_rows import load
from warehouse.mart.builds import builds_at
from warehouse.read.fundamentals import facts_known
from warehouse.read.macro import series_known
from warehouse.read.mart import Mart
from warehouse.read.metrics import metrics
from warehouse.read.signals import panel
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

_LATER = date(2021, 6, 30)
# Changes to files as Python's audit hooks name them, besides opening one for writing.
_CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link"})
Reaction = Callable[[bool], None]


def begin(work: str, home: Path, marts: str, react: Reaction | None = None) -> int:
    """Start a child that publishes, loads or adds a fact; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        if react is not None:
            before_each_change(home, react)
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


def before_each_change(home: Path, react: Reaction) -> None:
    """Call ``react`` before each change to the files of a home: whether the export has begun."""
    exports = settings_of(home).exports + "/"
    in_export = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal in_export
        if (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)) or event in _CHANGES:
            path = str(arguments[0])
            in_export = in_export or path.startswith(exports)
            if path.startswith(str(home)):
                react(in_export)

    sys.addaudithook(hook)


def count_changes(home: Path, marts: str) -> tuple[int, int]:
    """Publish, and return the number of changes before the export began, and from then on."""
    reading, writing = os.pipe()
    child = begin("publish", home, marts, lambda in_export: _note(writing, in_export))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        noted = pipe.read()
    ended(child)
    return noted.count(0), noted.count(1)


def _note(writing: int, in_export: bool) -> None:
    os.write(writing, bytes([in_export]))


def killed(home: Path, marts: str, change: int, *, in_export: bool, after: float = 0) -> bool:
    """Publish in a child that is killed at one of its changes, or some seconds after it.

    Return whether it was still running.
    """
    left = change

    def react(export_has_begun: bool) -> None:
        nonlocal left
        if export_has_begun < in_export:
            return
        left -= 1
        if left == 0 and after:
            # Without a handler, the alarm ends the process wherever it is.
            signal.setitimer(signal.ITIMER_REAL, after)
        elif left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return not ended(begin("publish", home, marts, react))


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
    before_export, from_export_on = count_changes(home, marts)
    ended(begin("add", home, marts))
    expected = answers(marts)
    random = Random(moments)

    def print_state() -> None:
        print(json.dumps(state_after_kill(home, marts, expected)), flush=True)

    print_state()
    early = moments // 3
    for number in range(early):
        change = max(1, before_export * number // early)
        killed(home, marts, change, in_export=False, after=random.choice([0, 0.01, 0.1]))
        print_state()
    step, change, after = max(1, from_export_on // (moments - early)), 1, 0.0
    while killed(home, marts, change, in_export=True, after=after):
        print_state()
        change, after = change + step, random.choice([0, 0.005])
    print_state()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
