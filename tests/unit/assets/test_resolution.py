"""Ids derived from identifiers; parties resolved by number, LEI or exact name."""

import random
import re
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.derive.organisations import (
    KEYS,
    NORMALISED_NUMBER,
    PARTY_COLUMNS,
    joined_tables,
    resolve_parties,
)
from assets.entities.identifiers import REGISTERS, has_digits, mint, normalise_number, register_of
from tests.helpers.nightly import times
from tests.helpers.registers import (
    DATABASE,
    ENTITIES,
    IDENTIFIERS,
    LEI,
    NUMBER,
    entity,
    identifier,
    register_table,
)
from tests.sample_world.countries import COUNTRIES
from warehouse.names.search_words import normalise_name
from warehouse.shared.data_files import csv_rows


def party(name: str, scheme: str | None = None, number: str | None = None) -> dict[str, Any]:
    return {
        "source": "za",
        "country": "ZA",
        "name": name,
        "identifier_scheme": scheme,
        "identifier_id": number,
    }


class MatchOutcome(NamedTuple):
    service_id: str | None
    match_method: str | None
    reason: str | None


def match_parties(
    parties: list[dict[str, Any]], identifiers: list[dict[str, Any]], entities: list[dict[str, Any]]
) -> list[MatchOutcome]:
    """Resolve parties, in their order."""
    keyed = [party | {"party_key": f"{number:04}"} for number, party in enumerate(parties)]
    with closing(DATABASE.cursor()) as sql:
        register_table(sql, "identifiers", identifiers)
        register_table(sql, "entities", entities)
        register_table(sql, "parties", keyed, PARTY_COLUMNS)
        joined = {
            row["service_id"]: row["same_as"] for row in joined_tables(sql)["same_as"].to_pylist()
        }
        for name, rows in (("identifiers", identifiers), ("entities", entities)):
            ids = (joined.get(row["service_id"], row["service_id"]) for row in rows)
            canonical = [row | {"service_id": id_} for row, id_ in zip(rows, ids, strict=True)]
            register_table(sql, name, canonical)
        rows = resolve_parties(sql).sort_by("party_key").to_pylist()
    assert [row["party_key"] for row in rows] == [party["party_key"] for party in keyed]
    return [MatchOutcome(row["service_id"], row["match_method"], row["reason"]) for row in rows]


