"""The audit searches the columns that are declared as free text."""

from pathlib import Path

import pytest

from quality import personal_data_audit
from tests.helpers.audited import staged
from tests.helpers.record_rows import load, release_row
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES


def releases_with_contact(record: Record, stage: Path) -> list[str]:
    with staged(record, stage) as snapshot:
        personal_data_audit.find_contacts(snapshot)
        rows = snapshot.read(
            "SELECT ocid FROM tender_releases SEMI JOIN releases_with_contact USING (row_id)"
        )
    return list(rows["ocid"].to_pylist())


def test_a_contact_in_a_column_of_free_text_is_found(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(
        record,
        TENDER_RELEASES,
        release_row(1, category="works"),
        release_row(2, category="works, ask thandi@example.org"),
        release_row(3, category="works, ask thandi@example.org", release=None),
    )
    # What no declaration calls free text holds codes, and is not searched.
    assert releases_with_contact(record, tmp_path / "codes") == []
    monkeypatch.setattr(personal_data_audit, "_FREE_TEXTS", ("category",))
    assert releases_with_contact(record, tmp_path / "texts") == ["ocds-0002", "ocds-0003"]
