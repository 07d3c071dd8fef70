"""Derived tables of a build: duplicate organisations, and the organisations of tender parties."""

import atexit
import json
import shutil
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pytest

from assets.derive.organisations import derivation, joins
from assets.entities import gleif
from assets.entities.identifiers import mint
from pipelines.stages import derived_counts
from tests.helpers.gleif import LEI, cdf, checked
from tests.helpers.organisations import derive_organisations
from tests.helpers.publishing import publish
from tests.helpers.reads import entity, identifiers
from tests.helpers.record_rows import entity_row, load, party_row, sighting
from tests.helpers.stories import Stories
from tests.helpers.unchecked import append_unchecked
from tests.helpers.whole_tables import query
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.publish.builds import NOTICE, builds_at
from warehouse.publish.candidate import Candidate
from warehouse.publish.nodes import Plan
from warehouse.publish.snapshot import Derivation, DerivedTables, Snapshot
from warehouse.publish.steps import ProcessPool
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    IDENTIFIERS,
    RECORD_TABLES,
    TENDER_PARTIES,
    RecordTable,
)
from warehouse.serve.build import Mart
from warehouse.shared.errors import SankofaError

Row = dict[str, Any]
Loads = list[tuple[RecordTable, list[Row]]]
GONE: Row = {"withdrawn": True, "publication": "z", "available_at": date(2021, 1, 1)}


@dataclass
class Part:
    """What a story loads before the first publication, during it and before the second."""

    first: Loads
    during: Loads = field(default_factory=list)
    later: Loads = field(default_factory=list)
    unchecked: list[Row] = field(default_factory=list)


@dataclass
class Builds:
    """Both builds, what the first derived, and the folder with ``record`` and ``mart``."""

    first: Mart
    later: Mart
    derived: DerivedTables
    root: Path


def published(parts: list[Part]) -> list[Builds]:
    """Publish all stories together, twice."""
    root = Path(mkdtemp())
    atexit.register(shutil.rmtree, root)
    record, derived = Record(str(root / "record")), dict[str, pa.Table]()
    during = [load for part in parts for load in part.during]

    def noted(derivation: Derivation) -> Derivation:
        def derive(snapshot: Snapshot) -> DerivedTables:
            while during:
                load_all(record, [during.pop()])
            tables = derivation.derive(snapshot)
            for name, table in tables.items():
                derived.setdefault(name, table)
            return tables

        return replace(derivation, derive=derive)

    for part in parts:
        load_all(record, part.first)
        if part.unchecked:
            append_unchecked(record, TENDER_PARTIES, *part.unchecked)
    publish(record, root / "mart", joins=noted(joins()), derivations=[noted(derivation())])
    shutil.copytree(root / "mart", root / "first")
    for part in parts:
        load_all(record, part.later)
    publish(record, root / "mart", joins=joins(), derivations=[derivation()])
    builds = Builds(Mart(root / "first"), Mart(root / "mart"), derived, root)
    return [builds for _ in parts]


Story = Generator[Part, Builds, None]
# Each with organisations, names and processes of its own.
stories = Stories(published)


def load_all(record: Record, loads: Loads) -> None:
    for table, rows in loads:
        load(record, table, *rows)


def identifier(service_id: str, id_type: str, value: str, issuer: str | None = None) -> Row:
    columns = {"service_id": service_id, "id_type": id_type, "id_value": value, "issuer": issuer}
    return sighting() | columns | {"status": None}


def parties_of(mart: Mart, *names: str) -> list[Row]:
    rows = query(mart.build(), "SELECT row FROM tender_parties ORDER BY row_number")
    return [party for (row,) in rows if (party := json.loads(row))["name"] in names]


def entity_json(mart: Mart, service_id: str) -> Row:
    result = entity(mart, service_id)
    assert result is not None
    return dict(json.loads(result.rows[0]))


@stories.test
def test_a_party_is_served_with_its_organisation() -> Story:
    number = "2001/123456/07"
    parties = [
        party_row(ocid="ocds-register", identifier_scheme="ZA-CIP", identifier_id=number),
        party_row(ocid="ocds-register", party_key="k2", role="supplier"),
    ]

    builds = yield Part(
        [
            (IDENTIFIERS, [identifier("DCA", "registry", number, "RA000531")]),
            (ENTITIES, [entity_row(service_id="DCA", legal_name="A Fictional Register Ltd")]),
            (TENDER_PARTIES, parties),
        ]
    )

    resolved, unresolved = parties_of(builds.first, parties[0]["name"])
    assert (resolved["service_id"], resolved["match_method"]) == ("DCA", "registry_id")
    assert (unresolved["service_id"], unresolved["match_method"]) == (None, None)
    assert entity_json(builds.first, "DCA")["datasets"] == ["AF-TENDER"]


