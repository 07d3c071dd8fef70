from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality.persons import Evidence, Withheld, judge_name
from tests.helpers.organisation_names import ORGANISATIONS
from tests.helpers.person_names import BESIDE_A_FIRM, DISGUISES, NUMBERED, PLAIN, Numbered
from tests.helpers.rule_table import count, share, table

ELSEWHERE = (None, "ZA", "US", "PT", "MX", "CO", "SN")
# Dots or a comma make "Naidoo, S.A." a firm where S.A. is a form of the law.
SPEAKING = (".", ",")


def served(
    name: str, country: str | None, scheme: str | None = None, identifier: str | None = None
) -> bool:
    verdict = judge_name(name, country=country, scheme=scheme, identifier=identifier)
    return isinstance(verdict, Evidence)


@pytest.mark.parametrize("disguise", DISGUISES)
def test_no_person_is_served_however_the_name_is_written(disguise: str) -> None:
    written = DISGUISES[disguise]
    people = [(name, country) for country, names in PLAIN.items() for name in names]

    assert [name for name, country in people if served(written(name), country)] == []
    assert [name for name, _ in people if served(written(name), None)] == []


@pytest.mark.parametrize("country", ELSEWHERE)
def test_a_person_is_withheld_in_any_country(country: str | None) -> None:
    people = [name for names in PLAIN.values() for name in names]
    undotted = [name for name in people if not any(sign in name for sign in SPEAKING)]

    assert [name for name in undotted if served(name, country)] == []


@pytest.mark.parametrize("disguise", DISGUISES)
def test_no_person_beside_a_firm_is_served(disguise: str) -> None:
    written = DISGUISES[disguise]
    leaks = [(name, c) for name in BESIDE_A_FIRM for c in ELSEWHERE if served(written(name), c)]

    assert leaks == []


@pytest.mark.parametrize("party", NUMBERED, ids=lambda party: f"{party.scheme}-{party.name}")
def test_a_number_of_a_person_outweighs_a_name(party: Numbered) -> None:
    assert not served(party.name, party.country, party.scheme, party.identifier)


def test_organisations_of_many_registers_are_served(capsys: pytest.CaptureFixture[str]) -> None:
    written = {
        country: [*names, *map(str.upper, names)] for country, names in ORGANISATIONS.items()
    }
    counted = {country: count(names, country) for country, names in written.items()}

    with capsys.disabled():
        print(table("made-up organisations of many registers", counted))
    assert {country for country, rules in counted.items() if share(rules) <= 0.9} == set()


def test_every_rule_that_withholds_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    counted = {country: count(names, country) for country, names in PLAIN.items()}
    counted["joint"] = count(BESIDE_A_FIRM, None)

    with capsys.disabled():
        print(table("made-up people", counted))
    rules = sum(counted.values(), Counter[str]())
    expected = {"no_evidence", "several_names", "sole_trader", "personal_title"}
    assert expected | {"office_holder", "acts_for_another"} <= set(rules)


@given(st.sampled_from(BESIDE_A_FIRM), st.sampled_from(sorted(DISGUISES)), st.data())
def test_signs_that_nobody_sees_change_no_verdict(
    name: str, disguise: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(name)))
    sign = data.draw(st.sampled_from("\u200b\u200d\u2060\ufeff\u202e\u00ad"))

    assert not served(DISGUISES[disguise](name[:at] + sign + name[at:]), None)


@pytest.mark.parametrize(
    ("name", "country"),
    [
        ("Smith & Jones Ltd", "ZA"),
        ("Johnson & Johnson (Pty) Ltd", "ZA"),
        ("Price Waterhouse and Coopers Inc", "ZA"),
        ("Smith, Jones and Brown (Pty) Ltd", "ZA"),
        ("Mokoena and Sons (Pty) Ltd", "ZA"),
        ("Thabo Mokoena and Associates Inc", "ZA"),
        ("Messrs Smith & Jones Ltd", "NG"),
        ("M/S Fictional Surveys Nig. Ltd", "NG"),
        ("Foxtrot O & G Company Nigeria Ltd", "NG"),
        ("Fictional Road Works and Acme Ltd", "KE"),
        ("Pérez Gómez y Cía. Ltda", "CO"),
        ("Fictícia - Consumíveis e Equipamentos, Lda", "PT"),
        ("Mott Fictional (Kenya) Ltd", "KE"),
        ("Fictional Roads\n(Pty) Ltd", "ZA"),
        ("Fictional Roads Ltd/Gte", "NG"),
    ],
)
def test_a_firm_of_several_names_stays_one_firm(name: str, country: str) -> None:
    assert served(name, country)


def test_a_text_of_pages_is_no_name() -> None:
    verdict = judge_name("Ltd " * 20_000, country="ZA", scheme=None, identifier=None)

    assert verdict == Withheld("too_long")
