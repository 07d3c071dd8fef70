"""A home of real documents needs a secret, and is private to its user."""

import stat
from pathlib import Path

from tests.helpers.installation import run_command, settings_of
from warehouse.private_folders import make_private, readable_by_others
from warehouse.record.landing import open_landing


def test_a_home_of_real_documents_is_neither_loaded_nor_published_without_a_secret(
    tmp_path: Path,
) -> None:
    open_landing(settings_of(tmp_path)).enter("real")
    for command in (["ingest"], ["ingest", "ecb", "--live"]):
        status, _, err = run_command(tmp_path, *command, SANKOFA_WITHHELD_KEY="")
        assert status == 1
        assert "SANKOFA_WITHHELD_KEY is not set" in err
        assert "openssl rand -hex 32" in err and "SANKOFA_WITHHELD_KEY='sankofa development'" in err


def test_documents_record_and_keys_are_private_and_what_is_published_is_not(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path)
    private = [Path(settings.landing), Path(settings.record), settings.work, Path(settings.keys)]
    published = [Path(settings.marts), Path(settings.exports), Path(settings.pages)]
    # As an earlier version left them.
    for path in (*private[:3], *published):
        path.mkdir(0o755, parents=True)
        path.chmod(0o755)
    private[3].touch(0o644)
    assert set(readable_by_others(settings)) == set(private)

    make_private(settings)

    assert readable_by_others(settings) == []
    modes = [stat.S_IMODE(path.stat().st_mode) for path in published]
    assert modes == [0o755] * 3
