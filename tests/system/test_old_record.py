"""A record written before tables could gain columns opens, gains them, loads and publishes."""

import json
from pathlib import Path

import pytest

from tests.helpers.doc_pages import Block, Checkout, blocks
from tests.helpers.facts import fact
from tests.helpers.old_record import OLD_TABLES, OldRecord
from tests.helpers.paths import ROOT
from tests.helpers.publishing import publish
from tests.helpers.record_rows import load
from warehouse.record.append import Load, append
from warehouse.record.retractions import Rereading
from warehouse.record.store import ROWS
from warehouse.record.tables import FUNDAMENTALS, RecordTable
from warehouse.tables.column import columns_of


@pytest.fixture
def old(tmp_path: Path) -> OldRecord:
    return OldRecord(tmp_path / "old")


def test_what_was_pinned_before_is_answered_byte_for_byte(old: OldRecord) -> None:
    assert old.answers() == old.answers_before
    assert old.vintages() == old.vintages_before


def test_it_is_read_without_being_written(old: OldRecord) -> None:
    def files() -> list[str]:
        return sorted(str(path) for path in Path(old.record.root).rglob("*"))

    before = files()
    old.vintages()
    for name in ROWS:
        old.record.query(f"FROM {old.record.relation(name)}")
    assert files() == before


def test_it_gains_the_columns_of_today_and_goes_on(old: OldRecord) -> None:
    for name, row in ROWS.items():
        assert set(row.model_fields) <= {
            field.name for field in old.record.table(name).schema().fields
        }
    assert old.vintages() == old.vintages_before
    for table in OLD_TABLES:
        # The first load again: every hash is as it was stored.
        columns = ", ".join(table.row.model_fields)
        relation = old.record.relation(table.name)
        rows = old.record.query(f"SELECT {columns} FROM {relation} WHERE load_seq = 1")
        entry = append(old.record, table, rows, Load("test", ("d",)), reread=Rereading([]))
        assert (entry.appended, entry.held) == (0, len(rows)) and len(rows) > 0
    load(old.record, FUNDAMENTALS, fact("1200", issuer="DCUBUNTU1", year=2020, publication="a-3"))
    version = publish(old.record, old.marts, "FICTIONAL DATA of a test.")
    assert version not in old.answers_before
    assert old.get("/v1/fundamentals/DCUBUNTU1").json["count"] == 11
    assert old.answers() == old.answers_before
    assert old.vintages() == old.vintages_before


@pytest.mark.parametrize("table", OLD_TABLES, ids=lambda table: table.name)
def test_every_column_added_since_says_since_when(old: OldRecord, table: RecordTable) -> None:
    """Its member is then not required in builds made before, and a null is not hashed."""
    delta = old.record.stored_table(table.name)
    assert delta is not None
    stored = {field.name for field in delta.schema().fields}
    for name, column in columns_of(table.row).items():
        assert name in stored or column.since, f"{table.name}.{name}: declare it with since=…"


_PUBLISH = """
import json, sys
from pathlib import Path
from assets.parsing.parsed import to_table
from pipelines.derivations import derivations
from tests.helpers.old_record import OldRecord
from tests.helpers.tenders import read
from tests.helpers.publishing import publish
from warehouse.record.append import Load, append
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES

old = OldRecord(Path("old"))
buyer = {"id": "ZA-NT-1", "name": "Department of Fictional Roads"}
parsed = read({"releases": [{
    "ocid": "ocds-9t57fa-7", "id": "7-tender", "date": "2026-03-01T00:00:00Z", "tag": ["tender"],
    "parties": [{**buyer, "roles": ["buyer"]}], "buyer": buyer,
    "tender": {"id": "7", "procurementMethodDetails": "Restricted fictional bidding"},
}]})
for table in (TENDER_RELEASES, TENDER_PARTIES):
    rows, rejected = to_table(table, [parsed])
    assert append(old.record, table, rows, Load("za-etenders", ("z7",))).appended == 1
publish(old.record, old.marts, "FICTIONAL DATA of a test.", derivations=derivations())
rows = old.get("/v1/tenders?country=ZA").json["data"]
print(json.dumps({
    "identical": old.answers() == old.answers_before,
    "vintages": old.vintages() == old.vintages_before,
    "members": {row["ocid"]: row["procurement_method_details"] for row in rows},
}))
"""


def test_the_field_of_the_documentation_is_added_to_it(old: OldRecord, tmp_path: Path) -> None:
    """As a developer does it: the changes of docs/add-a-field.md, in a copy of the repository."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    checkout = Checkout(folder, tmp_path / "no home", {})
    for block in blocks(ROOT / "docs" / "add-a-field.md"):
        if block.language == "diff":
            checkout.run(block)
    printed = json.loads(checkout.run(Block("this test", "python", _PUBLISH)))
    assert printed["identical"] and printed["vintages"]
    assert printed["members"].pop("ocds-9t57fa-7") == "Restricted fictional bidding"
    assert set(printed["members"].values()) == {None}
