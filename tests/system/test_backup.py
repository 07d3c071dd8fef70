"""``sankofa backup`` and ``restore``: another home that is the same, or nothing at all."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.commands.main import sankofa
from pipelines.dagster_home import PUBLISH
from pipelines.jobs import run_job
from tests.helpers.damage import copy_home, small_home
from tests.helpers.whole_tables import query
from warehouse.publish.builds import builds_at
from warehouse.serve.build import Mart
from warehouse.shared.settings import SETTINGS_FILE, read_settings, store_setting


@pytest.fixture
def home(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        if name != "SANKOFA_TURNS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    return copy_home(small_home(tmp_path_factory), tmp_path / "home")


def run(*words: str) -> tuple[int, str]:
    completed = CliRunner().invoke(sankofa, list(words))
    return completed.exit_code, completed.output


def contents() -> dict[str, object]:
    """Everything of a home that a reader, an operator or the next publication sees."""
    settings = read_settings()
    mart = Mart(settings.marts)
    tables = ("fundamentals", "tender_releases", "macro_series")
    return {
        "rows": {table: query(mart.build(), f"SELECT * FROM {table}") for table in tables},
        "builds": builds_at(settings.marts).names(),
        "keys": json.loads(run("keys", "list", "--json")[1]),
        "settings": (settings.home / SETTINGS_FILE).read_text(),
        "signing key": settings.signing_key.read_bytes(),
    }


def test_a_restored_home_serves_the_same_and_goes_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_setting(read_settings(), "SANKOFA_CONTACT", "data@example.org")
    run("keys", "sandbox")
    before, file = contents(), tmp_path / "backup.tar"
    status, text = run("backup", str(file))
    assert status == 0, text
    assert file.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.glob(".*backup*")] == [], "nothing else is left"

    # A record that the settings place elsewhere is restored there.
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "restored"))
    monkeypatch.setenv("SANKOFA_RECORD_URL", str(tmp_path / "other-disk" / "record"))
    status, text = run("restore", str(file))
    assert status == 0 and "everything stored is intact" in text, text
    assert contents() == before
    assert read_settings().contact == "data@example.org"
    run_job(read_settings(), PUBLISH)
    assert run("verify")[0] == 0

    status, text = run("restore", str(file))
    assert status == 1 and "into an empty home" in text and str(tmp_path / "other-disk") in text
    status, text = run("backup", str(file))
    assert status == 1 and "exists: name a new file" in text


@pytest.mark.parametrize("share", [0, 0.3, 0.99])
def test_a_backup_that_was_cut_off_restores_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    file = tmp_path / "backup.tar"
    assert run("backup", str(file))[0] == 0
    whole = file.read_bytes()
    # Records of 512 bytes: a tar that ends between two of them looks complete.
    end = int(whole.rindex(b"complete") * share) // 512 * 512
    file.write_bytes(whole[:end])
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "restored"))
    status, text = run("restore", str(file))
    assert status == 1 and f"{file} is no backup" in text
    assert list((tmp_path / "restored").iterdir()) == []


def test_a_backup_says_what_is_not_in_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_USAGE", "redis://:secret@counters.example/0")
    monkeypatch.setenv("SANKOFA_WITHHELD_KEY", "0123456789abcdef" * 4)
    status, text = run("backup", str(tmp_path / "backup.tar"))
    assert status == 0, text
    assert "not in it: redis://…" in text and "not in it: SANKOFA_WITHHELD_KEY" in text
    assert "secret" not in text
