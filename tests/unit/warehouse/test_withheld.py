"""What an operator withheld is in no later build until it is released: party, document, row."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake.exceptions import CommitFailedError
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.facts import fact, facts
from tests.helpers.record_rows import (
    FIRST,
    SECOND,
    entity_row,
    load,
    party_row,
    release_row,
)
from tests.helpers.unchecked import append_unchecked
from warehouse.names.redaction import Redaction
from warehouse.names.spellings import distinctive_words
from warehouse.publish.redacted_rows import PARTIES as WITHHELD_PARTIES
from warehouse.publish.redacted_rows import TEXTS as NAMES_IN_TEXTS
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.withheld import withhold_rows
from warehouse.record import store
from warehouse.record.append import Load, append
from warehouse.record.erase import enter_erasure, erasures
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.record.withheld import (
    Subject,
    name_subject,
    party_key_subject,
    process_subject,
    release,
    sighting_subject,
    withheld_fingerprint,
    withheld_now,
    withhold,
)
from warehouse.shared.errors import SankofaError

pytestmark = pytest.mark.slow

SECRET = b"a key of the tests"
PERSON = "Nomsa Fictional Dlamini"
RELEASE = {
    "awards": [
        {
            "id": "1",
            "suppliers": [{"id": "k1", "name": PERSON}, {"id": "k2", "name": "Roads Ltd"}],
            "value": {"amount": 1500000.10, "currency": "ZAR"},
        }
    ],
    "buyer": {"id": "k3", "name": "City of Nowhere"},
    "tender": {"title": f"Training by {PERSON.upper()}, Nowhere"},
}


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Two releases: one names a person as a supplier, the other only in its title."""
    record = Record(str(tmp_path / "record"))
    texts = json.dumps(RELEASE, separators=(",", ":"))
    load(record, TENDER_RELEASES, release_row(1, release=texts, buyer_key="k3"))
    other = json.dumps({"tender": {"title": f"Report of {PERSON}"}}, separators=(",", ":"))
    load(record, TENDER_RELEASES, release_row(2, release=other, document="d1"))
    load(
        record,
        TENDER_PARTIES,
        party_row(party_key="k1", role="supplier", name=PERSON),
        party_row(party_key="k2", role="supplier", name="Roads Ltd"),
        party_row(party_key="k3", role="buyer", name="City of Nowhere"),
        party_row(ocid="ocds-0002", party_key="k2", name="Roads Ltd", document="d1"),
    )
    return record


def redacted_release(release: str, name: str) -> str:
    """Return a release without a name that an operator withheld."""
    names = frozenset({distinctive_words(name)})
    return Redaction(frozenset(), names, SECRET).release(release)


def rows(record: Record, table: RecordTable, folder: Path) -> list[dict[str, Any]]:
    """Return the latest rows of a table in a snapshot with the tombstones applied."""
    loads = {each.name: record.load_seq(each) for each in RECORD_TABLES}
    with Snapshot(folder, record, loads, "20260101.1") as snapshot:
        withhold_rows(snapshot, SECRET)
        snapshot.copy_record([table])
        left_out = snapshot.left_out()
        assert snapshot.path("left_out").exists() is False
        return [
            {**row, "left_out": left_out.to_pylist()}
            for row in snapshot.read(f"SELECT * FROM {table.name} WHERE latest").to_pylist()
        ]


def test_a_withheld_party_has_no_name_anywhere_and_the_other_parties_stay(
    record: Record, tmp_path: Path
) -> None:
    withhold(record, [name_subject(SECRET, PERSON)], "reported", "op", SECRET)
    parties = rows(record, TENDER_PARTIES, tmp_path / "parties")
    assert sorted(str(party["name"]) for party in parties) == [
        "City of Nowhere",
        "None",
        "Roads Ltd",
        "Roads Ltd",
    ]
    (hidden,) = [party for party in parties if party["name"] is None]
    assert hidden["party_key"].startswith("withheld:")
    assert (hidden["role"], hidden["org_evidence"]) == ("supplier", None)
    assert {row["rule"]: row["rows_left_out"] for row in hidden["left_out"]} == {
        WITHHELD_PARTIES: 1,
        NAMES_IN_TEXTS: 2,
    }
    one, two = sorted(
        rows(record, TENDER_RELEASES, tmp_path / "releases"), key=lambda row: str(row["ocid"])
    )
    assert json.loads(one["release"])["awards"][0]["suppliers"] == [
        {"id": "k2", "name": "Roads Ltd"}
    ]
    assert '"amount":1500000.1' in one["release"]
    assert json.loads(one["release"])["tender"]["title"] == "Training by [withheld], Nowhere"
    assert json.loads(two["release"])["tender"]["title"] == "Report of [withheld]"
    # The first release withheld one party before, the second names nobody as a party.
    assert (one["parties_withheld"], two["parties_withheld"]) == (2, 1)


