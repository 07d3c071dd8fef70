import random
from contextlib import closing
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.entities.folded import PLAIN_NUMBER
from assets.entities.ids import mint
from assets.entities.names import plain_name
from assets.entities.registers import REGISTERS, is_numbered, plain_number, register_of
from assets.entities.resolve import PARTY, resolve
from assets.entities.same import same_as
from assets.entities.sharing import find_same
from assets.sample.countries import COUNTRIES

LEI, OTHER = "213800FICTIONAL00192", "213800FICTIONAL00289"
NUMBER = "2001/123456/06"


def identifier(service_id: str, kind: str, value: str, issuer: str | None = None) -> dict[str, Any]:
    return {"service_id": service_id, "id_type": kind, "id_value": value, "issuer": issuer}


def entity(service_id: str, name: str, place: str = "ZA", **more: str | None) -> dict[str, Any]:
    return {"service_id": service_id, "legal_name": name, "jurisdiction": place} | more


def party(name: str, scheme: str | None = None, number: str | None = None) -> dict[str, Any]:
    return {
        "source": "za",
        "country": "ZA",
        "name": name,
        "identifier_scheme": scheme,
        "identifier_id": number,
    }


_DATABASE = duckdb.connect()
_COLUMNS = {
    "identifiers": ("service_id", "id_type", "id_value", "issuer"),
    "entities": ("service_id", "legal_name", "jurisdiction", "lei", "same_as"),
    "parties": PARTY,
}


class Resolved(NamedTuple):
    service_id: str | None
    match_method: str | None
    reason: str | None


def offer(sql: duckdb.DuckDBPyConnection, name: str, rows: list[dict[str, Any]]) -> None:
    columns = {
        each: pa.array([row.get(each) for row in rows], pa.string()) for each in _COLUMNS[name]
    }
    sql.register(name, pa.table(columns))


def resolved(
    parties: list[dict[str, Any]], identifiers: list[dict[str, Any]], entities: list[dict[str, Any]]
) -> list[Resolved]:
    """Resolve parties, in their order."""
    numbered = [each | {"party_key": f"{n:04}"} for n, each in enumerate(parties)]
    with closing(_DATABASE.cursor()) as sql:
        offer(sql, "identifiers", identifiers)
        offer(sql, "entities", entities)
        offer(sql, "parties", numbered)
        sql.register("same_as", find_same(sql))
        found = resolve(sql).sort_by("party_key").to_pylist()
    assert [each["party_key"] for each in found] == [each["party_key"] for each in numbered]
    return [Resolved(each["service_id"], each["match_method"], each["reason"]) for each in found]


def pointers(identifiers: Any, entities: Any = ()) -> dict[str, str]:
    return {row["service_id"]: row["same_as"] for row in same_as(identifiers, entities)}


def test_two_ids_with_one_lei_are_one_organisation_and_the_lei_is_pointed_to() -> None:
    strong, weak = mint("lei", LEI), mint("cik", "0000000001")
    known = [
        identifier(weak, "cik", "0000000001"),
        identifier(weak, "lei", LEI),
        identifier(strong, "lei", LEI),
    ]

    assert same_as(known, []) == [{"service_id": weak, "same_as": strong, "evidence": "lei"}]
    assert same_as(pa.Table.from_pylist(known), pa.table({"service_id": []})) == same_as(known, [])


def test_the_lei_of_an_entity_counts_as_much_as_the_one_of_an_identifier() -> None:
    strong, weak = mint("lei", LEI), mint("cik", "0000000001")

    found = pointers([identifier(strong, "lei", LEI)], [entity(weak, "A Ltd", lei=LEI)])
    assert found == {weak: strong}


def test_one_number_of_one_register_is_one_organisation_under_any_code_of_the_register() -> None:
    weak = mint("cik", "0000000001")
    known = [
        identifier(mint("lei", LEI), "lei", LEI),
        identifier(mint("lei", LEI), "registry", NUMBER, "RA000531"),
        identifier(weak, "registry", NUMBER.replace("/", " / "), "ZA-CIP"),
    ]

    assert pointers(known) == {weak: mint("lei", LEI)}


@pytest.mark.parametrize("number", ["0", "N/A", "-", " "])
def test_a_placeholder_is_no_register_number(number: str) -> None:
    assert pointers([identifier(each, "registry", number, "RA000531") for each in "AB"]) == {}


def test_one_number_in_two_registers_is_no_match() -> None:
    known = [
        identifier("A", "registry", "048213", "RA990004"),
        identifier("B", "registry", "048213", "RA990005"),
        identifier("C", "registry", "048213", None),
    ]

    assert pointers(known) == {}


def test_an_isin_makes_two_ids_one_where_a_market_lists_it() -> None:
    listed, bond = "US0378331005", "US0378331006"
    known = [
        identifier(mint("lei", LEI), "lei", LEI),
        identifier(mint("lei", LEI), "isin", listed),
        identifier(mint("isin", listed), "isin", listed),
        identifier(mint("isin", listed), "ticker", "XJSE:UFM", "XJSE"),
        identifier("A", "isin", bond),
        identifier("B", "isin", bond),
    ]

    assert pointers(known) == {mint("isin", listed): mint("lei", LEI)}


