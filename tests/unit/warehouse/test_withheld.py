"""What an operator withheld is in no later build until it is released: party, document, row."""

import itertools
import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.facts import fact
from tests.helpers.record_rows import (
    FIRST,
    SECOND,
    entity_row,
    load,
    party_row,
    release_row,
)
from tests.helpers.stories import Stories
from tests.helpers.unchecked import append_unchecked
from warehouse.names.redaction import Redaction
from warehouse.names.spellings import distinctive_words
from warehouse.publish.redacted_rows import PARTIES as WITHHELD_PARTIES
from warehouse.publish.redacted_rows import TEXTS as NAMES_IN_TEXTS
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.withheld import withhold_rows
from warehouse.record import store
from warehouse.record.erase import enter_erasure, erasures
from warehouse.record.incoming import to_arrow
from warehouse.record.row_index import add_row_hashes
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
Row = dict[str, Any]


@dataclass(frozen=True)
class Portal:
    """Two releases: one names a person as a supplier, the other only in its title.

    Every story has a portal of its own, with a person of its own: names are withheld everywhere.
    """

    number: int
    person: str
    buyer: str = "City of Nowhere"

    @property
    def source(self) -> str:
        return f"portal-{self.number}"

    @property
    def other_document(self) -> str:
        """The document of the second release."""
        return f"{self.source}-d1"

    def ocid(self, number: int) -> str:
        return f"ocds-{self.number}-{number:04}"

    def release(self, number: int, release: object, **others: Any) -> Row:
        text = release if isinstance(release, str) else json.dumps(release, separators=(",", ":"))
        place = {"source": self.source, "ocid": self.ocid(number)}
        return release_row(number, release=text, **{"document": self.source, **place, **others})

    def party(self, number: int, **others: Any) -> Row:
        place = {"source": self.source, "ocid": self.ocid(number), "document": self.source}
        return party_row(**{**place, **others})

    def releases(self) -> list[Row]:
        suppliers = [{"id": "k1", "name": self.person}, {"id": "k2", "name": "Roads Ltd"}]
        value = {"amount": 1500000.10, "currency": "ZAR"}
        release = {
            "awards": [{"id": "1", "suppliers": suppliers, "value": value}],
            "buyer": {"id": "k3", "name": self.buyer},
            "tender": {"title": f"Training by {self.person.upper()}, Nowhere"},
        }
        other = {"tender": {"title": f"Report of {self.person}"}}
        return [
            self.release(1, release, buyer_key="k3"),
            self.release(2, other, document=self.other_document),
        ]

    def parties(self) -> list[Row]:
        return [
            self.party(1, party_key="k1", role="supplier", name=self.person),
            self.party(1, party_key="k2", role="supplier", name="Roads Ltd"),
            self.party(1, party_key="k3", role="buyer", name=self.buyer),
            self.party(2, party_key="k2", name="Roads Ltd", document=self.other_document),
        ]


@dataclass(frozen=True)
class Part:
    """A portal, what else is loaded of it, what is withheld, and what is loaded after that."""

    portal: Portal
    withheld: Sequence[Subject]
    loaded: Mapping[RecordTable, Sequence[Row]] = field(default_factory=dict)
    unchecked: Sequence[Row] = ()
    later: Sequence[Row] = ()


@dataclass(frozen=True)
class Served:
    """The latest rows of a portal in a snapshot, by table, and the rows left out of it."""

    rows: Mapping[RecordTable, Sequence[Row]]
    left_out: Sequence[Row]

    @property
    def releases(self) -> list[Row]:
        return sorted(self.rows[TENDER_RELEASES], key=lambda row: str(row["ocid"]))

    @property
    def parties(self) -> Sequence[Row]:
        return self.rows[TENDER_PARTIES]

    @property
    def ocids(self) -> list[str]:
        return [row["ocid"] for row in self.releases]

    @property
    def names(self) -> set[str | None]:
        return {row["name"] for row in self.parties}


