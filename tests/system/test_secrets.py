"""A home of real documents needs a secret, and is private to its user."""

import os
import re
import secrets
import stat
from datetime import date
from pathlib import Path

import pytest

from tests.helpers.installation import run_command, settings_of
from tests.helpers.paths import ROOT
from tests.helpers.record_rows import load, series_row
from warehouse.record.landing import Landing, open_landing
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES
from warehouse.record.versions import require_withheld_key
from warehouse.shared.errors import SankofaError
from warehouse.shared.files import make_private, readable_by_others


def test_a_home_of_real_documents_is_neither_loaded_nor_published_without_a_secret(
    tmp_path: Path,
) -> None:
    open_landing(settings_of(tmp_path)).enter("real")
    for command in (["ingest"], ["ingest", "ecb", "--live"]):
        status, _, err = run_command(tmp_path, *command, SANKOFA_WITHHELD_KEY="")
        assert status == 1
        assert "SANKOFA_WITHHELD_KEY is not set" in err
        assert "secrets.token_hex(32)" in err


@pytest.mark.parametrize("key", ["sankofa development", "hunter2", "change-me" * 5, "ab" * 20])
def test_a_weak_key_is_refused_for_real_documents_alone(tmp_path: Path, key: str) -> None:
    require_withheld_key(key, "fictional")
    require_withheld_key(key, None)
    with pytest.raises(SankofaError, match=r"SANKOFA_WITHHELD_KEY .*secrets\.token_hex\(32\)"):
        require_withheld_key(key, "real")


def test_every_key_that_is_made_as_the_message_says_is_accepted() -> None:
    for _ in range(200):
        require_withheld_key(secrets.token_hex(32), "real")


def test_no_example_of_these_pages_is_a_usable_key() -> None:
    """Whoever copies a line of the docs or of the secrets gets no key that others know."""
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*"), *ROOT.glob("*.md")]
    given = [
        value
        for page in pages
        if page.is_file()
        for value in re.findall(r"SANKOFA_WITHHELD_KEY=(\S*)", page.read_text(errors="replace"))
    ]
    assert given
    # A command makes another one each time.
    assert [value for value in given if value and not value.startswith("$(")] == []


def test_documents_record_and_keys_are_private_and_what_is_published_is_not(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path)
    private = [Path(settings.landing), Path(settings.record), settings.work, Path(settings.control)]
    published = [Path(settings.marts), Path(settings.exports)]
    # As an earlier version left them.
    for path in (*private[:3], *published):
        path.mkdir(0o755, parents=True)
        path.chmod(0o755)
    private[3].touch(0o644)
    assert set(readable_by_others(settings)) == set(private)

    make_private(settings)

    assert readable_by_others(settings) == []
    assert [mode(path) for path in published] == [0o755] * 2


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_landing_and_record_are_private_from_their_first_byte_on(
    tmp_path: Path, umask: int
) -> None:
    """Also where no command has prepared the home: a library, a test, a script."""
    before = os.umask(umask)
    try:
        landing, record = Landing(str(tmp_path / "a/landing")), Record(str(tmp_path / "b/record"))
        landing.enter("real")
        with record.shared():
            assert mode(tmp_path / "b/record") == 0o700
        load(record, MACRO_SERIES, series_row("1", date(2026, 1, 1)))
    finally:
        os.umask(before)
    assert [mode(tmp_path / "a/landing"), mode(tmp_path / "b/record")] == [0o700, 0o700]


def test_a_home_that_others_can_read_is_named_by_doctor_and_closed_by_any_other_command(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path)
    make_private(settings)
    opened = [Path(settings.landing), settings.work, Path(settings.metrics)]
    for path in opened:
        path.chmod(0o755)
    _, out, _ = run_command(tmp_path, "doctor")
    assert all(str(path) in "".join(out.split()) for path in opened)
    assert [mode(path) for path in opened] == [0o755] * 3
    run_command(tmp_path, "builds")
    assert [mode(path) for path in opened] == [0o700] * 3
