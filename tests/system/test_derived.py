"""Derived tables of a build: duplicate organisations, and the organisations of tender parties."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.derive.organisations import derivation, joins
from assets.entities import gleif
from assets.entities.identifiers import mint
from assets.ingest.resources import IngestResource
from assets.ingest.sources import SOURCES
from pipelines.definitions import Publishing, published_assets
from pipelines.stages import derived_counts
from tests.helpers.gleif import LEI, cdf
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load, party_row, sighting
from tests.helpers.unchecked import append_unchecked
from tests.helpers.whole_tables import query
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.publish.builds import builds_at
from warehouse.publish.snapshot import Derivation, DerivedTables, Snapshot
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, IDENTIFIERS, TENDER_PARTIES
from warehouse.serve.build import Mart
from warehouse.serve.entities import entity, identifiers
from warehouse.shared.errors import SankofaError

NUMBER = "2001/123456/07"
LISTED, OWN = mint("isin", "ZAE000000001"), mint("lei", LEI)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mart"


def identifier(
    service_id: str, id_type: str, value: str, issuer: str | None = None
) -> dict[str, Any]:
    columns = {"service_id": service_id, "id_type": id_type, "id_value": value, "issuer": issuer}
    return sighting() | columns | {"status": None}


def published(record: Record, folder: Path) -> Mart:
    publish(record, folder, joins=joins(), derivations=[derivation()])
    return Mart(folder)


def party_rows(mart: Mart) -> list[dict[str, Any]]:
    rows = query(mart.build(), "SELECT row FROM tender_parties ORDER BY row_number")
    return [json.loads(row) for (row,) in rows]


def entity_json(mart: Mart, service_id: str) -> dict[str, Any]:
    result = entity(mart, service_id)
    assert result is not None
    return dict(json.loads(result.rows[0]))


def test_a_party_is_served_with_its_organisation(record: Record, folder: Path) -> None:
    load(record, IDENTIFIERS, identifier("DCA", "registry", NUMBER, "RA000531"))
    load(record, ENTITIES, entity_row(service_id="DCA"))
    register_number = {"identifier_scheme": "ZA-CIP", "identifier_id": NUMBER}
    load(
        record,
        TENDER_PARTIES,
        party_row(**register_number),
        party_row(party_key="k2", role="supplier"),
    )

    mart = published(record, folder)

    resolved, unresolved = party_rows(mart)
    assert (resolved["service_id"], resolved["match_method"]) == ("DCA", "registry_id")
    assert (unresolved["service_id"], unresolved["match_method"]) == (None, None)
    assert entity_json(mart, "DCA")["datasets"] == ["AF-TENDER"]


def test_every_vintage_of_a_party_is_resolved_by_its_own_name(record: Record, folder: Path) -> None:
    load(
        record,
        ENTITIES,
        entity_row(service_id="DCA"),
        entity_row(service_id="DCB", legal_name="B Ltd"),
    )
    load(record, TENDER_PARTIES, party_row(name="Ubuntu Fictional Mining Limited"))
    load(record, TENDER_PARTIES, party_row(name="B Ltd", available_at=date(2021, 1, 1)))

    tables: list[DerivedTables] = []
    publish(record, folder, derivations=[collecting(derivation(), tables)])

    matched = tables[0]["party_matches"].to_pylist()
    assert {row["name"]: row["service_id"] for row in matched} == {
        "Ubuntu Fictional Mining Limited": "DCA",
        "B Ltd": "DCB",
    }
    assert [row["service_id"] for row in party_rows(Mart(folder))] == ["DCB"]


def test_the_records_of_several_registers_are_merged_into_one(record: Record, folder: Path) -> None:
    own = entity_row(service_id=OWN, lei=LEI, country=None, source="gleif")
    filer = {
        "legal_name": "UFM",
        "other_names": '["Fictional Shafts Ltd", "UFM Ltd"]',
        "former_names": '["Fictional Shafts Ltd"]',
        "country": "NA",
        "available_at": date(2022, 1, 1),
        "source": "sec-submissions",
    }
    load(record, ENTITIES, own, entity_row(service_id="DCWEAK", lei=LEI, **filer))
    load(record, IDENTIFIERS, identifier(OWN, "lei", LEI))
    load(record, IDENTIFIERS, identifier("DCWEAK", "cik", "0000000001"))

    mart = published(record, folder)

    merged = entity_json(mart, OWN)
    assert entity_json(mart, "DCWEAK") == merged
    # the name of the LEI's register, what it leaves out from the filer's
    assert (merged["service_id"], merged["legal_name"]) == (OWN, "Ubuntu Fictional Mining Ltd")
    assert (merged["country"], merged["source_ref"]) == ("NA", own["source_ref"])
    assert merged["other_names"] == ["UFM", "Fictional Shafts Ltd", "UFM Ltd"]
    assert merged["former_names"] == ["Fictional Shafts Ltd"]
    assert (merged["same_as"], merged["aliases"]) == (None, ["DCWEAK"])
    assert merged["joins"] == [{"service_id": "DCWEAK", "match_method": "lei"}]
    crosswalk = identifiers(mart, "DCWEAK", paid=True)
    assert crosswalk is not None
    assert crosswalk.service_id == OWN
    methods = {
        row["id_type"]: row["match_method"] for row in map(json.loads, crosswalk.identifiers.rows)
    }
    assert methods == {"lei": None, "cik": "lei"}


def test_an_alias_without_a_record_returns_that_of_its_organisation(
    record: Record, folder: Path
) -> None:
    load(record, ENTITIES, entity_row(service_id=OWN, lei=LEI))
    isins = [identifier(service_id, "isin", "ZAE000000001") for service_id in (OWN, LISTED)]
    load(record, IDENTIFIERS, *isins, identifier(LISTED, "ticker", "XJSE:UFM", "XJSE"))

    mart = published(record, folder)

    assert entity_json(mart, LISTED)["service_id"] == OWN
    assert entity(mart, "DCNOBODY") is None


def test_an_alias_stays_valid_when_its_register_no_longer_shows_it(
    record: Record, folder: Path
) -> None:
    load(record, ENTITIES, entity_row(service_id=OWN, lei=LEI))
    own = identifier(OWN, "isin", "ZAE000000001") | {"source": "isin-lei"}
    listed = [
        identifier(LISTED, "isin", "ZAE000000001"),
        identifier(LISTED, "ticker", "XJSE:UFM", "XJSE"),
    ]
    load(record, IDENTIFIERS, own, *listed)
    first = published(record, folder)
    assert entity_json(first, LISTED)["listings"] != []
    gone = {"withdrawn": True, "publication": "z", "available_at": date(2021, 1, 1)}
    load(record, IDENTIFIERS, *(row | gone for row in listed))

    later = published(record, folder)

    assert entity_json(later, LISTED)["service_id"] == OWN
    assert entity_json(later, OWN)["aliases"] == [LISTED]
    assert entity_json(later, OWN)["listings"] == []


def test_a_withheld_party_is_never_looked_up(record: Record, folder: Path) -> None:
    load(record, IDENTIFIERS, identifier("DCA", "registry", NUMBER, "RA000531"))
    withheld = party_row(
        name=None, org_evidence=None, identifier_scheme="ZA-CIP", identifier_id=NUMBER
    )
    # Today such a row is quarantined; older code stored it.
    append_unchecked(record, TENDER_PARTIES, withheld)

    tables: list[DerivedTables] = []
    publish(record, folder, derivations=[collecting(derivation(), tables)])

    assert tables[0]["party_matches"].num_rows == 0


def test_a_withdrawn_identifier_joins_no_organisations(record: Record, folder: Path) -> None:
    load(record, IDENTIFIERS, identifier("DCA", "lei", LEI), identifier("DCB", "lei", LEI))
    withdrawn = identifier("DCB", "lei", LEI) | {"withdrawn": True, "publication": "z"}
    load(record, IDENTIFIERS, withdrawn | {"available_at": date(2021, 1, 1)})

    tables: list[DerivedTables] = []
    publish(record, folder, joins=collecting(joins(), tables))

    assert tables[0]["same_as"].num_rows == 0


def collecting(derivation: Derivation, tables: list[DerivedTables]) -> Derivation:
    """Return a derivation that also appends its tables to a list."""

    def derive(snapshot: Snapshot) -> DerivedTables:
        tables.append(derivation.derive(snapshot))
        return tables[-1]

    return replace(derivation, derive=derive)


def test_rows_loaded_during_a_publication_are_neither_published_nor_derived_from(
    record: Record, folder: Path
) -> None:
    load(record, TENDER_PARTIES, party_row())
    organisations = derivation()

    def derive(snapshot: Snapshot) -> DerivedTables:
        load(record, ENTITIES, entity_row(service_id="DCA", legal_name=party_row()["name"]))
        return organisations.derive(snapshot)

    publish(record, folder, derivations=[replace(organisations, derive=derive)])
    assert [row["service_id"] for row in party_rows(Mart(folder))] == [None]
    assert entity(Mart(folder), "DCA") is None

    assert [row["service_id"] for row in party_rows(published(record, folder))] == ["DCA"]


def test_a_new_derivation_version_publishes_an_unchanged_record_again(
    record: Record, folder: Path
) -> None:
    load(record, TENDER_PARTIES, party_row())
    first = publish(record, folder, joins=joins(), derivations=[derivation()])

    assert publish(record, folder, joins=joins(), derivations=[derivation()]) == first
    assert publish(record, folder, derivations=[replace(derivation(), version="2")]) > first


@pytest.mark.parametrize("table", ["same_as", "something"])
def test_an_undeclared_derived_table_stops_the_publication(
    table: str, record: Record, folder: Path
) -> None:
    load(record, ENTITIES, entity_row())

    def derive(snapshot: Snapshot) -> DerivedTables:
        return {table: snapshot.read("SELECT 'DCA' AS service_id")}

    with pytest.raises(SankofaError, match=f"party_matches.*{table}"):
        publish(record, folder, derivations=[replace(derivation(), derive=derive)])
    assert builds_at(folder).current() is None


def test_the_metadata_counts_resolved_parties_and_the_reasons_of_the_others(
    record: Record, folder: Path
) -> None:
    load(record, ENTITIES, entity_row(service_id="DCA"))
    named = party_row(name="Ubuntu Fictional Mining Ltd", party_key="k2")
    load(record, TENDER_PARTIES, party_row(), named)
    landing_url = str(folder.parent / "landing")
    storage = IngestResource(documents="", landing_url=landing_url, record_url=record.root)

    def run() -> dict[str, dict[str, Any]]:
        paths = {name: str(folder.parent / name) for name in ("work", "exports", "key")}
        publishing = Publishing(
            marts=str(folder),
            work=paths["work"],
            exports=paths["exports"],
            exports_url="http://127.0.0.1:8321/exports",
            signing_key=paths["key"],
            keep=3,
            withheld_key=WITHHELD_KEY,
        )
        result = dg.materialize(
            published_assets(SOURCES), resources={"storage": storage, "publishing": publishing}
        )
        return {
            event.asset_key.to_user_string(): {
                name: value.value
                for name, value in event.step_materialization_data.materialization.metadata.items()
            }
            for event in result.get_asset_materialization_events()
            if event.asset_key
        }

    metadata = run()
    assert metadata["same_as"]["ids"] == 0
    counts = {
        name: value
        for name, value in metadata["party_matches"].items()
        if not name.startswith(("rows of", "partitions", "bytes"))
    }
    assert counts == {
        "parties": 2,
        "resolved": 1,
        "resolution rate": 0.5,
        "exact_name": 1,
        "no organisation of the country is known by this identifier or this name": 1,
    }
    assert run() == {}


def test_without_parties_there_is_no_resolution_rate(record: Record, folder: Path) -> None:
    counts: list[dict[str, Any]] = []

    def counted(snapshot: Snapshot, _: str | None) -> DerivedTables:
        counts.append(derived_counts(snapshot, "party_matches"))
        return {}

    publish(record, folder, derivations=[derivation()], audit=counted)

    assert counts[0]["resolution rate"] is None


def test_an_lei_that_turns_out_to_be_a_persons_is_no_longer_served(
    record: Record, folder: Path
) -> None:
    for category, hour in (("GENERAL", 1), ("SOLE_PROPRIETOR", 2)):
        lei_record = cdf(EntityCategory={"$": category})
        lei_record["Registration"]["LastUpdateDate"] = {"$": f"2024-05-0{hour}T00:00:00Z"}
        observed_at = datetime(2026, 1, 1, hour, tzinfo=UTC)
        document = Document(
            "0" * 64, "gleif", "https://example.org/f", "cc0", observed_at, 200, {}, 0
        )
        rows = gleif.parse(document, json.dumps([lei_record]).encode()).rows["entities"]
        load(record, ENTITIES, *rows)
        if category == "GENERAL":
            assert entity_json(published(record, folder), OWN)["legal_name"]

    assert entity(published(record, folder), OWN) is None