@pytest.mark.parametrize(
    "spelling", ["NOMSA FICTIONAL DLAMINI", "Dlamini, Nomsa Fictional", "Nómsa  fictional-Dlamini"]
)
def test_a_name_is_withheld_in_every_spelling_and_order(
    record: Record, tmp_path: Path, spelling: str
) -> None:
    withhold(record, [name_subject(SECRET, spelling)], "reported", "op", SECRET)
    names = {row["name"] for row in rows(record, TENDER_PARTIES, tmp_path / "snapshot")}
    assert PERSON not in names
    assert "Roads Ltd" in names


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        (
            PERSON,
            [
                "Dlamini, Nomsa Fictional",
                "NOMSA  Fictional\nDlamini",
                "Nómsa Fictional Dlamini",
                "No\u0301msa Fictional Dlamini",
                "Nomsa-Fictional Dlamini",
                "Nomsa Ｆictional Dlamini",
                "Nomsa ﬁctional Dlamini",
            ],
        ),
        # Short words may be initials, letter by letter.
        ("Li Wei", ["L. I. Wei", "Wei, Li", "LI\nWEI"]),
        ("Straß Mª", ["STRASS MA", "Mª Strass"]),
    ],
)
@pytest.mark.parametrize("escaped", [True, False])
def test_releases_without_the_party_lose_the_name_in_every_spelling_and_order(
    record: Record, tmp_path: Path, name: str, spellings: list[str], escaped: bool
) -> None:
    texts = [
        json.dumps({"tender": {"title": f"Report of {spelling}!"}}, ensure_ascii=escaped)
        for spelling in spellings
    ]
    releases = [release_row(100 + number, release=text) for number, text in enumerate(texts)]
    load(record, TENDER_RELEASES, *releases)
    load(record, TENDER_PARTIES, party_row(ocid="ocds-0099", name=name))
    withhold(record, [name_subject(SECRET, name)], "reported", "op", SECRET)
    titles = [
        json.loads(row["release"])["tender"]["title"]
        for row in rows(record, TENDER_RELEASES, tmp_path / "r")
        if row["ocid"] >= "ocds-0100"
    ]
    assert titles == ["Report of [withheld]!"] * len(spellings)


def test_a_release_with_only_the_words_of_a_name_is_served_as_it_is(
    record: Record, tmp_path: Path
) -> None:
    text = '{"tender": {"title": "Dlamini Road, Nomsa: fictional", "value": {"amount": 1.50}}}'
    load(record, TENDER_RELEASES, release_row(7, release=text))
    withhold(record, [name_subject(SECRET, PERSON)], "reported", "op", SECRET)
    assert text in {row["release"] for row in rows(record, TENDER_RELEASES, tmp_path / "r")}


def test_a_stored_release_that_is_not_json_is_left_out_and_blocks_nothing(
    record: Record, tmp_path: Path
) -> None:
    # As an older rule book let it in.
    append_unchecked(record, TENDER_RELEASES, release_row(7, release=f'{{"tender": {PERSON}'))
    load(record, TENDER_PARTIES, party_row(ocid="ocds-0007", name=PERSON))
    withhold(record, [name_subject(SECRET, PERSON)], "reported", "op", SECRET)
    loads = {each.name: record.load_seq(each) for each in RECORD_TABLES}
    with Snapshot(tmp_path / "s", record, loads, "20260101.1") as snapshot:
        withhold_rows(snapshot, SECRET)
        snapshot.apply_rules()
        snapshot.copy_record([TENDER_RELEASES])
        served = snapshot.read("SELECT ocid FROM tender_releases WHERE latest ORDER BY ocid")
        assert served["ocid"].to_pylist() == ["ocds-0001", "ocds-0002"]
        rules = snapshot.left_out()["rule"].to_pylist()
        assert "a release has only members that may be served" in rules


