"""Ids are joined by evidence only, from the strongest on."""

import random
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.entities.identifiers import mint
from tests.helpers.nightly import times
from tests.helpers.registers import (
    ENTITIES,
    IDENTIFIERS,
    LEI,
    NUMBER,
    OTHER,
    entity,
    identifier,
    joins,
)

pytestmark = pytest.mark.slow


def pointers(identifiers: Any, entities: Any = ()) -> dict[str, str]:
    return {row["service_id"]: row["same_as"] for row in joins(identifiers, entities)}


def test_two_ids_with_one_lei_are_one_organisation_and_the_other_points_to_the_lei() -> None:
    strong, weak = mint("lei", LEI), mint("cik", "0000000001")
    identifiers = [
        identifier(weak, "cik", "0000000001"),
        identifier(weak, "lei", LEI),
        identifier(strong, "lei", LEI),
    ]

    assert joins(identifiers) == [{"service_id": weak, "same_as": strong, "match_method": "lei"}]


def test_the_lei_of_an_entity_counts_like_that_of_an_identifier() -> None:
    strong, weak = mint("lei", LEI), mint("cik", "0000000001")

    same_as = pointers([identifier(strong, "lei", LEI)], [entity(weak, "A Ltd", lei=LEI)])
    assert same_as == {weak: strong}


def test_one_register_number_is_one_organisation_under_any_code_of_the_register() -> None:
    weak = mint("cik", "0000000001")
    identifiers = [
        identifier(mint("lei", LEI), "lei", LEI),
        identifier(mint("lei", LEI), "registry", NUMBER, "RA000531"),
        identifier(weak, "registry", NUMBER.replace("/", " / "), "ZA-CIP"),
    ]

    assert pointers(identifiers) == {weak: mint("lei", LEI)}


@pytest.mark.parametrize("number", ["0", "N/A", "-", " "])
def test_a_placeholder_is_not_a_register_number(number: str) -> None:
    assert (
        pointers([identifier(service_id, "registry", number, "RA000531") for service_id in "AB"])
        == {}
    )


def test_one_number_in_two_registers_is_no_match() -> None:
    identifiers = [
        identifier("A", "registry", "048213", "RA990004"),
        identifier("B", "registry", "048213", "RA990005"),
        identifier("C", "registry", "048213", None),
    ]

    assert pointers(identifiers) == {}


def test_an_isin_joins_two_ids_only_if_it_is_listed() -> None:
    listed, bond = "US0378331005", "US0378331006"
    identifiers = [
        identifier(mint("lei", LEI), "lei", LEI),
        identifier(mint("lei", LEI), "isin", listed),
        identifier(mint("isin", listed), "isin", listed),
        identifier(mint("isin", listed), "ticker", "XJSE:UFM", "XJSE"),
        identifier("A", "isin", bond),
        identifier("B", "isin", bond),
    ]

    assert pointers(identifiers) == {mint("isin", listed): mint("lei", LEI)}


def test_two_leis_stay_two_organisations_whatever_they_share() -> None:
    first, second, filer = mint("lei", LEI), mint("lei", OTHER), mint("cik", "0000000001")
    identifiers = [
        identifier(first, "lei", LEI),
        identifier(second, "lei", OTHER),
        identifier(first, "registry", NUMBER, "RA000531"),
        identifier(second, "registry", NUMBER, "RA000531"),
    ]
    assert pointers(identifiers) == {}

    both = [identifier(filer, "lei", LEI), identifier(filer, "lei", OTHER)]
    assert pointers([*identifiers, *both]) == {}


def test_declared_duplicates_are_followed_to_the_last_one() -> None:
    first, second, filer = mint("lei", LEI), mint("lei", OTHER), mint("cik", "0000000001")
    identifiers = [
        identifier(first, "lei", LEI),
        identifier(second, "lei", OTHER),
        identifier(filer, "lei", LEI),
    ]

    same_as = pointers(identifiers, [entity(first, "A Ltd", lei=LEI, same_as=second)])
    assert same_as == {first: second, filer: second}


def test_an_id_that_its_register_withdrew_stays_an_alias() -> None:
    identifiers = [
        identifier(mint("lei", LEI), "lei", LEI),
        identifier("B", "lei", LEI, is_current=False, source="sec-submissions"),
    ]
    assert pointers(identifiers) == {"B": mint("lei", LEI)}

    # a list that first named the security and now its issuer
    listed = "US0378331005"
    identifiers += [
        identifier(mint("lei", LEI), "isin", listed),
        identifier(mint("lei", LEI), "ticker", "XJSE:UFM", "XJSE"),
        identifier(mint("isin", listed), "isin", listed, is_current=False),
    ]
    assert pointers(identifiers) == {"B": mint("lei", LEI), mint("isin", listed): mint("lei", LEI)}