@stories.test
def test_every_vintage_of_a_party_is_resolved_by_its_own_name() -> Story:
    older, newer = "Fictional Vintage Limited", "B Ltd"
    organisations = [
        entity_row(service_id="DCOLDER", legal_name="Fictional Vintage Ltd"),
        entity_row(service_id="DCNEWER", legal_name=newer),
    ]
    shared = {"ocid": "ocds-vintages", "party_key": "vintages"}
    party = party_row(name=older, **shared)
    renamed = party_row(name=newer, available_at=date(2021, 1, 1), **shared)

    builds = yield Part(
        [(ENTITIES, organisations), (TENDER_PARTIES, [party]), (TENDER_PARTIES, [renamed])]
    )

    matched = {
        row["name"]: row["service_id"]
        for row in builds.derived["party_matches"].to_pylist()
        if row["party_key"] == "vintages"
    }
    assert matched == {older: "DCOLDER", newer: "DCNEWER"}
    assert [row["service_id"] for row in parties_of(builds.first, older, newer)] == ["DCNEWER"]


@stories.test
def test_the_records_of_several_registers_are_merged_into_one() -> Story:
    lei = checked("213800FICTIONAL003")
    own = mint("lei", lei)
    registered = entity_row(service_id=own, lei=lei, country=None, source="gleif")
    filer = entity_row(
        service_id="DCWEAK",
        lei=lei,
        legal_name="UFM",
        other_names='["Fictional Shafts Ltd", "UFM Ltd"]',
        former_names='["Fictional Shafts Ltd"]',
        country="NA",
        available_at=date(2022, 1, 1),
        source="sec-submissions",
    )

    builds = yield Part(
        [
            (ENTITIES, [registered, filer]),
            (IDENTIFIERS, [identifier(own, "lei", lei)]),
            (IDENTIFIERS, [identifier("DCWEAK", "cik", "0000000001")]),
        ]
    )

    merged = entity_json(builds.first, own)
    assert entity_json(builds.first, "DCWEAK") == merged
    # the name of the LEI's register, what it leaves out from the filer's
    assert (merged["service_id"], merged["legal_name"]) == (own, "Ubuntu Fictional Mining Ltd")
    assert (merged["country"], merged["source_ref"]) == ("NA", registered["source_ref"])
    assert merged["other_names"] == ["UFM", "Fictional Shafts Ltd", "UFM Ltd"]
    assert merged["former_names"] == ["Fictional Shafts Ltd"]
    assert (merged["same_as"], merged["aliases"]) == (None, ["DCWEAK"])
    assert merged["joins"] == [{"service_id": "DCWEAK", "match_method": "lei"}]
    crosswalk = identifiers(builds.first, "DCWEAK", paid=True)
    assert crosswalk is not None
    assert crosswalk.service_id == own
    methods = {
        row["id_type"]: row["match_method"] for row in map(json.loads, crosswalk.identifiers.rows)
    }
    assert methods == {"lei": None, "cik": "lei"}


def listed_under(isin: str, lei: str) -> tuple[str, str, Loads]:
    """Return the id of an organisation, that of its listing, and the rows that join them."""
    own, listed = mint("lei", lei), mint("isin", isin)
    by_register = identifier(own, "isin", isin) | {"source": "isin-lei"}
    by_list = [
        identifier(listed, "isin", isin),
        identifier(listed, "ticker", f"XJSE:{isin[-3:]}", "XJSE"),
    ]
    registered = entity_row(service_id=own, lei=lei, legal_name=f"Fictional {isin[-1]} Ltd")
    return own, listed, [(ENTITIES, [registered]), (IDENTIFIERS, [by_register, *by_list])]


@stories.test
def test_an_alias_without_a_record_returns_that_of_its_organisation() -> Story:
    own, listed, loads = listed_under("ZAE000000001", checked("213800FICTIONAL004"))

    builds = yield Part(loads)

    assert entity_json(builds.first, listed)["service_id"] == own
    assert entity(builds.first, "DCNOBODY") is None


@stories.test
def test_an_alias_stays_valid_when_its_register_no_longer_shows_it() -> Story:
    own, listed, loads = listed_under("ZAE000000019", checked("213800FICTIONAL005"))
    (_, (_, *by_list)) = loads[1]

    builds = yield Part(loads, later=[(IDENTIFIERS, [row | GONE for row in by_list])])

    assert entity_json(builds.first, listed)["listings"] != []
    assert entity_json(builds.later, listed)["service_id"] == own
    assert entity_json(builds.later, own)["aliases"] == [listed]
    assert entity_json(builds.later, own)["listings"] == []