def test_initials_are_the_same_with_and_without_dots(record: Record, tmp_path: Path) -> None:
    load(record, TENDER_PARTIES, party_row(ocid="ocds-0009", name="Dlamini Trading S.A.S."))
    withhold(record, [name_subject(SECRET, "DLAMINI TRADING SAS")], "reported", "op", SECRET)
    names = {row["name"] for row in rows(record, TENDER_PARTIES, tmp_path / "snapshot")}
    assert "Dlamini Trading S.A.S." not in names
    texts = [
        json.loads(redacted_release(json.dumps({"tender": {"title": title}}), "A.B.C. Trading SA"))
        for title in (
            "by ABC Trading S.A. now",
            "by A.B.C. TRADING SA now",
            "by Trading SA, A.B.C.",
        )
    ]
    assert [text["tender"]["title"] for text in texts] == [
        "by [withheld]. now",
        "by [withheld] now",
        "by [withheld].",
    ]


def test_a_party_withheld_by_its_key_is_withheld_under_every_name(
    record: Record, tmp_path: Path
) -> None:
    load(record, TENDER_PARTIES, party_row(ocid="ocds-0009", party_key="k1", name="N. F. Dlamini"))
    withhold(record, [party_key_subject(SECRET, "test", "k1")], "reported", "op", SECRET)
    names = {row["name"] for row in rows(record, TENDER_PARTIES, tmp_path / "snapshot")}
    assert names == {None, "Roads Ltd", "City of Nowhere"}
    (one, _) = sorted(
        rows(record, TENDER_RELEASES, tmp_path / "releases"), key=lambda row: str(row["ocid"])
    )
    assert PERSON not in one["release"]


def test_a_withheld_buyer_leaves_no_key_in_the_release(record: Record, tmp_path: Path) -> None:
    withhold(record, [name_subject(SECRET, "City of Nowhere")], "reported", "op", SECRET)
    one = min(rows(record, TENDER_RELEASES, tmp_path / "s"), key=lambda row: str(row["ocid"]))
    assert one["buyer_key"].startswith("withheld:")
    assert "buyer" not in json.loads(one["release"])


def test_rows_of_a_withheld_document_are_left_out_of_every_table(
    record: Record, tmp_path: Path
) -> None:
    withhold(record, [Subject("document", "d1")], "wrong file", "op", SECRET)
    assert [row["ocid"] for row in rows(record, TENDER_RELEASES, tmp_path / "r")] == ["ocds-0001"]
    parties = rows(record, TENDER_PARTIES, tmp_path / "p")
    assert {row["ocid"] for row in parties} == {"ocds-0001"}
    assert {(row["table_name"], row["rows_left_out"]) for row in parties[0]["left_out"]} == {
        ("tender_parties", 1),
        ("tender_releases", 1),
    }


def test_reading_a_withheld_document_again_does_not_bring_it_back(
    record: Record, tmp_path: Path
) -> None:
    withhold(record, [Subject("document", "d1")], "wrong file", "op", SECRET)
    load(record, TENDER_RELEASES, release_row(2, document="d1", tag="tender"))
    load(record, TENDER_RELEASES, release_row(3, document="d1"))
    assert [row["ocid"] for row in rows(record, TENDER_RELEASES, tmp_path / "r")] == ["ocds-0001"]


def test_a_withheld_release_takes_its_parties_with_it(record: Record, tmp_path: Path) -> None:
    two = next(
        row
        for row in rows(record, TENDER_RELEASES, tmp_path / "before")
        if row["ocid"] == "ocds-0002"
    )
    subject = sighting_subject(TENDER_RELEASES, two["figure"], two["figure_check"], two["sighting"])
    withhold(record, [subject], "wrong", "op", SECRET)
    assert [row["ocid"] for row in rows(record, TENDER_RELEASES, tmp_path / "r")] == ["ocds-0001"]
    assert "ocds-0002" not in {row["ocid"] for row in rows(record, TENDER_PARTIES, tmp_path / "p")}


def test_later_releases_of_a_withheld_process_are_withheld_too(
    record: Record, tmp_path: Path
) -> None:
    withhold(record, [process_subject("test", "ocds-0002")], "wrong", "op", SECRET)
    load(record, TENDER_RELEASES, release_row(2, release_id="r2"))
    assert [row["ocid"] for row in rows(record, TENDER_RELEASES, tmp_path / "r")] == ["ocds-0001"]


