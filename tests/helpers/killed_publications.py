"""Publish in a child process that is killed.

``python -m tests.helpers.killed_publications`` kills ``sankofa publish`` 60 times in a row in one
home, with all its processes: at the beginning and end of every step, while it cleans up after the
last kill, and at random moments. It prints what became of each, one JSON object per line, and fails
if a publication waited for a dead one or the last one published nothing.

``… states HOME MOMENTS`` adds a figure to a home that is published, kills a little later each time,
and prints what it left after each kill and after the first publication that finished. A third of
the kills happen before the export begins, the others after that. These moments are counted in
changes to files, not in seconds: they are the same on every machine.

``… few HOME OPTION…`` does some of both in a home that has something to publish: the command, with
these options, is terminated while it waits, and killed as it begins and while it cleans up; a
publication is then killed before and in its export.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import dagster as dg
import pytest

from pipelines import alerts, definitions, jobs
from pipelines.alerts import send_alert
from pipelines.commands.main import sankofa
from pipelines.dagster_home import PUBLISH, killed_runs
from quality.report import history
from tests.helpers.exports import verify_export
from tests.helpers.facts import fact
from tests.helpers.installation import BriefPublication, publication, settings_of
from tests.helpers.reads import facts_known, issuers, metrics, panel, series_known
from tests.helpers.record_rows import load
from tests.helpers.waiting import wait_until
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.publish.builds import builds_at
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports

_LATER = date(2021, 6, 30)
# Changes to files as Python's audit hooks name them, besides opening one for writing.
_CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link"})
Reaction = Callable[[bool], None]
# Moments of cleaning up after a killed publication.
CLEANING = ("before marking", "after marking", "before alert", "after alert")
# No publication takes so long here, unless it waits.
_LONGEST_SECONDS, _LONGEST_WAIT = 240.0, 30.0


def begin(work: Callable[[], object], home: Path, react: Reaction | None = None) -> int:
    """Start a child that does something; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        if react is not None:
            before_each_change(home, react)
        work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def publish(home: Path) -> None:
    publication(settings_of(home), BriefPublication).run()


def add_fact(home: Path) -> None:
    """Load a figure that changes what is answered, in a child."""
    settings = settings_of(home)
    mart = Mart(settings.marts)
    row = fact("7", issuer=issuers(mart, 1)[0], available_at=_LATER)
    mart.close()
    ended(begin(lambda: load(Record(settings.record), FUNDAMENTALS, row), home))


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
            # Which export is the latest is also settled for a publisher that was killed.
            begins = path.startswith(exports) and not Path(path).name.startswith("latest")
            in_export = in_export or begins
            if path.startswith(str(home)):
                react(in_export)

    sys.addaudithook(hook)


def count_changes(home: Path) -> tuple[int, int]:
    """Publish, and return the number of changes before the export began, and from then on."""
    reading, writing = os.pipe()
    child = begin(lambda: publish(home), home, lambda in_export: _note(writing, in_export))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        noted = pipe.read()
    ended(child)
    return noted.count(0), noted.count(1)


def _note(writing: int, in_export: bool) -> None:
    os.write(writing, bytes([in_export]))


def killed(home: Path, change: int, *, in_export: bool, after: float = 0) -> bool:
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

    return not ended(begin(lambda: publish(home), home, react))


def answers(home: Path) -> list[str]:
    """Query the current build."""
    mart = Mart(settings_of(home).marts)
    rows: list[bytes] = []
    for day in (None, _LATER):
        for issuer in issuers(mart, 3):
            facts = facts_known(mart, issuer, day)
            rows += facts.rows if facts else []
            rows += metrics(mart, issuer, as_of=day).rows
        rows += series_known(mart, as_of=day).rows
        demand = panel(mart, "procurement-demand", "ZA", as_of=day)
        rows += demand.rows if demand else []
    mart.close()
    return [row.decode() for row in rows]


