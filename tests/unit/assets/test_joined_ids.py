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
    joined,
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


COMMUNITY, OFFICIAL, SEC = "finance-database", "in-nse", "sec-tickers"
FIGI = "BBG001S5N8V8"


def sharing(method: str, service_id: str, source: str) -> dict[str, Any]:
    """Return the row of an id that shares an identifier of a security."""
    values: dict[str, tuple[str, ...]] = {
        "figi": ("figi", FIGI),
        "isin": ("isin", "US0378331005"),
        "listing": TICKER,
    }
    level = "share_class" if method == "figi" else None
    return identifier(service_id, *values[method], source=source, figi_level=level)


def vetoes(
    first: str, second: str, sources: tuple[str, str], method: str, **other_names: str
) -> list[tuple[str, str]]:
    """Return method and reason of the vetoes between two ids of such names.

    Exactly one of a join and a veto comes out, in any order of the rows.
    """
    rows = [sharing(method, *each) for each in zip("AB", sources, strict=True)]
    # An ISIN joins if it is listed.
    rows.append(identifier("A", "ticker", "XJSE:OWN", "XJSE", source=sources[0]))
    named = [
        entity("A", first, None, source=sources[0]),
        entity("B", second, None, source=sources[1], **other_names),
    ]
    made, vetoed = joined(rows, named)
    assert joined(rows[::-1], named[::-1]) == (made, vetoed)
    assert len(made) + len(vetoed) == 1
    return [(row["match_method"], row["reason"]) for row in vetoed]


UNLIKE = [
    ("Coronation Fund Managers Limited", "CML Microsystems Plc"),
    ("Italtile Limited", "i3 Energy plc"),
    ("PBT Group Limited", "Touchstone Exploration Inc."),
    ("Everyman Media Group PLC", "PBT Group Limited"),
    ("Dixons Carphone plc", "DAKOTA GOLD CORP. /DE/"),
    ("Marimekko Oyj /FI/", "Dakota Gold Oyj"),
    ("Guaranty Bancshares, Inc.", "First Guaranty Bancshares, Inc."),
    ("Blue Water Acquisition Corp.", "Blue Water Acquisition Corp. III"),
    ("NewHold Investment Corp. II", "NewHold Investment Corp III"),
    ("Fund 7 Ltd", "Fund 8 Ltd"),
]
ALIKE = [
    ("Gold Reef Limited", "GOLD REEF LTD"),
    ("Gold Reef Limited", "Reef Mining Inc"),
    ("NewHold Investment Corp. III", "NewHold Investment Corp 3"),
    ("First Reef Ltd", "1st Reef Ltd"),
    ("The 3M Company", "3M CO"),
    # what is written in another script cannot be compared
    ("삼성전자", "Samsung Electronics Co Ltd"),
]


@pytest.mark.parametrize("names", UNLIKE)
def test_what_a_community_states_joins_nothing_that_names_tell_apart(
    names: tuple[str, str],
) -> None:
    assert vetoes(*names, (COMMUNITY, SEC), "listing") == [("listing", "names")]
    assert vetoes(*names, (SEC, COMMUNITY), "listing") == [("listing", "names")]


@pytest.mark.parametrize("method", ["isin", "figi", "listing"])
@pytest.mark.parametrize("sources", [(COMMUNITY, SEC), (SEC, COMMUNITY), (COMMUNITY, "listings")])
def test_that_holds_for_every_identifier_of_a_security_whichever_side_is_a_community_s(
    sources: tuple[str, str], method: str
) -> None:
    assert vetoes(*UNLIKE[0], sources, method) == [(method, "names")]


@pytest.mark.parametrize("names", ALIKE)
def test_names_with_a_word_in_common_and_the_same_numerals_are_no_veto(
    names: tuple[str, str],
) -> None:
    assert vetoes(*names, (COMMUNITY, SEC), "figi") == []


@pytest.mark.parametrize("names", UNLIKE)
def test_names_are_no_veto_of_what_no_community_states(names: tuple[str, str]) -> None:
    assert vetoes(*names, (OFFICIAL, SEC), "listing") == []


def test_a_former_name_of_either_is_a_name_of_it() -> None:
    former = '["Taseko Mines Ltd"]'
    names = ("Taseko Mines Limited", "Trekor Metals Inc.")

    assert vetoes(*names, (COMMUNITY, SEC), "listing") == [("listing", "names")]
    assert vetoes(*names, (COMMUNITY, SEC), "listing", other_names=former) == []


@pytest.mark.parametrize("strong", ["lei", "cik", "isin"])
def test_a_number_of_its_own_joins_a_renamed_company_whatever_it_is_called(strong: str) -> None:
    values = {"lei": LEI, "cik": "0000000001", "isin": "US0378331005"}
    rows = [sharing("listing", "A", COMMUNITY), sharing("listing", "B", SEC)]
    rows += [
        identifier(service_id, strong, values[strong], source=source)
        for service_id, source in (("A", OFFICIAL), ("B", SEC))
    ]
    named = [
        entity("A", "Taseko Mines Ltd", None, source=OFFICIAL),
        entity("B", "Trekor Metals Inc", None, source=SEC),
    ]

    (join,), vetoed = joined(rows, named)
    assert join["service_id"] == "B" and vetoed == []


