"""Run ``sankofa keys create|rotate|revoke`` again and again, and kill most of them half way.

Run as ``python -m tests.helpers.killed_key_writes KEYS KILLS [SEED]``: prints, as JSON, how many
were killed, the keys that were reported to be created and those reported to be ended.
"""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from random import Random

from pipelines.commands.keys import keys as command
from warehouse.control.keys import KeyStore, list_keys


@dataclass
class Reported:
    """What the commands said they did before they were killed, if they were."""

    killed: int = 0
    finished: int = 0
    working: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)


def run(arguments: list[str], seconds: float | None) -> tuple[str, bool]:
    """Run a command in a child and kill it; return what it printed, and whether it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        command.main(arguments, standalone_mode=False)
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, encoding="ascii", errors="replace") as printed:
        return printed.read(), os.WIFSIGNALED(status)


def kill_writers(kills: int, random: Random) -> Reported:
    """Kill so many commands at random moments; every change reported before must have been made."""
    reported, create = Reported(), ["create", "--tier", "starter", "--json"]
    times = []
    for _ in range(3):
        began = time.monotonic()
        reported.working.append(json.loads(run(create, None)[0])["key"])
        times.append(time.monotonic() - began)
    while reported.killed < kills:
        # What a command that was killed has made of its key is unknown: it is not looked at again.
        changed = (
            random.choice((None, None, None, None, "rotate", "revoke"))
            if reported.working
            else None
        )
        arguments, key = create, ""
        if changed:
            key = reported.working.pop(random.randrange(len(reported.working)))
            arguments = [changed, key[:12], "--json"]
        text, killed = run(arguments, random.uniform(0, 1.1 * sorted(times)[1]))
        reported.killed += killed
        reported.finished += not killed
        if text.endswith("\n"):
            if changed:
                reported.ended.append(key)
            if changed != "revoke":
                reported.working.append(json.loads(text)["key"])
    return reported


if __name__ == "__main__":
    os.environ["SANKOFA_CONTROL"] = sys.argv[1]
    # Loads what the children need, so that they are killed while they write and not before.
    list_keys(KeyStore(sys.argv[1]))
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(json.dumps(vars(kill_writers(int(sys.argv[2]), Random(seed)))))
