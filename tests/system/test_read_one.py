"""Ids that are one organisation answer as one, each row under its own id."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.facts import fact
from tests.helpers.publishing import publish
from tests.helpers.random_world import derived_of
from tests.helpers.reads import (
    entities_found,
    entity,
    facts_known,
    issuers,
    lookup,
    metrics,
    parties,
    quality_metrics,
    shared_facts,
)
from tests.helpers.record_rows import entity_row, load, party_row, release_row, sighting
from warehouse.contract.problems import Problem
from warehouse.publish.partitions import REGISTERS
from warehouse.publish.snapshot import Derivation, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    IDENTIFIERS,
    TENDER_PARTIES,
    TENDER_RELEASES,
    arrow_schema,
)
from warehouse.serve.build import Mart
from warehouse.serve.rows import RowPage
from warehouse.tables.derived import Metric, PartyMatch, SameAs

OWN, WEAK, OTHER = "DCOWN", "DCWEAK", "DCOTHER"
NAME = "Alpha Fictional Works Ltd"


def joined(_: Snapshot) -> Mapping[str, pa.Table]:
    join = {"service_id": WEAK, "same_as": OWN, "match_method": "lei"}
    return {"same_as": pa.Table.from_pylist([join], arrow_schema(SameAs))}


def derived(snapshot: Snapshot) -> Mapping[str, pa.Table]:
    match = {
        **dict.fromkeys(PartyMatch.model_fields),
        **{"source": "test", "country": "ZA", "party_key": "s1", "name": NAME},
        **{"service_id": OWN, "match_method": "exact_name"},
    }
    derived = derived_of(Random(1), snapshot.data_version)
    metric = derived["metrics"].to_pylist()[1] | {"service_id": OWN}
    return {
        "party_matches": pa.Table.from_pylist([match], arrow_schema(PartyMatch)),
        "metrics": pa.Table.from_pylist([metric], arrow_schema(Metric)),
        "quality": derived["quality"],
    }


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    root: Path = tmp_path_factory.mktemp("one")
    record = Record(f"{root}/record")
    load(
        record,
        FUNDAMENTALS,
        fact("1", issuer=WEAK, year=2017),
        fact("2", issuer=OWN, year=2018),
        fact("3", issuer=OWN, year=2016),
        fact("4", issuer=OTHER),
    )
    load(record, ENTITIES, entity_row(service_id=OWN, legal_name=NAME))
    ticker: dict[str, Any] = {"id_type": "ticker", "id_value": "XJSE:ALP", "issuer": "XJSE"}
    load(record, IDENTIFIERS, sighting(service_id=WEAK, status="active", **ticker))
    load(record, IDENTIFIERS, sighting(service_id=WEAK, id_type="cik", id_value="0000937966"))
    body = {
        "id": "a",
        "value": {"amount": 5, "currency": "ZAR"},
        "suppliers": [{"name": NAME}],
    }
    load(record, TENDER_RELEASES, release_row(1, release=json.dumps({"awards": [body]})))
    load(record, TENDER_PARTIES, party_row(party_key="s1", role="supplier", name=NAME))
    publish(
        record,
        root / "mart",
        joins=Derivation("joins", joined, ("same_as",), REGISTERS),
        derivations=[Derivation("one", derived)],
    )
    mart = Mart(root / "mart")
    yield mart
    mart.close()


def decoded_rows(rows: RowPage | None) -> list[dict[str, Any]]:
    return [json.loads(row) for row in (rows.rows if rows else [])]


READS: dict[str, Callable[[Mart, str], RowPage | None]] = {
    "facts": facts_known,
    "metrics": metrics,
    "parties": lambda mart, service_id: parties(mart, service_id=service_id),
    "shared financials": shared_facts,
    "shared awards": lambda mart, service_id: shared_facts(mart, service_id, None, "AF-TENDER"),
}


@pytest.mark.parametrize("name", READS)
def test_asked_by_an_alias_every_row_has_the_canonical_id(name: str, mart: Mart) -> None:
    rows = decoded_rows(READS[name](mart, OWN))

    assert rows == decoded_rows(READS[name](mart, WEAK)) and rows
    assert {row.get("service_id") or row["entity_id"] for row in rows} == {OWN}


def test_figures_of_two_ids_come_by_period_under_the_canonical_id(mart: Mart) -> None:
    rows = decoded_rows(facts_known(mart, OWN))

    assert [(row["service_id"], row["period_end"][:4]) for row in rows] == [
        (OWN, "2018"),
        (OWN, "2017"),
        (OWN, "2016"),
    ]
    shared = decoded_rows(shared_facts(mart, WEAK))
    assert [row["entity_id"] for row in shared] == [OWN, OWN, OWN]
    assert {row["entity_name"] for row in shared} == {NAME}


@pytest.mark.parametrize("cik", ["937966", "0000937966", "0937966"])
def test_a_cik_is_found_with_or_without_its_zeros(mart: Mart, cik: str) -> None:
    found = decoded_rows(lookup(mart, "cik", cik).rows)

    assert [row["service_id"] for row in found] == [OWN]
    # only zeros are added, and only to a CIK
    with pytest.raises(Problem, match="CIK"):
        lookup(mart, "cik", f"{cik}X")
    assert decoded_rows(lookup(mart, "registry", cik).rows) == []


def test_what_crosswalk_and_search_find_has_the_data(mart: Mart) -> None:
    by_ticker = decoded_rows(lookup(mart, "ticker", "xjse:alp").rows)
    by_name = decoded_rows(entities_found(mart, NAME))

    assert [row["service_id"] for row in by_ticker] == [OWN]
    assert [row["service_id"] for row in by_name] == [OWN]
    assert decoded_rows(facts_known(mart, by_ticker[0]["service_id"]))


def test_a_record_has_the_listings_and_datasets_of_its_organisation(mart: Mart) -> None:
    (row,) = decoded_rows(entity(mart, OWN))

    listing = {"mic": "XJSE", "ticker": "ALP", "status": "active", "from": None, "to": None}
    assert row["listings"] == [listing]
    assert row["datasets"] == ["AF-FUND", "AF-TENDER"]


def test_an_alias_is_known(mart: Mart) -> None:
    assert facts_known(mart, WEAK, date(1990, 1, 1)) is not None
    assert facts_known(mart, "DCNOBODY") is None
    assert issuers(mart, 5) == sorted([OWN, OTHER])


def test_only_what_was_measured_of_this_build_is_told(mart: Mart) -> None:
    rows = decoded_rows(quality_metrics(mart, "AF-FUND"))

    assert {row["data_version"] for row in rows} == {mart.build().data_version}
    assert [row["metric"] for row in rows] == ["coverage", "provenance_complete"]