@stories.test
def test_a_withheld_party_is_never_looked_up() -> Story:
    number = "2002/123456/07"
    # Today such a row is quarantined; older code stored it.
    withheld = party_row(
        party_key="withheld",
        name=None,
        org_evidence=None,
        identifier_scheme="ZA-CIP",
        identifier_id=number,
    )
    known = [(IDENTIFIERS, [identifier("DCW", "registry", number, "RA000531")])]

    builds = yield Part(known, unchecked=[withheld])

    assert "withheld" not in builds.derived["party_matches"]["party_key"].to_pylist()


@stories.test
def test_a_withdrawn_identifier_joins_no_organisations() -> Story:
    lei = checked("213800FICTIONAL006")
    both = [identifier(service_id, "lei", lei) for service_id in ("DCSTAYS", "DCLEFT")]

    builds = yield Part([(IDENTIFIERS, both), (IDENTIFIERS, [both[1] | GONE])])

    assert not {"DCSTAYS", "DCLEFT"} & set(builds.derived["same_as"]["service_id"].to_pylist())


@stories.test
def test_rows_loaded_during_a_publication_are_neither_published_nor_derived_from() -> Story:
    party = party_row(ocid="ocds-during", party_key="during", name="Meanwhile Fictional Ltd")
    arriving = entity_row(service_id="DCDURING", legal_name=party["name"])

    builds = yield Part([(TENDER_PARTIES, [party])], during=[(ENTITIES, [arriving])])

    assert [row["service_id"] for row in parties_of(builds.first, party["name"])] == [None]
    assert entity(builds.first, "DCDURING") is None
    assert [row["service_id"] for row in parties_of(builds.later, party["name"])] == ["DCDURING"]


@stories.test
def test_an_lei_that_turns_out_to_be_a_persons_is_no_longer_served() -> Story:
    loads = []
    for category, hour in (("GENERAL", 1), ("SOLE_PROPRIETOR", 2)):
        lei_record = cdf(EntityCategory={"$": category})
        lei_record["Registration"]["LastUpdateDate"] = {"$": f"2024-05-0{hour}T00:00:00Z"}
        observed_at = datetime(2026, 1, 1, hour, tzinfo=UTC)
        document = Document(
            "0" * 64, "gleif", "https://example.org/f", "cc0", observed_at, 200, {}, 0
        )
        parsed = gleif.parse(document, json.dumps([lei_record]).encode())
        loads.append((ENTITIES, list(parsed.rows["entities"])))

    builds = yield Part(loads[:1], later=loads[1:])

    assert entity_json(builds.first, mint("lei", LEI))["legal_name"]
    assert entity(builds.later, mint("lei", LEI)) is None


@stories.test
def test_a_new_derivation_version_publishes_an_unchanged_record_again() -> Story:
    builds = yield Part([])

    def begun(organisations: Derivation) -> Plan | None:
        record, mart = Record(str(builds.root / "record")), builds.root / "mart"
        candidate = Candidate(
            *(record, mart / "stage", (), joins(), [organisations], WITHHELD_KEY, ProcessPool(1)),
            marts=mart,
            notice=NOTICE,
        )
        return candidate.begin()

    assert begun(derivation()) is None
    assert begun(replace(derivation(), version="2")) is not None


def test_an_undeclared_derived_table_stops_the_publication(record: Record, tmp_path: Path) -> None:
    load(record, ENTITIES, entity_row())
    for table in ("same_as", "something"):

        def derive(snapshot: Snapshot, name: str = table) -> DerivedTables:
            return {name: snapshot.read("SELECT 'DCA' AS service_id")}

        with pytest.raises(SankofaError, match=f"party_matches.*{table}"):
            publish(record, tmp_path / "mart", derivations=[replace(derivation(), derive=derive)])
    assert builds_at(tmp_path / "mart").current() is None


def counted(record: Record, folder: Path) -> dict[str, Any]:
    """Return what Dagster's page shows of the parties of a record."""
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder, record, loads, "test") as snapshot:
        snapshot.copy_record()
        snapshot.add(derive_organisations(snapshot))
        return derived_counts(snapshot.read, snapshot.paths, "party_matches")


def test_resolved_parties_are_counted_and_the_reasons_of_the_others(
    record: Record, tmp_path: Path
) -> None:
    assert counted(record, tmp_path / "empty")["resolution rate"] is None
    load(record, ENTITIES, entity_row(service_id="DCA"))
    named = party_row(name="Ubuntu Fictional Mining Ltd", party_key="k2")
    load(record, TENDER_PARTIES, party_row(), named)

    assert counted(record, tmp_path / "stage") == {
        "parties": 2,
        "resolved": 1,
        "resolution rate": 0.5,
        "exact_name": 1,
        "no organisation of the country is known by this identifier or this name": 1,
    }
