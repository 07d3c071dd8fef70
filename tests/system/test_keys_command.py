"""``sankofa keys``: from a terminal, over the stores that the environment names."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pipelines.commands.main import sankofa
from tests.helpers.active_keys import find_key
from warehouse.control.keys import KeyStore, sandbox
from warehouse.control.models import recorded
from warehouse.serve.counters import month_at, month_before
from warehouse.serve.usage import Usage
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import read_settings


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    for name in ("SANKOFA_CONTROL", "SANKOFA_USAGE", "SANKOFA_TIERS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(sankofa, ["keys", *words])


def made(*words: str) -> str:
    result = run("create", *words)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_a_key_is_shown_once_and_listed_by_its_prefix(home: Path) -> None:
    key = made("--tier", "starter", "--label", "Example Bank")

    listed = run("list").output

    assert find_key(KeyStore(home / "control.sqlite"), key)
    assert key[:12] in listed and key not in listed
    assert "Example Bank" in listed and "in use" in listed


def test_a_revoked_key_is_listed_as_ended() -> None:
    key = made("--tier", "sample")

    assert run("revoke", key[:12]).output == f"{key[:12]} is revoked\n"

    assert "ended" in run("list").output
    assert find_key(KeyStore(read_settings(os.environ).control), key) is None


def test_a_rotation_prints_the_new_key_and_the_old_keeps_working_as_stated() -> None:
    key = made("--tier", "professional")
    new = run("rotate", key[:12], "--overlap-hours", "2").output.strip()

    store = KeyStore(read_settings(os.environ).control)
    before, after = find_key(store, key), find_key(store, new)
    assert before is not None and after is not None and before.key_id == after.key_id
    assert "ends " in run("list").output


def test_usage_shows_what_each_key_was_charged() -> None:
    key, store = made("--tier", "starter"), KeyStore(read_settings(os.environ).control)
    public, usage = sandbox(store), Usage(read_settings(os.environ).usage)
    for address in ("192.0.2.1", "198.51.100.1", "203.0.113.1"):
        for presented in (key, public):
            stored = find_key(store, presented)
            assert stored is not None
            usage.take(stored, address)
    rotated = run("rotate", key[:12]).output.strip()

    lines = run("usage").output.splitlines()

    charged = {line.split()[0]: line.split()[2:4] for line in lines[1:]}
    assert charged == {rotated[:12]: ["3", "50,000"], public[:12]: ["3", "3,000"]}
    assert month_at(time.time()).name in lines[0]
    before = run("usage", "--month", month_before(month_at(time.time()).name)).output.splitlines()
    assert [line.split()[2] for line in before][1:] == ["0", "0"]
    assert run("usage", "--month", "2001-01").exit_code == 2


@pytest.mark.parametrize("words", [("revoke", "sk_live_none"), ("rotate", "x")])
def test_a_failed_command_explains_itself_in_a_sentence(words: tuple[str, ...]) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", "from pipelines.commands.main import main; main()", "keys", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert completed.returncode == 1 and completed.stderr.startswith("sankofa: ")
    assert "Traceback" not in completed.stderr


def test_a_whole_key_given_by_mistake_is_not_repeated() -> None:
    key = made("--tier", "sample")
    made("--tier", "sample")
    result = run("revoke", key[:-1] + "~")
    assert result.exit_code != 0
    assert key[12:-1] not in str(result.exception) + result.output


def test_an_address_with_a_password_is_not_in_the_list_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SANKOFA_CONTROL", "SANKOFA_USAGE", "SANKOFA_MARTS"):
        monkeypatch.setenv(name, f"redis://:hidden@127.0.0.1/{name}")
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda program, words: started.append(words))

    CliRunner().invoke(sankofa, ["serve"])

    assert len(started) == 1 and "hidden" not in str(started)
    assert os.environ["SANKOFA_CONTROL"] == read_settings(os.environ).control


def test_a_key_is_created_with_its_limits_and_they_are_listed() -> None:
    made(
        *("--tier", "starter", "--expires", "2999-01-01", "--dataset", "AF-FUND"),
        *("--dataset", "AF-MACRO", "--network", "192.0.2.0/24", "--why", "a trial"),
    )
    made("--tier", "starter", "--expires", "30")
    limited, for_30_days = json.loads(run("list", "--json").output)
    assert limited["expires_at"].startswith("2999-01-01T00:00:00")
    assert (limited["datasets"], limited["networks"]) == (["AF-FUND", "AF-MACRO"], ["192.0.2.0/24"])
    expires = datetime.fromisoformat(for_30_days["expires_at"])
    assert timedelta(days=29.9) < expires - datetime.now(UTC) < timedelta(days=30)
    assert "ends 2999-01-01" in run("list").output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--expires", "2001-01-01"), "has passed; give a later day"),
        (("--expires", "soon"), "neither a day such as 2027-01-01 nor a number of days"),
        (("--expires", "0"), "has passed"),
        (("--network", "192.0.2.1/24"), "write a network as 192.0.2.0/24"),
        (("--dataset", "AF-NONE"), "'AF-FUND', 'AF-TENDER', 'AF-MACRO'"),
    ],
)
def test_a_limit_that_cannot_be_read_is_refused(words: tuple[str, ...], says: str) -> None:
    result = run("create", "--tier", "starter", *words)
    assert result.exit_code == 2 and says in " ".join(result.output.split())


def actions(*words: str) -> Result:
    return CliRunner().invoke(sankofa, ["actions", *words])


def test_actions_lists_who_did_what_when_and_why() -> None:
    key = made("--tier", "starter", "--why", "a contract")
    assert run("revoke", key[:12], "--why", "it leaked").exit_code == 0
    with (
        pytest.raises(SankofaError),
        recorded(read_settings(os.environ).control, "rollback", "to 20261114.1", "bad data"),
    ):
        raise SankofaError("no such build")

    listed, rows = actions().output, json.loads(actions("--json").output)

    assert [row["kind"] for row in rows] == ["keys create", "keys revoke", "rollback"]
    assert [row["why"] for row in rows] == ["a contract", "it leaked", "bad data"]
    assert rows[2]["failure"] == "no such build" and "failed" in listed
    assert key[:12] in listed and key not in listed + str(rows)
    (only,) = json.loads(actions("--kind", "keys revoke", "--json").output)
    assert only == rows[1]
    assert actions("--since", "2999-01-01").output == "no such action was recorded\n"
    wrong = actions("--kind", "nothing")
    assert wrong.exit_code == 2 and "withhold" in wrong.output