def test_two_leis_stay_two_organisations_whatever_they_share() -> None:
    one, two, filer = mint("lei", LEI), mint("lei", OTHER), mint("cik", "0000000001")
    known = [
        identifier(one, "lei", LEI),
        identifier(two, "lei", OTHER),
        identifier(one, "registry", NUMBER, "RA000531"),
        identifier(two, "registry", NUMBER, "RA000531"),
    ]
    assert pointers(known) == {}

    both = [identifier(filer, "lei", LEI), identifier(filer, "lei", OTHER)]
    assert pointers([*known, *both]) == {}


def test_a_duplicate_that_a_register_declares_is_followed_to_its_end() -> None:
    one, two, filer = mint("lei", LEI), mint("lei", OTHER), mint("cik", "0000000001")
    known = [
        identifier(one, "lei", LEI),
        identifier(two, "lei", OTHER),
        identifier(filer, "lei", LEI),
    ]

    found = pointers(known, [entity(one, "A Ltd", lei=LEI, same_as=two)])
    assert found == {one: two, filer: two}


def test_what_was_withdrawn_makes_nothing_one() -> None:
    known = [identifier("A", "lei", LEI), identifier("B", "lei", LEI) | {"withdrawn": True}]

    assert pointers(known) == {}


IDS = st.sampled_from("ABCDEFGH")
IDENTIFIERS = st.lists(
    st.one_of(
        st.builds(identifier, IDS, st.just("lei"), st.sampled_from([LEI, OTHER, "L3"])),
        st.builds(
            identifier,
            IDS,
            st.just("registry"),
            st.sampled_from(["1", " 1", "２", "2", "0", "n/a", "x1"]),
            st.sampled_from(["RA000531", "za-cip ", "RA000469", " "]),
        ),
        st.builds(identifier, IDS, st.sampled_from(["isin", "ticker", "cik"]), st.just("I")),
        st.builds(identifier, IDS, st.just("isin"), st.sampled_from(["i", "J"])),
    ),
    max_size=14,
)
ENTITIES = st.lists(
    st.builds(
        entity,
        IDS,
        st.sampled_from(["Ubuntu Ltd", "UBUNTU LIMITED", "Baobab Ltd"]),
        st.sampled_from(["ZA", "NG"]),
        same_as=st.one_of(st.none(), IDS),
        lei=st.sampled_from([None, LEI, f" {LEI.lower()}"]),
    ),
    max_size=6,
)


@given(IDENTIFIERS, ENTITIES, st.randoms())
def test_pointers_do_not_depend_on_order_and_lead_to_an_end_at_once(
    identifiers: list[dict[str, Any]], entities: list[dict[str, Any]], chance: random.Random
) -> None:
    found = same_as(identifiers, entities)

    ends = {row["same_as"] for row in found}
    assert ends.isdisjoint(row["service_id"] for row in found)
    chance.shuffle(identifiers)
    chance.shuffle(entities)
    assert same_as(identifiers, entities) == found


