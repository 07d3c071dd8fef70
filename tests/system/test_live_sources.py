"""``sankofa live`` with every source that can be fetched, a third of them failing on the way."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.commands.main import sankofa
from tests.helpers.every_source import FETCHED, EverySource
from tests.helpers.replay_server import Reply
from warehouse.record.landing import open_landing
from warehouse.shared.settings import read_settings


@pytest.mark.nightly
def test_every_source_is_led_to_a_first_load_and_a_failure_is_taken_up_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        if name != "SANKOFA_TURNS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    keys = sorted(FETCHED)
    # Of every third source the probe fails, of every other third the load does.
    down, broken = keys[::3], keys[1::3]
    with EverySource() as server:
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        server.failures |= {key: (1, Reply(b"closed for the night", 503)) for key in down}
        server.failures |= {key: (2, Reply(b"it was here", 410)) for key in broken}
        words = ["live", *keys, "--contact", "data@example.org", "--yes"]

        first = CliRunner().invoke(sankofa, words)
        assert first.exit_code == 1, first.output
        assert "goes on where this stopped" in first.output
        assert "503" in first.output and "410" in first.output
        settings = read_settings()
        landed = {key for key in keys if open_landing(settings).keys(key)}
        assert landed >= set(keys) - set(down) - set(broken), set(keys) - landed - {*down, *broken}
        assert landed.isdisjoint(down)
        done = {key for key in landed if open_landing(settings).last_fetched(key)}
        before = {key: len(server.received(key)) for key in keys}

        again = CliRunner().invoke(sankofa, words)
        assert again.exit_code == 0, again.output
        assert "`sankofa up` serves it" in again.output
        assert {key for key in keys if open_landing(settings).keys(key)} == set(keys)
        repeated = {key for key in done if len(server.received(key)) > before[key]}
        assert not repeated, "what was fetched to its end is not requested again"
