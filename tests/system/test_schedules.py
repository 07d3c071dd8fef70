"""``sankofa schedules``: one switch for all that Dagster starts by itself."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pipelines.commands.main import sankofa
from pipelines.commands.schedules import next_tick


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    monkeypatch.delenv("SANKOFA_CONTACT", raising=False)
    return tmp_path


def run(*words: str) -> Result:
    result = CliRunner().invoke(sankofa, ["schedules", *words])
    assert result.exit_code == 0, result.output
    return result


def states() -> dict[str, bool]:
    answer = json.loads(run("list", "--json").stdout)
    # Nobody runs `sankofa up` in this home.
    assert answer["daemon_runs"] is False
    return {schedule["name"]: schedule["on"] for schedule in answer["schedules"]}


OF_CODE = {
    "compact_schedule": True,
    "fetch_every_night": False,
    "load_and_publish": True,
    "new_files": False,
}


def test_all_schedules_go_off_with_one_command_and_one_goes_on_by_its_name() -> None:
    assert states() == OF_CODE
    assert run("off").stdout.splitlines() == [
        "compact_schedule is off",
        "load_and_publish is off",
    ]
    assert states() == dict.fromkeys(OF_CODE, False)
    assert run("on", "new_files").stdout.splitlines() == ["new_files is on"]
    assert states() == {**dict.fromkeys(OF_CODE, False), "new_files": True}
    (compact,) = (line for line in run("list").stdout.splitlines() if "compact" in line)
    assert compact.split()[:5] == ["compact_schedule", "off", "every", "day", "at"]


# Dagster's command, which takes seconds, runs for each of them.
@pytest.mark.nightly
def test_all_schedules_go_on_with_one_command() -> None:
    run("off")
    *turned, left = run("on").stdout.splitlines()
    assert turned == ["compact_schedule is on", "load_and_publish is on", "new_files is on"]
    # Nobody may be asked without an address of ours.
    assert left.startswith("fetch_every_night was left as it is: set SANKOFA_CONTACT")
    assert states() == {**dict.fromkeys(OF_CODE, True), "fetch_every_night": False}
    (compact,) = (line for line in run("list").stdout.splitlines() if "compact" in line)
    assert compact.split()[:5] == ["compact_schedule", "on", "every", "day", "at"]
    assert compact.split()[-1] == "06:30"


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    result = CliRunner().invoke(sankofa, ["schedules", "off", "nightly"])
    assert result.exit_code == 1
    assert "no schedule nightly; choose from compact_schedule, fetch_every" in result.output
    assert run("off", "new_files").stdout == "nothing to do: it was off already\n"


def test_the_next_run_is_the_next_tick_of_the_clock() -> None:
    moment = datetime(2026, 3, 16, 2, 59, tzinfo=UTC)
    assert next_tick("0 3 * * *", moment) == moment.replace(hour=3, minute=0)
    next_monday = datetime(2026, 3, 23, 6, 30, tzinfo=UTC)
    assert next_tick("30 6 * * 1", moment.replace(hour=7)) == next_monday