def state_after_kill(home: Path, expected: list[str]) -> dict[str, object]:
    """Describe what a killed publisher left, and whether the current build answers as before."""
    settings = settings_of(home)
    exports, builds = Path(settings.exports), builds_at(settings.marts)
    return {
        "current": builds.current(),
        "builds": builds.names(),
        "same": answers(home) == expected,
        "staged": sorted(path.name for path in settings.work.iterdir()),
        "exported": sorted(path.parent.name for path in exports.glob("*/manifest.json")),
        "begun": sorted(path.name for path in exports.iterdir() if path.is_dir()),
        "latest": (exports / "latest").read_text(),
        "partial": sorted(path.name for path in home.rglob("*.partial")),
    }


def lines_of(*words: str) -> list[dict[str, Any]]:
    """Return what this module prints when it is run."""
    command = [sys.executable, "-m", "tests.helpers.killed_publications", *words]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return [json.loads(line) for line in completed.stdout.splitlines()]


def require_whole(home: Path, states: Sequence[dict[str, Any]], least: int) -> None:
    """Require that the old build answered after every kill, and that the last one is whole."""
    before, *kills, after = states
    (first,) = before["builds"]

    assert len(kills) >= least
    for kill in kills:
        old = kill["current"] == first
        assert old == kill["same"]
        assert kill["current"] in kill["builds"] and kill["current"] in kill["exported"]
        assert kill["latest"] in kill["exported"]
    assert {_reached(kill, first) for kill in kills} >= {"deriving", "exporting"}

    assert not after["same"]
    assert after["current"] == after["latest"] == after["builds"][-1] != first
    assert after["exported"] == after["begun"] == sorted(after["builds"])
    staged = [after["current"], "builds", "searched.msgpack", "steps"]
    # There is a folder for what is refused once something was.
    assert ([name for name in after["staged"] if name != "failed"], after["partial"]) == (
        staged,
        [],
    )
    exports = settings_of(home).exports
    for version in PublishedExports(exports).versions():
        assert not verify_export(exports, version)
    measured = set(history(Record(settings_of(home).record))["data_version"].to_pylist())
    assert {first, after["current"]} <= measured <= set(after["builds"])


def _reached(state: Mapping[str, Any], first: str) -> str:
    if state["current"] != first:
        return "switched"
    return "exporting" if len(state["begun"]) > 1 else "deriving"


@dataclass(frozen=True)
class Attempt:
    """A publication: at which moment it was to be killed, and what became of it.

    ``begun_after`` are the seconds to the end of its first step, less those in which it was given
    no core: everything that could wait for a dead one comes before that. ``waited``: it announced
    that it waits for another process.
    """

    moment: str | float | None
    killed: bool
    failed: str
    seconds: float
    begun_after: float | None
    waited: bool
    switched: bool