def served(parts: list[Part]) -> list[Served]:
    """Load all portals, apply all tombstones to one snapshot, and read it by portal."""
    with TemporaryDirectory() as folder:
        record = Record(f"{folder}/record")
        loaded: dict[RecordTable, list[Row]] = {}
        for part in parts:
            loaded.setdefault(TENDER_RELEASES, []).extend(part.portal.releases())
            loaded.setdefault(TENDER_PARTIES, []).extend(part.portal.parties())
            for table, rows in part.loaded.items():
                loaded.setdefault(table, []).extend(rows)
        for table, rows in loaded.items():
            load(record, table, *rows)
        append_unchecked(
            record, TENDER_RELEASES, *(row for part in parts for row in part.unchecked)
        )
        subjects = [subject for part in parts for subject in part.withheld]
        withhold(record, subjects, "reported", "op", SECRET)
        load(record, TENDER_RELEASES, *(row for part in parts for row in part.later))
        tables, left_out = snapshot_of(record, Path(folder) / "snapshot", list(loaded))
    return [
        Served(
            {
                table: [row for row in rows if row["source"] == part.portal.source]
                for table, rows in tables.items()
            },
            [row for row in left_out if row["source"] == part.portal.source],
        )
        for part in parts
    ]


def snapshot_of(
    record: Record, folder: Path, tables: Sequence[RecordTable]
) -> tuple[dict[RecordTable, list[Row]], list[Row]]:
    """Return the latest rows in a snapshot with the tombstones applied, and what it leaves out."""
    loads = {each.name: record.load_seq(each) for each in RECORD_TABLES}
    with Snapshot(folder, record, loads, "20260101.1") as snapshot:
        withhold_rows(snapshot, SECRET)
        snapshot.apply_rules()
        snapshot.copy_record(tables)
        left_out = snapshot.left_out()
        assert snapshot.path("left_out").exists() is False
        latest = {
            table: snapshot.read(f"SELECT * FROM {table.name} WHERE latest").to_pylist()
            for table in tables
        }
        return latest, left_out.to_pylist()


Story = Generator[Part, Served, None]
stories = Stories(served)


def subject_of(row: Row) -> Subject:
    """Return the subject that withholds one release."""
    typed, _ = to_arrow(TENDER_RELEASES, [row])
    (hashed,) = add_row_hashes(TENDER_RELEASES, typed).to_pylist()
    ids = (hashed[name] for name in ("figure", "figure_check", "sighting"))
    return sighting_subject(TENDER_RELEASES, *ids)


def redacted_release(release: str, name: str) -> str:
    """Return a release without a name that an operator withheld."""
    names = frozenset({distinctive_words(name)})
    return Redaction(frozenset(), names, SECRET).release(release)


@stories.test
def test_a_withheld_party_has_no_name_anywhere_and_the_other_parties_stay() -> Story:
    portal = Portal(1, "Sipho Fictional Khumalo")
    told = yield Part(portal, [name_subject(SECRET, portal.person)])
    assert sorted(str(party["name"]) for party in told.parties) == [
        "City of Nowhere",
        "None",
        "Roads Ltd",
        "Roads Ltd",
    ]
    (hidden,) = [party for party in told.parties if party["name"] is None]
    assert hidden["party_key"].startswith("withheld:")
    assert (hidden["role"], hidden["org_evidence"]) == ("supplier", None)
    assert {row["rule"]: row["rows_left_out"] for row in told.left_out} == {
        WITHHELD_PARTIES: 1,
        NAMES_IN_TEXTS: 2,
    }
    one, two = told.releases
    assert json.loads(one["release"])["awards"][0]["suppliers"] == [
        {"id": "k2", "name": "Roads Ltd"}
    ]
    assert '"amount":1500000.1' in one["release"]
    assert json.loads(one["release"])["tender"]["title"] == "Training by [withheld], Nowhere"
    assert json.loads(two["release"])["tender"]["title"] == "Report of [withheld]"
    # The first release withheld one party before, the second names no one as a party.
    assert (one["parties_withheld"], two["parties_withheld"]) == (2, 1)


@stories.test
def test_a_name_is_withheld_in_every_spelling_and_order() -> Story:
    spellings = {
        "Zanele Fictional Ndlovu": "ZANELE FICTIONAL NDLOVU",
        "Bongani Fictional Zulu": "Zulu, Bongani Fictional",
        "Lindiwe Fictional Mthembu": "Líndiwe  fictional-Mthembu",
    }
    portal = Portal(2, "Themba Fictional Nkosi")
    parties = [portal.party(number, name=name) for number, name in enumerate(spellings, start=3)]
    told = yield Part(
        portal,
        [name_subject(SECRET, spelling) for spelling in spellings.values()],
        {TENDER_PARTIES: parties},
    )
    assert told.names == {None, portal.person, portal.buyer, "Roads Ltd"}