SAME = [
    ("Ubuntu Mining (Pty) Ltd", "UBUNTU MINING PROPRIETARY LIMITED"),
    ("Société Générale S.A.", "societe generale sa"),
    ("Société Générale Société Anonyme", "Societe Generale S. A."),
    ("Kakuzi Public Limited Company", "Kakuzi PLC"),
    ("Smith & Sons Ltd.", "Smith and Sons, Limited"),
    ("A.B.C. Traders Co. Ltd", "ABC Traders Company Limited"),
    ("Lake-View  Hotels Ltd", "Lake View Hotels LTD"),
    ("D'Urban Works Ltd", "D’Urban Works Ltd"),
    ("ＡＣＭＥ Ltd", "Acme Ltd"),
]
DIFFERENT = [
    ("Ubuntu Mining Ltd", "Ubuntu Mining (Pty) Ltd"),
    ("Ubuntu Mining Ltd", "Ubuntu Minings Ltd"),
    ("Ubuntu Mining Ltd", "Mining Ubuntu Ltd"),
    ("Ubuntu Mining Ltd", "Ubuntu Mining"),
    ("Ubuntu 1 Ltd", "Ubuntu 2 Ltd"),
    ("かき Ltd", "がき Ltd"),
    ("का Ltd", "कि Ltd"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_that_are_written_alike_are_the_same(one: str, other: str) -> None:
    assert plain_name(one) == plain_name(other) is not None


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_names_that_are_only_like_each_other_are_not_the_same(one: str, other: str) -> None:
    assert plain_name(one) != plain_name(other)


@given(st.text())
def test_folding_a_folded_name_changes_nothing(name: str) -> None:
    folded = plain_name(name)
    assert folded is None or plain_name(folded) == folded


def answer(asked: dict[str, Any], identifiers: Any = (), entities: Any = ()) -> Resolved:
    (found,) = resolved([asked], list(identifiers), list(entities))
    return found


def test_a_party_is_resolved_by_its_register_number() -> None:
    known = [identifier("A", "registry", NUMBER, "RA000531")]

    found = answer(party("Anything Ltd", "ZA-CIP", NUMBER), known)
    assert found == Resolved("A", "registry_id", None)
    assert answer(party("Anything Ltd", "NG-CAC", NUMBER), known).service_id is None


def test_the_registers_of_the_sample_world_have_their_schemes() -> None:
    found = {country.authority: register_of(country.authority) for country in COUNTRIES}

    assert found == {country.authority: country.scheme for country in COUNTRIES}
    codes = [code for each in REGISTERS for code in (each.code, *each.other_codes)]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("scheme", ["XI-LEI", "LEI", "lei"])
def test_a_party_is_resolved_by_its_lei(scheme: str) -> None:
    known = [identifier("A", "lei", LEI)]

    assert answer(party("A Ltd", scheme, LEI.lower()), known) == Resolved("A", "lei", None)


def test_a_party_is_resolved_by_its_exact_name_in_its_jurisdiction_only() -> None:
    known = [entity("A", "Ubuntu Mining (Pty) Ltd"), entity("B", "Ubuntu Mining (Pty) Ltd", "NG")]

    asked = party("UBUNTU MINING PROPRIETARY LIMITED")
    assert answer(asked, (), known) == Resolved("A", "exact_name", None)
    assert answer(asked, (), known[1:]).service_id is None
    assert answer(party("Ubuntu Minin (Pty) Ltd"), (), known).service_id is None


def test_two_organisations_of_one_name_are_ambiguous() -> None:
    known = [entity("A", "Ubuntu Ltd"), entity("B", "UBUNTU LIMITED")]

    found = answer(party("Ubuntu Ltd"), (), known)
    assert found.service_id is None
    assert found.reason == "ambiguous: several organisations of the country have this name"


def test_one_organisation_with_two_ids_is_not_ambiguous() -> None:
    identifiers = [identifier(each, "lei", LEI) for each in (mint("lei", LEI), "B")]
    entities = [entity(mint("lei", LEI), "Ubuntu Ltd"), entity("B", "Ubuntu Ltd")]

    found = answer(party("Ubuntu Ltd"), identifiers, entities)
    assert found == Resolved(mint("lei", LEI), "exact_name", None)


def test_a_name_known_under_another_number_is_no_match() -> None:
    identifiers = [identifier("A", "registry", "2001/999999/06", "RA000531")]
    entities = [entity("A", "Ubuntu Ltd")]

    found = answer(party("Ubuntu Ltd", "ZA-CIP", NUMBER), identifiers, entities)
    assert found.service_id is None
    assert answer(party("Ubuntu Ltd"), identifiers, entities).service_id == "A"


def test_a_blank_or_placeholder_states_no_number() -> None:
    known = [identifier("A", "registry", "2001/999999/06", "RA000531")]

    for number in ("", " ", "0", "N/A"):
        asked = party("Ubuntu Ltd", "ZA-CIP", number)
        assert answer(asked, known, [entity("A", "Ubuntu Ltd")]).match_method == "exact_name"
    asked = party("Ubuntu Ltd", "LEI", " ")
    found = answer(asked, [identifier("A", "lei", LEI)], [entity("A", "Ubuntu Ltd")])
    assert found.match_method == "exact_name"


PARTIES = st.lists(
    st.builds(
        party,
        st.sampled_from(["...", "Ubuntu Limited", "Baobab Ltd", "Nobody Ltd"]),
        st.sampled_from([None, "ZA-CIP", "NG-CAC", "LEI"]),
        st.sampled_from(["1", "２", LEI, LEI.lower(), " "]),
    ),
    max_size=8,
)


@settings(max_examples=25)
@given(PARTIES, IDENTIFIERS, ENTITIES, st.randoms())
def test_resolution_does_not_depend_on_order(
    parties: list[dict[str, Any]],
    identifiers: list[dict[str, Any]],
    entities: list[dict[str, Any]],
    chance: random.Random,
) -> None:
    found = resolved(parties, identifiers, entities)

    assert all((each.service_id is None) == (each.reason is not None) for each in found)
    chance.shuffle(identifiers)
    chance.shuffle(entities)
    assert resolved(parties[::-1], identifiers, entities)[::-1] == found


@settings(max_examples=50)
@given(IDENTIFIERS, ENTITIES)
def test_what_sql_leaves_out_makes_nothing_one(
    identifiers: list[dict[str, Any]], entities: list[dict[str, Any]]
) -> None:
    with closing(_DATABASE.cursor()) as sql:
        offer(sql, "identifiers", identifiers)
        offer(sql, "entities", entities)
        found = find_same(sql).to_pylist()

    assert found == same_as(identifiers, entities)


@given(st.text(st.characters(codec="utf-8")))
def test_what_sql_takes_for_its_own_number_is(value: str) -> None:
    asked = f"SELECT regexp_full_match($1, '{PLAIN_NUMBER}'), regexp_matches($1, '[1-9]')"
    plain, numbered = _DATABASE.execute(asked, [value]).fetchall()[0]

    assert not plain or (plain_number(value), is_numbered(value)) == (value, numbered)
