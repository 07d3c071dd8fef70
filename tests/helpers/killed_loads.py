"""Load batches in a child process and kill it, a little later each time, until it finishes.

Run as ``python -m tests.helpers.killed_loads FOLDER``: prints how many children were killed.
"""

import os
import signal
import sys
import time
from datetime import date, timedelta

import pyarrow as pa

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.incoming import RejectedRow
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

BATCHES, ROWS = 5, 200


def batch(number: int) -> pa.Table:
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


def rejected_rows(number: int) -> list[RejectedRow]:
    return [RejectedRow("d0", f"d0#/{number}", "not a number")]


def load_all(folder: str) -> None:
    record = Record(folder)
    for number in range(BATCHES):
        load = Load("test", (f"document {number}",))
        append(record, FUNDAMENTALS, batch(number), load, rejected=rejected_rows(number))


def kill_after(folder: str, seconds: float) -> bool:
    """Load in a child process; return whether it was killed before it finished."""
    child = os.fork()
    if not child:
        load_all(folder)
        os._exit(0)
    # The kill comes after a random delay, at whatever step the load has reached.
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    # Each delay is longer than the one before by 20 ms, or by this share of it.
    folder, kills, delay, longer = sys.argv[1], 0, 0.01, float(sys.argv[2])
    while kill_after(folder, delay):
        kills, delay = kills + 1, delay + max(0.02, delay * longer)
    print(kills)