SAME = [
    ("Ubuntu Mining (Pty) Ltd", "UBUNTU MINING PROPRIETARY LIMITED"),
    ("Société Générale S.A.", "societe generale sa"),
    ("Société Générale Société Anonyme", "Societe Generale S. A."),
    ("Kakuzi Public Limited Company", "Kakuzi PLC"),
    ("Smith & Sons Ltd.", "Smith and Sons, Limited"),
    ("A.B.C. Traders Co. Ltd", "ABC Traders Company Limited"),
    ("Lake-View  Hotels Ltd", "Lake View Hotels LTD"),
    ("D'Urban Works Ltd", "D’Urban Works Ltd"),
    ("Großhandel AG", "GROSSHANDEL Aktiengesellschaft"),
    ("GROẞHANDEL AG", "Großhandel AG"),
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


@pytest.mark.parametrize(("name", "other_name"), SAME)
def test_names_that_differ_only_in_spelling_are_the_same(name: str, other_name: str) -> None:
    assert normalise_name(name) == normalise_name(other_name) is not None


@pytest.mark.parametrize(("name", "other_name"), DIFFERENT)
def test_names_that_are_only_similar_are_not_the_same(name: str, other_name: str) -> None:
    assert normalise_name(name) != normalise_name(other_name)


@pytest.mark.parametrize(("name", "other_name"), SAME[:-1])
def test_equal_names_have_equal_crude_keys(name: str, other_name: str) -> None:
    # letters of another width, as in the last of them, are beyond SQL
    KEYS.run(DATABASE, "crude_key")
    query = "SELECT DISTINCT crude_key(name) FROM (SELECT unnest($1) AS name)"
    assert len(DATABASE.execute(query, [[name, other_name]]).fetchall()) == 1


@given(st.text())
def test_normalising_a_normalised_name_changes_nothing(name: str) -> None:
    normalised = normalise_name(name)
    assert normalised is None or normalise_name(normalised) == normalised


def match_of(party: dict[str, Any], identifiers: Any = (), entities: Any = ()) -> MatchOutcome:
    (match,) = match_parties([party], list(identifiers), list(entities))
    return match


def test_a_party_is_resolved_by_its_register_number() -> None:
    identifiers = [identifier("A", "registry", NUMBER, "RA000531")]

    match = match_of(party("Anything Ltd", "ZA-CIP", NUMBER), identifiers)
    assert match == MatchOutcome("A", "registry_id", None)
    assert match_of(party("Anything Ltd", "NG-CAC", NUMBER), identifiers).service_id is None


def test_the_registers_of_the_sample_world_have_their_schemes() -> None:
    registers = {country.authority: register_of(country.authority) for country in COUNTRIES}

    assert registers == {country.authority: country.scheme for country in COUNTRIES}
    # Each code is that of one register.
    assert len(csv_rows("assets.entities.identifiers", "registers")) == len(REGISTERS)


@pytest.mark.parametrize("scheme", ["XI-LEI", "LEI", "lei"])
def test_a_party_is_resolved_by_its_lei(scheme: str) -> None:
    identifiers = [identifier("A", "lei", LEI)]

    assert match_of(party("A Ltd", scheme, LEI.lower()), identifiers) == MatchOutcome(
        "A", "lei", None
    )


def test_a_party_is_resolved_by_its_exact_name_in_its_jurisdiction_only() -> None:
    entities = [
        entity("A", "Ubuntu Mining (Pty) Ltd"),
        entity("B", "Ubuntu Mining (Pty) Ltd", "NG"),
    ]

    tender_party = party("UBUNTU MINING PROPRIETARY LIMITED")
    assert match_of(tender_party, (), entities) == MatchOutcome("A", "exact_name", None)
    assert match_of(tender_party, (), entities[1:]).service_id is None
    assert match_of(party("Ubuntu Minin (Pty) Ltd"), (), entities).service_id is None


def test_a_party_is_resolved_by_a_former_name_but_not_by_a_trading_name() -> None:
    others = '["Baobab Ltd", "Quick Roads Ltd"]'
    trading = '["Quick Roads Ltd"]'
    entities = [entity("A", "Ubuntu Ltd", other_names=others, trading_names=trading)]

    assert match_of(party("BAOBAB LIMITED"), (), entities).match_method == "exact_name"
    assert match_of(party("Quick Roads Ltd"), (), entities).service_id is None


def test_two_organisations_of_one_name_are_ambiguous() -> None:
    entities = [entity("A", "Ubuntu Ltd"), entity("B", "UBUNTU LIMITED")]

    match = match_of(party("Ubuntu Ltd"), (), entities)
    assert match.service_id is None
    assert match.reason == "ambiguous: several organisations of the country have this name"


def test_one_organisation_with_two_ids_is_not_ambiguous() -> None:
    identifiers = [identifier(service_id, "lei", LEI) for service_id in (mint("lei", LEI), "B")]
    entities = [entity(mint("lei", LEI), "Ubuntu Ltd"), entity("B", "Ubuntu Ltd")]

    match = match_of(party("Ubuntu Ltd"), identifiers, entities)
    assert match == MatchOutcome(mint("lei", LEI), "exact_name", None)


def test_a_name_known_under_another_number_is_no_match() -> None:
    identifiers = [identifier("A", "registry", "2001/999999/06", "RA000531")]
    entities = [entity("A", "Ubuntu Ltd")]

    match = match_of(party("Ubuntu Ltd", "ZA-CIP", NUMBER), identifiers, entities)
    assert match.service_id is None
    assert match_of(party("Ubuntu Ltd"), identifiers, entities).service_id == "A"


@pytest.mark.slow
def test_a_blank_or_placeholder_states_no_number() -> None:
    identifiers = [identifier("A", "registry", "2001/999999/06", "RA000531")]

    for number in ("", " ", "0", "N/A"):
        tender_party = party("Ubuntu Ltd", "ZA-CIP", number)
        assert (
            match_of(tender_party, identifiers, [entity("A", "Ubuntu Ltd")]).match_method
            == "exact_name"
        )
    tender_party = party("Ubuntu Ltd", "LEI", " ")
    match = match_of(tender_party, [identifier("A", "lei", LEI)], [entity("A", "Ubuntu Ltd")])
    assert match.match_method == "exact_name"


PARTIES = st.lists(
    st.builds(
        party,
        st.sampled_from(["...", "Ubuntu Limited", "Baobab Ltd", "Nobody Ltd"]),
        st.sampled_from([None, "ZA-CIP", "NG-CAC", "LEI"]),
        st.sampled_from(["1", "２", LEI, LEI.lower(), " "]),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=times(8))
@given(PARTIES, IDENTIFIERS, ENTITIES, st.randoms())
def test_resolution_does_not_depend_on_order(
    parties: list[dict[str, Any]],
    identifiers: list[dict[str, Any]],
    entities: list[dict[str, Any]],
    chance: random.Random,
) -> None:
    matches = match_parties(parties, identifiers, entities)

    assert all((match.service_id is None) == (match.reason is not None) for match in matches)
    chance.shuffle(identifiers)
    chance.shuffle(entities)
    assert match_parties(parties[::-1], identifiers, entities)[::-1] == matches


@given(st.text(st.characters(codec="utf-8")))
def test_a_number_that_sql_considers_normalised_is_normalised(value: str) -> None:
    query = f"SELECT regexp_full_match($1, '{NORMALISED_NUMBER}'), regexp_matches($1, '[1-9]')"
    is_normalised, digits = DATABASE.execute(query, [value]).fetchall()[0]

    assert not is_normalised or (normalise_number(value), has_digits(value)) == (value, digits)


NAMED = st.text(min_size=1).filter(lambda text: text.strip() != "" and ":" not in text)


def test_an_id_never_changes() -> None:
    assert mint("cik", "0001172724") == "DCWG0H3JQ98S"


def test_case_and_blanks_do_not_make_another_organisation() -> None:
    assert mint("lei", " 2138002qx8kztplxs721 ") == mint("LEI", "2138002QX8KZTPLXS721")


def test_the_scheme_is_part_of_the_identity() -> None:
    assert mint("cik", "0000000001") != mint("registry", "0000000001")


@pytest.mark.parametrize(("scheme", "value"), [("", "1"), ("cik", " "), ("a:b", "c")])
def test_an_incomplete_identifier_is_refused(scheme: str, value: str) -> None:
    with pytest.raises(ValueError, match="names no identifier"):
        mint(scheme, value)


@given(scheme=NAMED, value=NAMED)
def test_every_id_has_the_same_format(scheme: str, value: str) -> None:
    assert re.fullmatch(r"DC[0-9A-HJKMNP-TV-Z]{10}", mint(scheme, value))


def test_ids_do_not_collide() -> None:
    assert len({mint("cik", f"{number:010}") for number in range(50_000)}) == 50_000