class Attempts:
    """``sankofa publish`` in one home, one after the other, each killed at some moment."""

    def __init__(self, home: Path, options: Sequence[str] = ()) -> None:
        self.home, self.output = home, home.with_name(f"{home.name}.output")
        self._options = options
        self._loads = 0

    def load(self) -> None:
        """Load a figure in a child, so that there is something to publish."""
        self._loads += 1
        record, row = Record(settings_of(self.home).record), fact(year=1900 + self._loads)
        self._end(_forked(lambda: load(record, FUNDAMENTALS, row)), None)

    def publish(self, moment: str | float | None) -> Attempt:
        """Publish until a moment: a name, or seconds from its start; None lets it finish."""
        before = builds_at(settings_of(self.home).marts).current()
        began = time.monotonic()
        begun = self.home.with_name(f"{self.home.name}.begun")
        for file in (self.output, begun):
            file.write_text("")
        child = _forked(lambda: self._publish(moment, begun))
        status = self._end(child, moment if isinstance(moment, float) else None)
        seconds = time.monotonic() - began
        after = builds_at(settings_of(self.home).marts).current()
        output = self.output.read_text()
        if after != before:
            self.load()
        return Attempt(
            moment,
            os.WIFSIGNALED(status),
            output if os.WIFEXITED(status) and os.WEXITSTATUS(status) else "",
            round(seconds, 1),
            float(begun.read_text()) if begun.read_text() else None,
            "waiting for" in output,
            after != before,
        )

    def terminate_waiting(self) -> dict[str, object]:
        """Publish while the builds are in use, until it says so, and describe how it ended."""
        settings = settings_of(self.home)
        # Never released: what does not answer the signal waits for ever.
        with builds_at(settings.marts).publishing_lock():
            self.output.write_text("")
            child = _forked(lambda: self._publish(None, self.home.with_name("unused")))
            wait_until(lambda: "\n" in self.output.read_text(), 120)
            os.kill(child, signal.SIGTERM)
            status = self._end(child, None)
        with jobs.instance(settings) as dagster_instance:
            run = dagster_instance.get_runs(limit=1)[0].status.value
        return {
            "output": self.output.read_text(),
            "status": os.waitstatus_to_exitcode(status),
            "lock": os.getpid(),
            "run": run,
            "killed_runs": len(killed_runs(settings)),
        }

    def _publish(self, moment: str | float | None, begun: Path) -> None:
        began = time.monotonic()
        os.environ |= {"SANKOFA_WITHHELD_KEY": WITHHELD_KEY, "SANKOFA_HOME": str(self.home)}
        # Somebody wants alerts, and it takes a moment to send one.
        os.environ["SANKOFA_ALERT_COMMAND"] = "sleep 0.2"
        with self.output.open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)

        def reach(reached: str) -> None:
            if reached == "end of snapshot":
                begun.write_text(f"{time.monotonic() - began - _without_core():.1f}")
            if reached == moment:
                os.killpg(0, signal.SIGKILL)

        _watch(reach)
        sankofa(["publish", *self._options])

    def _end(self, child: int, after: float | None) -> int:
        """Return the status of a child, which is killed after some seconds if it goes on."""
        deadline = time.monotonic() + (_LONGEST_SECONDS if after is None else after)
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                # Processes of its pool may have outlived it.
                with suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                return status
            if time.monotonic() >= deadline:
                os.killpg(child, signal.SIGKILL)
                if after is None:
                    sys.exit(f"it hangs: {self.output.read_text()}")
                deadline += _LONGEST_SECONDS
            time.sleep(0.005)