@stories.test
def test_releases_without_the_party_lose_the_name_in_every_spelling_and_order() -> Story:
    names = {
        PERSON: [
            "Dlamini, Nomsa Fictional",
            "NOMSA  Fictional\nDlamini",
            "Nómsa Fictional Dlamini",
            "No\u0301msa Fictional Dlamini",
            "Nomsa-Fictional Dlamini",
            "Nomsa Ｆictional Dlamini",
            "Nomsa ﬁctional Dlamini",
        ],
        # Short words may be initials, letter by letter.
        "Li Wei": ["L. I. Wei", "Wei, Li", "LI\nWEI"],
        "Straß Mª": ["STRASS MA", "Mª Strass"],
    }
    portal = Portal(3, PERSON)
    texts = [
        json.dumps({"tender": {"title": f"Report of {spelling}!"}}, ensure_ascii=escaped)
        for escaped in (True, False)
        for spelling in itertools.chain.from_iterable(names.values())
    ]
    numbered = list(enumerate(texts, start=100))
    told = yield Part(
        portal,
        [name_subject(SECRET, name) for name in names],
        {
            TENDER_RELEASES: [portal.release(number, text) for number, text in numbered],
            TENDER_PARTIES: [
                portal.party(number, name=name) for number, name in enumerate(names, start=90)
            ],
        },
    )
    titles = [
        json.loads(row["release"])["tender"]["title"]
        for row in told.releases
        if row["ocid"] >= portal.ocid(100)
    ]
    assert titles == ["Report of [withheld]!"] * len(texts)


@stories.test
def test_a_release_with_only_the_words_of_a_name_is_served_as_it_is() -> Story:
    portal = Portal(4, "Thandi Fictional Mokoena")
    text = '{"tender": {"title": "Mokoena Road, Thandi: fictional", "value": {"amount": 1.50}}}'
    release = portal.release(7, text)
    told = yield Part(portal, [name_subject(SECRET, portal.person)], {TENDER_RELEASES: [release]})
    assert told.releases[-1]["release"] == text


@stories.test
def test_a_stored_release_that_is_not_json_is_left_out_and_blocks_nothing() -> Story:
    portal = Portal(5, "Ayanda Fictional Sithole")
    told = yield Part(
        portal,
        [name_subject(SECRET, portal.person)],
        {TENDER_PARTIES: [portal.party(7, name=portal.person)]},
        # As an older rule book let it in.
        unchecked=[portal.release(7, f'{{"tender": {portal.person}')],
    )
    assert told.ocids == [portal.ocid(1), portal.ocid(2)]
    rules = [row["rule"] for row in told.left_out]
    assert "a release has only members that may be served" in rules


@stories.test
def test_initials_are_the_same_with_and_without_dots() -> Story:
    portal = Portal(6, "Mandla Fictional Cele")
    told = yield Part(
        portal,
        [name_subject(SECRET, "CELE TRADING SAS")],
        {TENDER_PARTIES: [portal.party(9, name="Cele Trading S.A.S.")]},
    )
    assert told.names == {None, portal.person, portal.buyer, "Roads Ltd"}
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


@stories.test
def test_a_party_withheld_by_its_key_is_withheld_under_every_name() -> Story:
    portal = Portal(7, "Busisiwe Fictional Ngcobo")
    told = yield Part(
        portal,
        [party_key_subject(SECRET, portal.source, "k1")],
        {TENDER_PARTIES: [portal.party(9, party_key="k1", name="B. F. Ngcobo")]},
    )
    assert told.names == {None, "Roads Ltd", "City of Nowhere"}
    assert portal.person not in told.releases[0]["release"]


@stories.test
def test_a_withheld_buyer_leaves_no_key_in_the_release() -> Story:
    portal = Portal(8, "Jabulani Fictional Buthelezi", buyer="City of Anywhere")
    told = yield Part(portal, [name_subject(SECRET, portal.buyer)])
    assert told.releases[0]["buyer_key"].startswith("withheld:")
    assert "buyer" not in json.loads(told.releases[0]["release"])