@pytest.mark.parametrize("sources", [(COMMUNITY, COMMUNITY), (OFFICIAL, SEC)])
def test_two_isins_veto_a_share_class_figi_whoever_states_it(sources: tuple[str, str]) -> None:
    rows = [sharing("figi", *each) for each in zip("AB", sources, strict=True)]
    for service_id, isin, source in zip(
        "AB", ("ZAE000047353", "GB0001602944"), sources, strict=True
    ):
        rows.append(identifier(service_id, "isin", isin, source=source))
        rows.append(identifier(service_id, "ticker", f"X{service_id}SE:CML", None, source=source))
    named = [entity(name, "Gold Reef Ltd", None, source=sources[0]) for name in "AB"]

    veto = {"service_id": "A", "other_id": "B", "match_method": "figi", "reason": "isin"}
    assert joined(rows, named) == ([], [veto])
    # One in common is enough; and a name in one country joins what the FIGI does not.
    both = identifier("B", "isin", "ZAE000047353", source="openfigi")
    assert joined([*rows, both], named)[1] == []
    own = [
        entity("A", "Gold Reef Ltd", source="gleif"),
        entity("B", "Gold Reef Ltd", source="sec-submissions"),
    ]
    assert joined(rows, own) == (
        [{"service_id": "B", "same_as": "A", "match_method": "exact_name"}],
        [],
    )


def test_no_chain_joins_what_names_tell_apart() -> None:
    # B has no name; A and B share a FIGI, B and C a listing, and A and C an ISIN of a community.
    named = [
        entity("A", "Coronation Fund Managers Ltd", None, source=COMMUNITY),
        entity("C", "CML Microsystems Plc", None, source=COMMUNITY),
    ]
    chain = [
        sharing("figi", "A", COMMUNITY),
        sharing("figi", "B", COMMUNITY),
        sharing("listing", "B", SEC),
        sharing("listing", "C", COMMUNITY),
    ]
    made, vetoed = joined(chain, named)
    assert [row["service_id"] for row in made] == ["B"]
    assert [(row["service_id"], row["other_id"]) for row in vetoed] == [("A", "C")]
    # Within one method it is not known to which of them B belongs.
    one_figi = [sharing("figi", name, COMMUNITY) for name in "ABC"]
    assert joined(one_figi, named)[0] == []
    # Not even by links of which no community is a part.
    direct = [sharing("isin", name, COMMUNITY) for name in "AC"]
    listed = [sharing("listing", "A", OFFICIAL), *chain[2:3], sharing("figi", "B", OFFICIAL)]
    figi = sharing("figi", "C", SEC)
    assert all(
        {row["service_id"], row["same_as"]} != {"A", "C"}
        for row in joined([*direct, *listed, figi], named)[0]
    )


def test_what_is_no_community_s_still_joins_if_a_community_errs() -> None:
    rows = [sharing("figi", "A", OFFICIAL), sharing("figi", "B", SEC)]
    wrong = sharing("figi", "C", COMMUNITY)
    named = [
        *(entity(name, "Gold Reef Ltd", None, source=SEC) for name in "AB"),
        entity("C", "Dakota Mines Inc", None, source=COMMUNITY),
    ]

    made, vetoed = joined([*rows, wrong], named)
    assert [(row["service_id"], row["same_as"]) for row in made] == [("B", "A")]
    assert [row["other_id"] for row in vetoed] == ["C"]


NAMES = ["Gold Reef Ltd", "Gold Reef Ltd II", "Dakota Mines Inc", "Baobab Plc"]
SOURCES = [COMMUNITY, "listings", OFFICIAL, SEC, "gleif"]
SECURITIES = st.lists(
    st.builds(
        identifier,
        st.sampled_from("ABCDEF"),
        st.sampled_from(["figi", "isin", "ticker", "cik"]),
        st.sampled_from(["XJSE:A", "XJSE:B"]),
        st.just("XJSE"),
        source=st.sampled_from(SOURCES),
        figi_level=st.just("share_class"),
    ),
    max_size=16,
)
ISSUERS = st.lists(
    st.builds(
        entity,
        st.sampled_from("ABCDEF"),
        st.sampled_from(NAMES),
        st.sampled_from([None, "ZA"]),
        source=st.sampled_from(SOURCES),
    ),
    max_size=8,
)


@settings(max_examples=times(25))
@given(SECURITIES, ISSUERS, st.randoms())
def test_vetoes_do_not_depend_on_order_and_nothing_vetoed_is_joined(
    identifiers: list[dict[str, Any]], entities: list[dict[str, Any]], chance: random.Random
) -> None:
    made, vetoed = joined(identifiers, entities)

    to = {row["service_id"]: row["same_as"] for row in made}
    for row in vetoed:
        assert to.get(row["service_id"], row["service_id"]) != to.get(
            row["other_id"], row["other_id"]
        )
    chance.shuffle(identifiers)
    chance.shuffle(entities)
    assert joined(identifiers, entities) == (made, vetoed)


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
