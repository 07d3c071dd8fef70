"""A home with a retention period: what the commands say of documents whose bodies were removed."""

from pathlib import Path

import pytest

from assets.ingest.load import load_source
from pipelines.verify import damaged_landing
from pipelines.why import explain
from tests.helpers.found_bytes import files_with
from tests.helpers.installation import files_below, run_command, sample_home, settings_of
from tests.helpers.made_once import copy_of
from tests.helpers.tender_packages import ZA
from warehouse.record.landing import open_landing
from warehouse.record.store import open_record

OCID, COMPANY = "ocds-9t57fa-165000", "Marula Fictional Stores Ltd"


def test_compact_removes_old_bodies_and_every_command_says_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = settings_of(copy_of(sample_home(tmp_path_factory), "retention", tmp_path_factory))
    landing, parties = Path(settings.landing), Path(settings.record, "tender_parties")
    bodies = list(files_below(landing / "bodies"))
    assert len(bodies) > 1 and files_with(landing, COMPANY)

    status, out, err = run_command(settings.home, "compact")
    assert (status, "bodies" in out) == (0, False), err
    before = files_with(parties, COMPANY)
    assert list(files_below(landing / "bodies")) == bodies
    status, out, err = run_command(settings.home, "compact", SANKOFA_LANDING_DAYS="1")
    assert status == 0, err
    words = f"{len(bodies)} bodies removed after 1 days"
    assert out.splitlines()[-1].split(None, 1) == ["landing", words]

    assert files_with(landing, COMPANY) == []
    assert files_with(parties, COMPANY) == before != []
    assert list(damaged_landing(settings)) == []
    explained = explain(settings, OCID)
    assert explained.answer.startswith("served")
    assert explained.documents
    assert all("its body was removed on" in document.state for document in explained.documents)
    source = ZA.with_withheld_key(settings.withheld_key)
    assert load_source(open_record(settings), open_landing(settings), source) == []
