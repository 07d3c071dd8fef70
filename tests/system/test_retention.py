"""A home with a retention period: what the commands say of documents whose bodies were removed."""

from pathlib import Path

from assets.ingest.land import land_sample
from assets.ingest.load import load_source
from pipelines.verify import damaged_landing
from pipelines.why import explain
from tests.helpers.found_bytes import files_with
from tests.helpers.installation import BriefPublication, publication, run_command, settings_of
from tests.helpers.tender_packages import ZA, award_release, write_package
from warehouse.record.landing import open_landing
from warehouse.record.store import open_record

COMPANY = "Xyzzy Fictional Trading (Pty) Ltd"


def test_compact_removes_old_bodies_and_every_command_says_so(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")
    package = write_package(settings, "2026-05-03", "a.json", award_release(1, COMPANY))
    landing, record = open_landing(settings), open_record(settings)
    land_sample(landing, settings.sample, ZA)
    load_source(record, landing, ZA.with_withheld_key(settings.withheld_key))
    package.unlink()
    publication(settings, BriefPublication).run()
    before = files_with(Path(settings.record), COMPANY)
    assert files_with(Path(settings.landing), COMPANY)

    status, out, err = run_command(settings.home, "compact")
    assert (status, "bodies" in out) == (0, False), err
    assert files_with(Path(settings.landing), COMPANY)
    status, out, err = run_command(settings.home, "compact", SANKOFA_LANDING_DAYS="1")
    assert status == 0, err
    assert out.splitlines()[-1].split(None, 1) == ["landing", "1 bodies removed after 1 days"]

    assert files_with(Path(settings.landing), COMPANY) == []
    assert files_with(Path(settings.record), COMPANY) == before != []
    assert list(damaged_landing(settings)) == []
    explained = explain(settings, "ocds-9t57fa-1")
    assert explained.answer.startswith("served")
    assert ["its body was removed on" in document.state for document in explained.documents] == [
        True
    ]
    assert load_source(open_record(settings), open_landing(settings), ZA) == []