def test_what_a_source_now_says_of_another_id_is_no_evidence_any_more() -> None:
    listed = "US0378331005"
    first, second, security = mint("lei", LEI), mint("lei", OTHER), mint("isin", listed)
    identifiers = [
        identifier(first, "isin", listed, source="isin-lei", is_current=False),
        identifier(second, "isin", listed, source="isin-lei"),
        identifier(first, "lei", LEI),
        identifier(second, "lei", OTHER),
        identifier(security, "isin", listed),
        identifier(security, "ticker", "XJSE:UFM", "XJSE"),
    ]

    assert pointers(identifiers) == {security: second}


def test_one_share_class_figi_is_one_organisation_and_one_of_a_listing_is_not() -> None:
    figi = "BBG001S5N8V8"

    def bearers(level: str) -> list[dict[str, Any]]:
        return [identifier(name, "figi", figi, figi_level=level) for name in "AB"]

    assert pointers(bearers("share_class")) == {"B": "A"}
    assert pointers(bearers("composite")) == pointers(bearers("listing")) == {}


def test_one_cik_is_one_organisation_with_or_without_zeros() -> None:
    filer = mint("cik", "0000000001")
    identifiers = [identifier(filer, "cik", "0000000001"), identifier("A", "cik", "1")]

    (join,) = joins(identifiers)
    assert join == {"service_id": "A", "same_as": filer, "match_method": "registry_id"}


def test_zeros_alone_are_no_cik() -> None:
    identifiers = [identifier("A", "cik", "0"), identifier("B", "cik", "0000000000")]

    assert joins(identifiers) == []


TICKER = ("ticker", "XJSE:UFM", "XJSE")


def test_one_listing_that_is_current_at_the_same_time_is_one_organisation() -> None:
    filer = mint("cik", "0000000001")
    own = [identifier(filer, "cik", "1"), identifier(filer, *TICKER, source="sec-submissions")]

    def listed(**columns: Any) -> list[dict[str, str]]:
        return joins([*own, identifier("A", *TICKER, **columns)])

    assert listed() == [{"service_id": "A", "same_as": filer, "match_method": "listing"}]
    assert listed(source="sec-submissions") == []
    assert listed(status="delisted") == []
    own[1] |= {"valid_from": date(2020, 1, 1)}
    assert listed(valid_to=date(2019, 12, 31)) == []
    assert listed(valid_to=date(2020, 1, 1)) != []


@pytest.mark.parametrize("value", ["OTC:UFM", "UFM"])
def test_a_ticker_without_a_market_is_no_evidence(value: str) -> None:
    identifiers = [identifier(name, "ticker", value, source=name) for name in "AB"]

    assert joins(identifiers) == []


def test_one_legal_name_in_one_country_is_one_organisation() -> None:
    own, filer = mint("lei", LEI), mint("cik", "0000000001")
    identifiers = [identifier(own, "lei", LEI), identifier(filer, "cik", "1")]

    def named(name: str, *more: dict[str, Any], **columns: Any) -> list[dict[str, str]]:
        record = entity(own, "The Gold Reef Limited", lei=LEI, other_names='["Reef (Pty) Ltd"]')
        filed = entity(filer, name, source="sec-submissions", **columns)
        return joins(identifiers, [record, filed, *more])

    joined = [{"service_id": filer, "same_as": own, "match_method": "exact_name"}]
    assert named("GOLD REEF LTD /ADR/") == named("Gold Reef Ltd /FI") == joined
    # a former name, on either side
    assert named("REEF PROPRIETARY LIMITED") == joined
    assert named("New Reef Inc", other_names='["GOLD REEF LTD"]') == joined
    # the country of its law or of its address
    assert named("Gold Reef Ltd", jurisdiction=None, country="ZA") == joined
    assert named("Gold Reef Ltd", jurisdiction="US-DE", country="ZA") == joined
    assert named("Gold Reef Ltd", jurisdiction="US-DE", country="US") == []
    assert named("Gold Reef Ltd", jurisdiction=None) == []
    assert (
        named("Gold Reefs Ltd") == named("Gold Reef") == named("Gold Reef Ltd /JV Partners") == []
    )
    assert (
        named("New Reef Inc", other_names='["GOLD REEF LTD"]', trading_names='["GOLD REEF LTD"]')
        == []
    )


