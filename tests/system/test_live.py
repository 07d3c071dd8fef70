"""``sankofa live``: from an empty home to served figures, over HTTP, with failures in between."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.commands.main import sankofa
from tests.helpers.replay_server import Replay, Reply
from warehouse.publish.builds import builds_at
from warehouse.serve.build import Mart
from warehouse.serve.rows import fetch_rows
from warehouse.shared.settings import SETTINGS_FILE, read_settings

H10 = b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n"
ECB = (
    b"KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS,"
    b"UNIT,UNIT_MULT,TITLE\n"
    b"EXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2026-06-01,20.1,A,ZAR,0,South African rand/Euro\n"
)
ECB_PATH = "/ecb/service/data/EXR/D.ZAR.EUR.SP00.A"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home without any setting of its own."""
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        if name != "SANKOFA_TURNS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    """Two sources at a local server; the second fails at first."""
    with Replay() as server:
        monkeypatch.setenv("SANKOFA_BASE_ECB", f"{server.base}/ecb")
        monkeypatch.setenv("SANKOFA_BASE_H10", f"{server.base}/h10")
        monkeypatch.setenv("SANKOFA_ECB_KEYS", "D.ZAR.EUR.SP00.A")
        monkeypatch.setenv("SANKOFA_H10_CADENCES", "monthly")
        server.on(ECB_PATH, Reply(ECB))
        server.on("/h10/monthly.csv", Reply(b"gone for lunch", 503), Reply(H10))
        yield server


def live(*words: str, typed: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(sankofa, ["live", *words], input=typed)
    return result.exit_code, result.output


def served() -> set[str]:
    build = Mart(read_settings().marts).build()
    return {series for (series,) in fetch_rows(build, "series", "macro_series", [])}


def test_a_newcomer_is_led_to_served_figures_and_a_failure_is_taken_up_again(
    home: Path, world: Replay
) -> None:
    status, text = live(typed="data@example.org\necb h10\ny\n")
    assert status == 1, text
    assert "503" in text and "goes on where this stopped" in text
    assert served() == {"FX.EUR.ZAR"}
    asked_of_ecb = [request for request in world.requests if request.path == ECB_PATH]
    assert all("data@example.org" in request.headers["user-agent"] for request in world.requests)

    status, text = live("ecb", "h10", typed="y\n")
    assert status == 0, text
    assert len(served()) == 2
    again = [request for request in world.requests if request.path == ECB_PATH]
    assert again == asked_of_ecb, "what was fetched today is not requested again"


def test_nothing_is_sent_before_it_was_shown_and_agreed_to(home: Path, world: Replay) -> None:
    status, text = live("ecb", typed="data@example.org\nn\n")
    assert status == 1
    assert "data-api.ecb.europa.eu/service/data/EXR/" in text
    assert world.requests == [] and builds_at(read_settings().marts).current() is None


def test_settings_are_stored_for_every_later_command_and_only_its_user_can_read_them(
    home: Path, world: Replay
) -> None:
    live("ecb", "--contact", "data@example.org", typed="n\n")
    settings = read_settings()
    assert settings.contact == "data@example.org" and len(settings.withheld_key) == 64
    assert (home / SETTINGS_FILE).stat().st_mode & 0o077 == 0
    live("ecb", "--contact", "other@example.org", typed="n\n")
    assert read_settings().contact == "other@example.org"
    assert read_settings().withheld_key == settings.withheld_key


def test_what_cannot_be_fetched_or_is_not_said_is_refused_by_name(
    home: Path, world: Replay
) -> None:
    assert "give --contact" in live("ecb", "--yes")[1]
    assert "an e-mail address or a web page" in live("ecb", "--yes", "--contact", "me")[1]
    contact = ("--yes", "--contact", "data@example.org")
    assert "does not permit" in live("imf-weo", *contact)[1]
    assert "unknown source" in live("ebc", *contact)[1]
    assert "SANKOFA_FRED_KEY" in live("alfred", *contact)[1]
    assert "sankofa ingest listings PATH" in live("listings", *contact)[1]
    assert world.requests == []


def test_a_line_of_the_file_that_is_no_setting_is_named(home: Path) -> None:
    home.mkdir()
    (home / SETTINGS_FILE).write_text("# ours\n\nSANKOFA_CONTACT=a@b.example\nCONTACT=me\n")
    status, text = live("ecb", "--yes")
    assert status == 1 and f"{SETTINGS_FILE}, line 4" in text
