"""Commands that change keys, killed at any moment while a service answers."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from tests.helpers.rest_service import Served, World, served
from warehouse.control.keys import KeyStore, create_key, find_key, list_keys, sandbox

# Nothing is published: a key that is accepted is told so.
ACCEPTED, REFUSED = "datastore_unavailable", "key_invalid"
KILLS = 1_500 if is_nightly() else 60


@pytest.mark.timeout(7_200 if is_nightly() else 900)
def test_a_key_command_killed_at_any_moment_locks_nobody_out(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "control.sqlite")
    world = World(tmp_path, sandbox(store), create_key(store, "professional"))
    met: Counter[str] = Counter()
    stop = threading.Event()

    def visit(server: Served) -> None:
        while not stop.is_set():
            met.update(answers(server, world.paid, "sk_live_unknown"))

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

    listed = subprocess.run(
        [str(Path(sys.executable).with_name("sankofa")), "keys", "list", "--json"],
        env={**os.environ, "SANKOFA_CONTROL": str(world.keys)},
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert reported["killed"] == KILLS
    assert len(json.loads(listed.stdout)) == len(list_keys(store))
    assert all(find_key(store, key) is not None for key in reported["working"])
    assert not any(find_key(store, key) for key in reported["ended"])
    assert set(met) == {ACCEPTED, REFUSED} and met[ACCEPTED] == met[REFUSED]
    counts = {name: len(reported[name]) for name in ("working", "ended")}
    print(reported["killed"], "killed", reported["finished"], "finished", counts, met)


def answers(server: Served, *keys: str) -> list[str]:
    """Return the code of the problem that each key is answered with."""
    return [json.loads(server.get("/v1/entities/DCA1", key)[2])["code"] for key in keys]