def test_a_name_joins_no_organisations_of_two_stated_subdivisions() -> None:
    def named(*jurisdictions: str) -> dict[str, str]:
        sources = ("gleif", "sec-submissions", "listings")
        return pointers(
            [],
            [
                entity(service_id, "Summit Financial Corp", jurisdiction, source=source)
                for service_id, jurisdiction, source in zip(
                    "ABC", jurisdictions, sources, strict=False
                )
            ],
        )

    assert named("US-DE", "US-NV") == named("US-DE", "US-NV", "US") == {}
    assert named("US-DE", " us-de ") == named("US-DE", "US") == {"B": "A"}
    # not even by a third that states none
    former = '["Summit Holdings Corp"]'
    between = entity("B", "Summit Financial Corp", "US", source="listings", other_names=former)
    ends = [
        entity("A", "Summit Financial Corp", "US-DE"),
        entity("C", "Summit Holdings Corp", "US-NV", source="sec-submissions"),
    ]
    assert pointers([], [between, *ends]) == {}
    # one that moved is under the law of both, each in its time
    moved = entity("A", "Summit Financial Corp", "US-NV", is_current=False)
    filer = entity("B", "Summit Financial Corp", "US-NV", source="sec-submissions")
    assert pointers([], [ends[0], moved, filer]) == {"B": "A"}


def test_a_name_is_compared_in_the_country_of_its_isins_if_a_list_states_no_country() -> None:
    def listed(*isins: str, country: str | None = None) -> dict[str, str]:
        numbers = [identifier("B", "isin", isin) for isin in isins]
        in_list = entity("B", "Gold Reef Ltd", None, country=country, source="listings")
        return pointers(numbers, [entity("A", "Gold Reef Ltd"), in_list])

    assert listed("ZAE000000001", "ZAE000000002") == listed("US0378331005", country="ZA")
    assert listed("ZAE000000001") == {"B": "A"}
    assert listed() == listed("ZAE000000001", country="NG") == {}
    assert listed("ZAE000000001", "US0378331005") == {}

    # what begins no country is no place
    numbers = [identifier(name, "isin", f"XS00000000{name}", source=name) for name in "AB"]
    named = [entity(name, "Gold Reef Ltd", None, source=name) for name in "AB"]
    assert pointers(numbers, named) == {}


def test_a_name_that_two_organisations_of_a_register_bear_joins_nothing() -> None:
    own, other, filer = mint("lei", LEI), mint("lei", OTHER), mint("cik", "0000000001")
    entities = [
        entity(own, "Gold Reef Ltd", lei=LEI),
        entity(other, "Gold Reef Limited", lei=OTHER),
        entity(filer, "Gold Reef Ltd", source="sec-submissions"),
    ]

    assert joins([], entities) == []
    # an annulled record is an error of the register
    entities[1] |= {"lei_status": "ANNULLED"}
    assert [row["same_as"] for row in joins([], entities)] == [own]


def test_several_securities_of_one_name_in_a_list_are_of_one_issuer() -> None:
    own = mint("lei", LEI)
    isins = ["ZAE000000001", "ZAE000000002"]
    securities = [mint("isin", isin) for isin in isins]
    identifiers = [
        row
        for security, isin in zip(securities, isins, strict=True)
        for row in (identifier(security, "isin", isin), identifier(security, "ticker", f"X:{isin}"))
    ]
    entities = [
        entity(own, "Gold Reef Ltd", lei=LEI),
        *(entity(security, "Gold Reef Ltd", source="listings") for security in securities),
    ]

    assert pointers(identifiers, entities) == dict.fromkeys(securities, own)


def test_weak_evidence_joins_nothing_that_has_two_numbers_in_one_register() -> None:
    entities = [entity("A", "Gold Reef Ltd"), entity("B", "Gold Reef Ltd", source="register")]
    numbers = [
        identifier("A", "registry", "1", "RA000531"),
        identifier("B", "registry", "2", "ZA-CIP"),
    ]

    assert pointers([], entities) == {"B": "A"}
    assert pointers(numbers, entities) == {}
    assert pointers([numbers[0], numbers[1] | {"id_value": "1"}], entities) == {"B": "A"}


def test_the_method_of_a_join_is_the_weakest_evidence_on_the_way_to_the_canonical_id() -> None:
    own, filer, listed = mint("lei", LEI), mint("cik", "1"), "US0378331005"
    security = mint("isin", listed)
    identifiers = [
        identifier(own, "lei", LEI),
        identifier(filer, "cik", "1"),
        identifier(filer, "isin", listed, source="sec-submissions"),
        identifier(security, "isin", listed),
        identifier(security, "ticker", "XJSE:UFM", "XJSE"),
    ]
    entities = [entity(own, "A Ltd", lei=LEI), entity(filer, "A Ltd", source="sec-submissions")]

    methods = {row["service_id"]: row["match_method"] for row in joins(identifiers, entities)}
    assert methods == {filer: "exact_name", security: "exact_name"}


@settings(max_examples=times(12))
@given(IDENTIFIERS, ENTITIES, st.randoms())
def test_pointers_do_not_depend_on_order_and_form_no_chains(
    identifiers: list[dict[str, Any]], entities: list[dict[str, Any]], chance: random.Random
) -> None:
    rows = joins(identifiers, entities)

    targets = {row["same_as"] for row in rows}
    assert targets.isdisjoint(row["service_id"] for row in rows)
    chance.shuffle(identifiers)
    chance.shuffle(entities)
    assert joins(identifiers, entities) == rows