def test_without_a_withheld_vintage_the_one_before_is_the_latest(
    record: Record, tmp_path: Path
) -> None:
    figures = facts(
        fact("10", available_at=FIRST, publication="a-1"),
        fact("99", available_at=SECOND, publication="a-2", document="d9"),
    )
    append(record, FUNDAMENTALS, figures, Load("test", ("d",)))
    withhold(record, [Subject("document", "d9")], "wrong scale", "op", SECRET)
    (row,) = rows(record, FUNDAMENTALS, tmp_path / "snapshot")
    assert (row["value_reported"], row["vintage"], row["superseded_at"]) == (10, 1, None)


def test_a_withheld_organisation_loses_its_rows_and_its_name_among_others(
    record: Record, tmp_path: Path
) -> None:
    load(
        record,
        ENTITIES,
        entity_row(service_id="DCONE", legal_name=PERSON),
        entity_row(service_id="DCTWO", other_names=json.dumps(["Roads", PERSON])),
    )
    withhold(record, [name_subject(SECRET, PERSON)], "reported", "op", SECRET)
    (entity,) = rows(record, ENTITIES, tmp_path / "snapshot")
    assert (entity["service_id"], json.loads(entity["other_names"])) == ("DCTWO", ["Roads"])


def test_what_is_released_is_served_again_and_both_entries_stay(
    record: Record, tmp_path: Path
) -> None:
    nothing = withheld_fingerprint(record)
    withhold(record, [name_subject(SECRET, PERSON)], "reported", "op", SECRET)
    assert withhold(record, [name_subject(SECRET, PERSON)], "again", "op", SECRET) == []
    assert withheld_fingerprint(record) != nothing
    release(record, withheld_now(record), "it is a firm", "op")
    assert withheld_fingerprint(record) == nothing
    assert withheld_now(record) == []
    assert PERSON in {row["name"] for row in rows(record, TENDER_PARTIES, tmp_path / "snapshot")}
    assert record.table("withheld").count() == 2


def test_what_is_withheld_or_erased_is_entered_even_if_another_writer_comes_first(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflicts = iter([CommitFailedError("another writer"), None] * 2)
    commit = store.commit

    def contested(*arguments: Any) -> None:
        if (conflict := next(conflicts)) is not None:
            raise conflict
        commit(*arguments)

    monkeypatch.setattr(store, "commit", contested)
    (entry,) = withhold(record, [Subject("document", "d1")], "wrong file", "op", SECRET)
    assert withheld_now(record) == [entry]
    erased = enter_erasure(record, "d1", "test", datetime(2026, 1, 1, tzinfo=UTC), "why", "op")
    assert erasures(record) == [erased]


def test_the_list_of_withheld_parties_names_nobody(record: Record) -> None:
    withhold(
        record,
        [name_subject(SECRET, PERSON), party_key_subject(SECRET, "test", "name:nomsa dlamini")],
        "reported",
        "op",
        SECRET,
    )
    stored = str(record.table("withheld").to_pyarrow_table().to_pylist()).lower()
    assert "dlamini" not in stored
    assert "nomsa" not in stored


def test_another_key_is_refused_instead_of_serving_the_withheld(
    record: Record, tmp_path: Path
) -> None:
    withhold(record, [name_subject(b"other", PERSON)], "reported", "op", b"other")
    with pytest.raises(SankofaError, match="another SANKOFA_WITHHELD_KEY"):
        rows(record, TENDER_PARTIES, tmp_path / "snapshot")


words = st.lists(st.sampled_from(["anna", "berg", "carl", "dora"]), min_size=2, max_size=4)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | words.map(" ".join),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["buyer", "suppliers", "tenderers", "name", "title", "id", "tender"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values, words)
def test_no_text_of_a_release_has_the_name_afterwards(value: Any, name: list[str]) -> None:
    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for item in value.values() for text in texts(item)]
        if isinstance(value, list):
            return [text for item in value for text in texts(item)]
        return [value] if isinstance(value, str) else []

    left = json.loads(redacted_release(json.dumps({"tender": value}), " ".join(name)))
    for text in texts(left):
        assert " ".join(name) not in text
    # Without the name, nothing changes.
    assert json.loads(redacted_release(json.dumps({"tender": value}), "xerxes yolande")) == {
        "tender": value
    }
