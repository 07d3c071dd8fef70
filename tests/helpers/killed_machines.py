"""Two machines load the same documents into one record on S3, are killed at random, and go on.

Run as ``python -m tests.helpers.killed_machines KILLS``: a third machine merges files all the
while. Prints what was done, and fails unless each row is there once.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa

from tests.helpers.facts import fact, facts
from tests.helpers.paths import ROOT
from tests.helpers.s3_server import S3Server, s3_server
from warehouse.record.append import Load, append
from warehouse.record.incoming import RejectedRow
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.record.upkeep import keep_up

ROWS = 20
# Longer than any of the machines is left alone.
_DEADLINE = 1500


def batch(number: int) -> pa.Table:
    """Return the rows of a document."""
    published = date(2019, 1, 1) + timedelta(days=number)
    return facts(
        *(
            fact(
                f"{number}.{row}",
                item=f"item{row}",
                available_at=published,
                publication=f"p{number}",
            )
            for row in range(ROWS)
        )
    )


def load_all(record: Record, documents: int, seed: int) -> None:
    """Load every document, in an order of this machine's own; say when all are loaded."""
    order = list(range(documents))
    random.Random(seed).shuffle(order)
    for number in order:
        rejected = [RejectedRow("d0", f"d0#/{number}", "not a number")]
        append(
            record, FUNDAMENTALS, batch(number), Load("test", (f"d{number}",)), rejected=rejected
        )


def merge_until_stopped(record: Record, stop: Path) -> None:
    """Merge files whenever there are more than a few, until there is a file ``stop``."""
    while not stop.exists():
        list(keep_up(record, 1, max_small_files=3))
        time.sleep(0.2)
    # Everything that is left.
    list(keep_up(record, 1, max_small_files=1))


class Machine:
    """A process with a home of its own, started again whenever it is killed."""

    def __init__(self, server: S3Server, home: Path, *arguments: str) -> None:
        self._home, self._arguments = home, arguments
        self._environment = {**os.environ, **server.environment}
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        program = [sys.executable, "-m", "tests.helpers.killed_machines", "machine"]
        return subprocess.Popen(
            [*program, str(self._home), *self._arguments], cwd=ROOT, env=self._environment
        )

    @property
    def is_done(self) -> bool:
        return self.process.poll() == 0

    def kill(self) -> None:
        """Kill it with what it is doing."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        self.process = self._start()


def run(server: S3Server, kills: int, documents: int, seed: int) -> dict[str, int]:
    """Kill machines until they were killed so often; then let them finish. Return the counts."""
    chance = random.Random(seed)
    url, deadline = server.url(f"record-{seed}"), time.monotonic() + _DEADLINE
    with tempfile.TemporaryDirectory() as folder:
        homes = Path(folder)
        loaders = [
            Machine(server, homes / f"loader{n}", url, str(documents), str(n)) for n in (1, 2)
        ]
        merger = Machine(server, homes / "merger", url, "merge")
        killed = 0
        try:
            while killed < kills:
                assert time.monotonic() < deadline, "the machines take too long"
                # A process needs seconds to begin; later it is at any point of a load.
                time.sleep(chance.uniform(2, 9))
                machine = chance.choice([*loaders, *loaders, merger])
                machine.kill()
                machine.restart()
                killed += 1
            for loader in loaders:
                assert loader.process.wait(max(deadline - time.monotonic(), 1)) == 0
            (homes / "merger").mkdir(exist_ok=True)
            (homes / "merger" / "stop").touch()
            assert merger.process.wait(max(deadline - time.monotonic(), 1)) == 0
        finally:
            for machine in (*loaders, merger):
                machine.kill()
        record = Record(url, caches=homes / "look")
        return {"kills": killed, **counts(record)}


def counts(record: Record) -> dict[str, int]:
    """Count what is stored, and in how many ways it differs."""
    fundamentals = record.relation("fundamentals")
    statement = f"""
        SELECT (SELECT count(*) FROM {fundamentals}) AS rows,
            (SELECT count(DISTINCT (sighting, content)) FROM {fundamentals}) AS distinct_rows,
            (SELECT count(DISTINCT load_seq) FROM {fundamentals}) AS loads,
            (SELECT sum(appended) FROM {record.relation("loads")})::BIGINT AS appended,
            (SELECT count(*) FILTER (appended > 0) FROM {record.relation("loads")}) AS entries,
            (SELECT count(*) FROM {record.relation("quarantine")}) AS quarantined,
            (SELECT count(DISTINCT quarantine_id) FROM {record.relation("quarantine")})
                AS quarantine_ids
    """
    (row,) = record.query(statement).to_pylist()
    history = record.table("fundamentals").history()
    merges = [commit for commit in history if commit["operation"] == "OPTIMIZE"]
    return {**row, "compactions": len(merges), "files": len(record.files("fundamentals"))}


def expected(documents: int) -> dict[str, int]:
    """Return the counts of a record into which each document was loaded once."""
    rows = documents * ROWS
    return {
        "rows": rows,
        "distinct_rows": rows,
        "loads": documents,
        "appended": rows,
        "entries": documents,
        "quarantined": documents,
        "quarantine_ids": documents,
    }


def _machine(home: str, url: str, work: str, seed: str = "0") -> None:
    record = Record(url, caches=Path(home))
    if work == "merge":
        merge_until_stopped(record, Path(home, "stop"))
        return
    load_all(record, int(work), int(seed))


if __name__ == "__main__":
    if sys.argv[1] == "machine":
        _machine(*sys.argv[2:])
    else:
        wanted = int(sys.argv[1])
        made = max(2 * wanted, 12)
        with s3_server() as started:
            found = run(started, wanted, made, seed=int(time.time()))
        print(found)
        wrong = {
            name: found[name] for name, value in expected(made).items() if found[name] != value
        }
        sys.exit(f"wrong: {wrong}, expected {expected(made)}" if wrong else 0)