@stories.test
def test_rows_of_a_withheld_document_are_left_out_of_every_table() -> Story:
    portal = Portal(9, "Nandi Fictional Radebe")
    told = yield Part(portal, [Subject("document", portal.other_document)])
    assert told.ocids == [portal.ocid(1)]
    assert {row["ocid"] for row in told.parties} == {portal.ocid(1)}
    assert {(row["table_name"], row["rows_left_out"]) for row in told.left_out} == {
        ("tender_parties", 1),
        ("tender_releases", 1),
    }


@stories.test
def test_reading_a_withheld_document_again_does_not_bring_it_back() -> Story:
    portal = Portal(10, "Vusi Fictional Maseko")
    document = {"document": portal.other_document}
    again = [portal.release(2, {}, tag="tender", **document), portal.release(3, {}, **document)]
    told = yield Part(portal, [Subject("document", portal.other_document)], later=again)
    assert told.ocids == [portal.ocid(1)]


@stories.test
def test_a_withheld_release_takes_its_parties_with_it() -> Story:
    portal = Portal(11, "Palesa Fictional Molefe")
    told = yield Part(portal, [subject_of(portal.releases()[1])])
    assert told.ocids == [portal.ocid(1)]
    assert {row["ocid"] for row in told.parties} == {portal.ocid(1)}


@stories.test
def test_later_releases_of_a_withheld_process_are_withheld_too() -> Story:
    portal = Portal(12, "Kagiso Fictional Tau")
    told = yield Part(
        portal,
        [process_subject(portal.source, portal.ocid(2))],
        later=[portal.release(2, {}, release_id="r2")],
    )
    assert told.ocids == [portal.ocid(1)]


@stories.test
def test_without_a_withheld_vintage_the_one_before_is_the_latest() -> Story:
    portal = Portal(13, "Lerato Fictional Mabena")
    figures = [
        fact("10", available_at=FIRST, publication="a-1", source=portal.source),
        fact("99", available_at=SECOND, publication="a-2", document="d9", source=portal.source),
    ]
    told = yield Part(portal, [Subject("document", "d9")], {FUNDAMENTALS: figures})
    (row,) = told.rows[FUNDAMENTALS]
    assert (row["value_reported"], row["vintage"], row["superseded_at"]) == (10, 1, None)


@stories.test
def test_a_withheld_organisation_loses_its_rows_and_its_name_among_others() -> Story:
    portal = Portal(14, "Tebogo Fictional Phiri")
    others = json.dumps(["Roads", portal.person])
    entities = [
        entity_row(service_id="DCONE", legal_name=portal.person, source=portal.source),
        entity_row(service_id="DCTWO", other_names=others, source=portal.source),
    ]
    told = yield Part(portal, [name_subject(SECRET, portal.person)], {ENTITIES: entities})
    (entity,) = told.rows[ENTITIES]
    assert (entity["service_id"], json.loads(entity["other_names"])) == ("DCTWO", ["Roads"])


def test_what_is_released_is_served_again_and_both_entries_stay(
    record: Record, tmp_path: Path
) -> None:
    load(record, TENDER_PARTIES, party_row(name=PERSON))
    nothing = withheld_fingerprint(record)
    withhold(record, [name_subject(SECRET, PERSON)], "reported", "op", SECRET)
    assert withhold(record, [name_subject(SECRET, PERSON)], "again", "op", SECRET) == []
    assert withheld_fingerprint(record) != nothing
    release(record, withheld_now(record), "it is a firm", "op")
    assert withheld_fingerprint(record) == nothing
    assert withheld_now(record) == []
    tables, _ = snapshot_of(record, tmp_path / "snapshot", [TENDER_PARTIES])
    assert [row["name"] for row in tables[TENDER_PARTIES]] == [PERSON]
    assert record.table("withheld").count() == 2


def test_what_is_withheld_or_erased_is_entered_even_if_another_writer_comes_first(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflicts = iter([True, False] * 2)
    commit = store.commit

    def contested(*arguments: Any) -> store.DataFile | None:
        return None if next(conflicts) else commit(*arguments)

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
        snapshot_of(record, tmp_path / "snapshot", [TENDER_PARTIES])


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
