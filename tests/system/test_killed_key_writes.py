"""Commands that change keys, killed at any moment while a service answers."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers.active_keys import find_key
from tests.helpers.installation import run_command
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from tests.helpers.rest_service import Served, World, served
from warehouse.control.keys import KeyStore, create_key, list_keys, sandbox

# Nothing is published: a key that is accepted is told so.
ACCEPTED, REFUSED = "datastore_unavailable", "key_invalid"
KILLS = 1_500 if is_nightly() else 25


@pytest.mark.timeout(7_200 if is_nightly() else 900)
def test_a_key_command_killed_at_any_moment_locks_nobody_out(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "control.sqlite")
    world = World(tmp_path, sandbox(store), create_key(store, "professional"))
    met: Counter[str] = Counter()
    stop = threading.Event()

    def visit(server: Served) -> None:
        while not stop.is_set():
            met.update(answers(server, world.paid, "sk_live_unknown"))
            # Paced: the commands are to be met, not starved.
            time.sleep(0.02)

    with served(world) as server:
        visitor = threading.Thread(target=visit, args=(server,))
        visitor.start()
        try:
            trial = subprocess.run(
                [sys.executable, "-m", "tests.helpers.killed_key_writes", world.keys, str(KILLS)],
                cwd=ROOT,
                capture_output=True,
                check=True,
            )
        finally:
            stop.set()
            visitor.join(60)
        reported = json.loads(trial.stdout)
        assert set(answers(server, *reported["ended"][:20])) <= {REFUSED}
        # On a slow machine every command may be killed before it reports a key.
        assert set(answers(server, *reported["working"][:20])) <= {ACCEPTED}

    status, listed, err = run_command(tmp_path, "keys", "list", "--json")
    assert status == 0, err
    assert reported["killed"] == KILLS
    assert len(json.loads(listed)) == len(list_keys(store))
    assert all(find_key(store, key) is not None for key in reported["working"])
    assert not any(find_key(store, key) for key in reported["ended"])
    assert set(met) == {ACCEPTED, REFUSED} and met[ACCEPTED] == met[REFUSED]
    counts = {name: len(reported[name]) for name in ("working", "ended")}
    print(reported["killed"], "killed", reported["finished"], "finished", counts, met)


def answers(server: Served, *keys: str) -> list[str]:
    """Return the code of the problem that each key is answered with."""
    return [json.loads(server.get("/v1/entities/DCA1", key)[2])["code"] for key in keys]
