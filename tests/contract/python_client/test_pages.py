"""The Python client reads all pages of one version, and finds organisations by any identifier."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from sankofa_client import (
    AmbiguousIdentifier,
    BadRequest,
    HigherTierNeeded,
    Sankofa,
    UnknownIdentifier,
)

from api.app import create_app
from tests.helpers.altering_proxy import Reply, altering
from tests.helpers.contract_client import Contract
from tests.helpers.publishing import publish
from tests.helpers.record_rows import load, release_row
from tests.helpers.rest_service import answering
from warehouse.control.keys import KeyStore, create_key
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES
from warehouse.serve.build import Mart

ISSUER, LEI, ISIN = "DCHGWRYXXDHC", "989900ZAA00000000081", "ZAF000000003"
OTHER = "DCGV4AEW02H8"


def test_a_key_of_any_tier_gets_all_pages(service: Contract, sankofa: Sankofa) -> None:
    everything = sankofa.tenders("KE", narrow=False)
    with Sankofa(service.server.address, service.key("sample"), narrow=False) as client:
        of_sample = client.tenders("KE", limit=60)
        again = client.tenders("KE", limit=60)

    assert len(everything) > 100 and not everything.attrs["truncated"]
    assert everything["provenance_id"].is_unique
    assert len(of_sample) == 60 and of_sample.attrs["truncated"]
    pd.testing.assert_frame_equal(of_sample, everything.head(60))
    pd.testing.assert_frame_equal(of_sample, again)


def test_more_organisations_than_a_request_takes_are_read_in_several(sankofa: Sankofa) -> None:
    unknown = [f"DCNOBODY{number}" for number in range(150)]
    facts = sankofa.facts([*unknown, ISSUER], line_items="revenue")

    assert set(facts["service_id"]) == {ISSUER}
    assert facts.attrs["unknown_ids"] == unknown and facts.attrs["empty"] is None
    first = sankofa.facts([ISSUER, *unknown], line_items="revenue", limit=2)
    assert len(first) == 2 and first.attrs["truncated"]


def test_all_pages_come_from_one_version_while_another_is_published(tmp_path: Path) -> None:
    marts, keys = tmp_path / "marts", KeyStore(tmp_path / "control.sqlite")
    record, published = Record(str(tmp_path / "record")), list[str]()
    load(record, TENDER_RELEASES, *(release_row(number) for number in range(40)))
    first = publish(record, marts)

    def publish_between(
        path: str, headers: Mapping[str, str], forward: Callable[[], Reply]
    ) -> Reply:
        if "cursor=" in path and not published:
            load(record, TENDER_RELEASES, release_row(40))
            published.append(publish(record, marts))
        return forward()

    with (
        closing(Mart(marts)) as mart,
        answering(create_app(mart, keys)) as server,
        altering(server.port, publish_between) as address,
        Sankofa(address, create_key(keys, "sample")) as client,
    ):
        before = client.tenders("ZA")
        after = client.tenders("ZA")
        with Sankofa(address, create_key(keys, "sample"), data_version=first) as pinned:
            as_before = pinned.tenders("ZA")
    assert published and published != [first]
    assert (before.attrs["data_version"], after.attrs["data_version"]) == (first, published[0])
    assert (len(before), len(after)) == (40, 41)
    pd.testing.assert_frame_equal(as_before, before)


def test_a_pin_that_is_not_held_is_refused_with_those_that_are(service: Contract) -> None:
    with (
        Sankofa(service.server.address, service.key(), data_version="20200101.1") as client,
        pytest.raises(BadRequest) as refused,
    ):
        client.screen("net_margin")
    assert service.mart.build().data_version in refused.value.problem["held"]


@pytest.mark.parametrize("identifier", ["XJSE:UBF0", "OTC:UBF0", LEI, ISIN, "BBG910000007", ISSUER])
def test_any_identifier_leads_to_the_organisation(identifier: str, sankofa: Sankofa) -> None:
    assert sankofa.resolve(identifier) == sankofa.resolve(identifier.lower()) == ISSUER


def test_an_identifier_is_looked_up_once(service: Contract) -> None:
    paths: list[str] = []

    def note(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        paths.append(path.partition("?")[0])
        return forward()

    with (
        altering(service.server.port, note) as address,
        Sankofa(address, service.key()) as client,
    ):
        client.metrics("XJSE:UBF0")
        client.metrics("XJSE:UBF0")
        client.resolve("2003/100003/06", "registry")
        client.metrics(ISSUER)
    assert paths.count("/v1/crosswalk") == 2
    assert paths.count("/openapi.json") == 1
    assert len(paths) == 6


def test_an_identifier_that_leads_nowhere_or_to_several_is_an_error(
    service: Contract, sankofa: Sankofa
) -> None:
    with pytest.raises(UnknownIdentifier, match=r"XJSE:NONE.*search\(\)"):
        sankofa.facts("XJSE:NONE")
    with pytest.raises(UnknownIdentifier, match=r"MARKET:TICKER.*Did you mean .*XJSE:UBF0"):
        sankofa.facts("Ubuntu Mining")
    with pytest.raises(UnknownIdentifier, match="no identifier of a known form"):
        sankofa.facts("?")
    with (
        Sankofa(service.server.address, service.key("sample")) as client,
        pytest.raises(HigherTierNeeded, match="starter"),
    ):
        client.resolve(ISIN)

    def two(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        reply = forward()
        body = json.loads(reply.body)
        body["data"].append({**body["data"][0], "service_id": OTHER})
        return replace(reply, body=json.dumps(body).encode())

    with (
        altering(service.server.port, two) as address,
        Sankofa(address, service.key()) as client,
        pytest.raises(AmbiguousIdentifier) as ambiguous,
    ):
        client.resolve("2003/100003/06", "registry")
    assert ambiguous.value.service_ids == [ISSUER, OTHER]