def _without_core() -> float:
    """Return the seconds in which this process could have run and was given no core."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def _forked(work: Callable[[], object]) -> int:
    child = os.fork()
    # By both: neither knows which of them comes first.
    os.setpgid(child, child)
    if child:
        return child
    try:
        work()
    except SystemExit as status:
        os._exit(int(status.code or 0))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _watch(reach: Callable[[str], None]) -> None:
    """Call ``reach`` with every moment of a publication that has a name."""
    report_run_failed, read = dg.DagsterInstance.report_run_failed, jobs.Run.read
    names = {
        dg.DagsterEventType.STEP_START: "start",
        dg.DagsterEventType.STEP_SUCCESS: "end",
    }

    def watched_read(run: jobs.Run, event: dg.DagsterEvent) -> None:
        read(run, event)
        if event.event_type in names:
            reach(f"{names[event.event_type]} of {event.step_key}")

    def watched_marking(*args: Any, **options: Any) -> Any:
        reach("before marking")
        event = report_run_failed(*args, **options)
        reach("after marking")
        return event

    def watched_alert(*args: Any, **options: Any) -> None:
        reach("before alert")
        send_alert(*args, **options)
        reach("after alert")

    # For good: the process ends with what is watched.
    patch = pytest.MonkeyPatch()
    patch.setattr(jobs.Run, "read", watched_read)
    patch.setattr(alerts, "send_alert", watched_alert)
    patch.setattr(dg.DagsterInstance, "report_run_failed", watched_marking)


def steps() -> list[str]:
    """Return the names of the steps of a publication, in their order."""
    job = definitions.defs().resolve_job_def(PUBLISH)
    return [node.name for node in job.nodes_in_topological_order]


def in_a_row(home: Path, moments: Sequence[str | float]) -> list[Attempt]:
    """Kill a publication at each moment, and let the last one finish; print and return them."""
    attempts, done = Attempts(home), list[Attempt]()
    attempts.load()
    for moment in [*moments, None]:
        done.append(attempts.publish(moment))
        print(json.dumps(asdict(done[-1])), flush=True)
    return done


def trial(kills: int = 60) -> None:
    """Kill at every boundary of a step, while cleaning up, and at random moments."""
    random = Random(kills)
    boundaries = [f"{side} of {step}" for step in steps() for side in ("start", "end")]
    # Where nothing is there yet, and Dagster makes its files.
    moments: list[str | float] = [round(random.uniform(0, 2), 2) for _ in range(4)]
    for number, boundary in enumerate(boundaries):
        moments.append(boundary)
        if number % 6 == 2:
            moments.append(CLEANING[number // 6 % len(CLEANING)])
    moments += [round(random.uniform(0, 12), 2) for _ in range(kills - len(moments))]
    with tempfile.TemporaryDirectory() as folder:
        done = in_a_row(Path(folder, "home"), moments)
    begun = [attempt.begun_after for attempt in done if attempt.begun_after is not None]
    summary = {
        "kills": sum(attempt.killed for attempt in done),
        "published": sum(attempt.switched for attempt in done),
        "failed": [attempt.failed for attempt in done if attempt.failed],
        "waited": sum(attempt.waited for attempt in done),
        "begun_after": {"number": len(begun), "least": min(begun), "most": max(begun)},
    }
    print(json.dumps(summary, indent=1))
    assert done[-1].switched and not summary["failed"] and not summary["waited"], summary
    assert max(begun) < _LONGEST_WAIT, summary


def states(home: Path, moments: int) -> None:
    add_fact(home)
    counted = home.with_name(f"{home.name}.counted")
    shutil.copytree(home, counted)
    before_export, from_export_on = count_changes(counted)
    shutil.rmtree(counted)
    expected, random = answers(home), Random(moments)

    def print_state() -> None:
        print(json.dumps(state_after_kill(home, expected)), flush=True)

    print_state()
    early = moments // 3
    for number in range(early):
        change = max(1, before_export * number // early)
        killed(home, change, in_export=False, after=random.choice([0, 0.01, 0.1]))
        print_state()
    step, change, after = max(1, from_export_on // (moments - early)), 1, 0.0
    while killed(home, change, in_export=True, after=after):
        print_state()
        change, after = change + step, random.choice([0, 0.005])
    print_state()


def few(home: Path, options: Sequence[str]) -> None:
    """Print how the terminated command ended, then the state before and after each kill."""
    attempts, expected = Attempts(home, options), answers(home)
    # Read here once, and not by each child.
    steps()
    with jobs.instance(settings_of(home)):
        pass

    def print_state(attempt: Attempt | None = None) -> None:
        became = None if attempt is None else asdict(attempt)
        print(json.dumps({**state_after_kill(home, expected), "attempt": became}), flush=True)

    print(json.dumps(attempts.terminate_waiting()), flush=True)
    print_state()
    for moment in ("start of snapshot", "after marking"):
        print_state(attempts.publish(moment))
    for in_export in (False, True):
        if killed(home, 25, in_export=in_export):
            print_state()


if __name__ == "__main__":
    # Imported here once: each child would otherwise spend seconds on it.
    import great_expectations.render.renderer.site_builder  # noqa: F401

    import quality.expectations  # noqa: F401

    match sys.argv[1:]:
        case ["states", home, moments]:
            states(Path(home), int(moments))
        case ["few", home, *options]:
            few(Path(home), options)
        case _:
            trial()
