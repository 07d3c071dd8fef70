import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality.persons import Evidence, Verdict, Withheld, judge_name
from tests.helpers.name_figures import FIRM_AMONG_PEOPLE, labelled, rows
from tests.helpers.paths import REAL
from tests.helpers.rule_table import count, share, table


def judged(name: str, country: str | None = None) -> Verdict:
    return judge_name(name, country=country, scheme=None, identifier=None)


def served(name: str, country: str | None = None) -> bool:
    return isinstance(judged(name, country), Evidence)


@pytest.mark.parametrize(
    ("name", "country", "evidence"),
    [
        ("Mzansi Fictional Roads (Pty) Ltd", "ZA", "legal_form:pty ltd"),
        ("mzansi fictional roads pty ltd", "ZA", "legal_form:pty ltd"),
        ("Tshiamo Fictional Trading 25 cc", "ZA", "legal_form:cc"),
        ("Fictional Cement Plc", "NG", "legal_form:plc"),
        ("Fictícia & Filhos, Ldª.", "PT", "legal_form:lda"),
        ("Ficción Autopartes S.A.S.", "CO", "legal_form:sas"),
        ("FICCION S.A. DE C.V.", "MX", "legal_form:sa de cv"),
        ("SARL Fictive Travaux", "SN", "legal_form:sarl"),
        ("Delta Fictional S.A.E.", "EG", "legal_form:sae"),
        ("Fictional and Sons Ltd", "KE", "legal_form:ltd"),
        ("Fictional Road Works and Acme Ltd", "KE", "legal_form:ltd"),
        ("Theewater Municipality", "ZA", "public_body:municipality"),
        ("Kwazulu Natal - Public Works (Head Office)", "ZA", "public_body:works"),
        ("ESKOM", "ZA", "public_body:list"),
        ("VALLE DEL CAUCA - TULUA - CONTRALORIA", "CO", "public_body:contraloria"),
        ("Maternidade Dr. Fulano de Tal", "PT", "public_body:maternidade"),
        ("Company (Pty) Ltd t/a Name", "ZA", "legal_form:pty ltd"),
        ("Fictional Roads (Pty) Ltd T/A Mzansi Projects", "ZA", "legal_form:pty ltd"),
        ("Fictional Plastics, LLC dba Nowhere Plastics", "US", "legal_form:llc"),
        ("Fictional Generator Cc", "ZA", "legal_form:cc"),
        ("Fictional Generator CC", "NA", "legal_form:cc"),
        ('ТОВ "Вигадане освіти та консалтингу"', "UA", "legal_form:тов"),
        ("Приватне підприємство Вигадка", "UA", "legal_form:приватне підприємство"),
        ("Відділ освіти Вигаданої міської ради", "UA", "public_body:відділ"),
        ("PRIMĂRIA ORAŞULUI FICTIV", "MD", "public_body:primaria"),
        ("Î.S. CENTRUL FICTIV", "MD", "legal_form:is"),
        ("I.M.S.P. SPITALUL CLINIC „ION FICTIV”", "MD", "legal_form:imsp"),
        ("Nowhere Borough Council", "GB", "public_body:borough council"),
    ],
)
def test_an_organisation_is_served_with_its_evidence_named(
    name: str, country: str, evidence: str
) -> None:
    assert str(judged(name, country)) == evidence


@pytest.mark.parametrize(
    ("name", "country", "rule"),
    [
        ("Mr John Fictional", "ZA", "personal_title"),
        ("Dr. Fictional Trading Ltd", "KE", "personal_title"),
        ("Sra. Ana Ficticia", "CO", "personal_title"),
        ("John Fictional t/a Roads Ltd", "ZA", "sole_trader"),
        ("John Fictional trading as Roads (Pty) Ltd", "ZA", "sole_trader"),
        ("John Smith t/a Smith Builders", "ZA", "sole_trader"),
        ("Acme (Pty) Ltd t/a Xolani Fictional", "ZA", "sole_trader"),
        ("John Fictional and Acme Ltd t/a Roads", "ZA", "sole_trader"),
        ("Acme (Pty) Ltd t/a Thandi", "ZA", "sole_trader"),
        ("ФОП Вигаданий Іван", "UA", "sole_trader"),
        ("Фізична особа-підприємець Вигадана", "UA", "sole_trader"),
        ("Вигаданий Михайло Васильович", "UA", "patronymic"),
        ("Відділ освіти Вигаданий Іван Іванович", "UA", "patronymic"),
        ("ТОВ Вигадана Олена Петрівна", "UA", "patronymic"),
        ("Верховна Рада Галина Іванівна", "UA", "patronymic"),
        ("ПП Вигаданий", "UA", "no_evidence"),
        ("IP Ivanov Ivan", "MD", "no_evidence"),
        ("I.P. Ivanov Ivan", "MD", "no_evidence"),
        ("IP Elena Popescu", "MD", "no_evidence"),
        ("Î.I. Fictiv Ion", "MD", "sole_trader"),
        ("Fictiv I.M.", "MD", "no_evidence"),
        ("Juan Ficticio E.I.R.L.", "PE", "sole_trader"),
        ("Juan Ficticio (persona natural)", "CO", "sole_trader"),
        ("Estácio de Sá", "GW", "no_evidence"),
        ("MARIA EDUARDA DE SA", "AO", "no_evidence"),
        ("Mamadou SA", "SN", "no_evidence"),
        ("Mokoena CC", "ZA", "no_evidence"),
        ("van Wyk AG", "ZA", "no_evidence"),
        ("Dlamini S.A.", "ZA", "no_evidence"),
        ("Iyad Ag Fictional", "ML", "no_evidence"),
        ("Benjamin Co", "KE", "no_evidence"),
        ("Fictional Roads Ltd and John Fictional", "ZA", "no_evidence"),
        ("Fictional Roads Ltd / John Fictional", "ZA", "several_names"),
        ("John Fictional and Acme Ltd", "ZA", "several_names"),
        ("Juan Ficticio Gomez y Acme Ltda", "CO", "several_names"),
        ("Juan Ficticio, Alcalde, Municipio de Nada", "CO", "office_holder"),
        ("Ana Ficticia Gomez - Ministerio de Nada", "CO", "several_names"),
        ("Fictional General Suppliers", "KE", "no_evidence"),
        ("", None, "no_name"),
        ("---", None, "no_name"),
    ],
)
def test_a_name_without_evidence_is_withheld_by_a_named_rule(
    name: str, country: str | None, rule: str
) -> None:
    assert judged(name, country) == Withheld(rule)


@pytest.mark.parametrize(
    ("scheme", "identifier", "is_served"),
    [
        ("ZA-CIP", "2001/123456/07", True),
        ("NG-CAC", "RC1726083", True),
        ("NG-CAC", "BN1726083", False),
        ("NG-CAC", "", False),
        ("KE-RCO", "PVT-ABC123", True),
        ("GB-COH", "04366849", True),
        ("PT-NIPPC", "506804240", True),
        ("PT-NIPPC", "152744800", False),
        ("UA-EDR", "00032106", True),
        ("UA-EDR", "00032107", False),
        ("UA-EDR", "2306007380", False),
        ("KE-KRA", "P051234567X", False),
        ("XI-LEI", "21380068P1DRHMJ8KU70", False),
        (None, "2001/123456/07", False),
    ],
)
def test_only_a_register_of_organisations_is_evidence(
    scheme: str | None, identifier: str, is_served: bool
) -> None:
    verdict = judge_name("Fictional", country="ZA", scheme=scheme, identifier=identifier)

    assert isinstance(verdict, Evidence) == is_served


@pytest.mark.parametrize(
    ("name", "is_served"),
    [
        ("Верховна Рада України", True),
        ("Комунальний заклад Основна школа", True),
        ("ТОВ Головна Компанія", True),
        ("Вигадана Олена Петрівна", False),
        ("Олена Петрівна", False),
        ("Верховна Рада, Вигаданий Петро Іванович", False),
        ("О. Іванівна", False),
    ],
)
def test_an_adjective_is_no_patronymic(name: str, is_served: bool) -> None:
    verdict = judge_name(name, country="UA", scheme="UA-EDR", identifier="00032106")

    assert isinstance(verdict, Evidence) == is_served


@given(st.text(), st.sampled_from([None, "ZA", "CO", "zz"]), st.text(max_size=5))
def test_any_name_gets_a_verdict(name: str, country: str | None, scheme: str) -> None:
    verdict = judge_name(name, country=country, scheme=scheme, identifier=scheme)

    assert verdict.rule


def lei_records() -> list[tuple[str, str, str]]:
    body = (REAL / "gleif" / "goldencopy_lei2_20240505_first320.json").read_text("utf-8")
    entities = [row["Entity"] for row in json.loads(body)["records"]]
    return [
        (row["LegalName"]["$"], row["LegalAddress"]["Country"]["$"], row["EntityCategory"]["$"])
        for row in entities
        if "EntityCategory" in row
    ]


def people() -> list[tuple[str, str | None]]:
    listed = [(name, None) for name, _ in labelled("person")]
    for country in ("ao", "cv", "gw"):
        people = rows(f"wikidata_persons_{country}.csv")
        listed += [(row["label"], country.upper()) for row in people]  # type: ignore[misc]
    suppliers = rows("mx_suppliers_labelled_half.csv")
    listed += [(row["name"], "MX") for row in suppliers if row["label"] == "PERSON"]  # type: ignore[misc]
    pairs = [row for row in rows("nomenklatura_name_bench_cases.csv") if row["schema"] == "Person"]
    listed += [(row[name], None) for row in pairs for name in ("name1", "name2")]
    return [(name, country) for name, country in listed if name != FIRM_AMONG_PEOPLE]


@pytest.mark.shared
@pytest.mark.parametrize("written", [str, str.upper, str.lower])
def test_of_the_people_none_is_served(written: type[str]) -> None:
    listed = people()

    assert len(listed) > 5000
    assert [name for name, country in listed if served(written(name), country)] == []


@pytest.mark.shared
def test_organisations_whose_name_carries_a_form_are_served(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mexico = [
        row["name"] for row in rows("mx_suppliers_labelled_half.csv") if row["label"] == "COMPANY"
    ]
    africa = [row["supplier"] for row in rows("za_suppliers_unlabelled_half.csv")]
    states = [name for name, form in labelled("company") if form]
    lists = {
        "MX": [name for name in mexico if re.search(r"\bDE ?C ?V\b|\bR ?L\b|\b[SA]C$", name)],
        "ZA": [
            name for name in africa if re.search(r"\b(ltd|limited|pty|cc|npc|inc)\b", name, re.I)
        ],
        "US": [name for name in states if not re.search(r"\bd ?b ?a\b|behalf", name)],
    }
    counted = {country: count(names, country) for country, names in lists.items()}

    with capsys.disabled():
        print(table("labelled lists, names with a form", counted))
    assert all(share(rules) > 0.9 for rules in counted.values())


@pytest.mark.shared
def test_of_lei_records_no_sole_proprietor_is_served_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = lei_records()
    sole = [(name, country) for name, country, kind in records if kind == "SOLE_PROPRIETOR"]
    others: dict[str, list[str]] = {}
    for name, country, kind in records:
        if kind != "SOLE_PROPRIETOR":
            others.setdefault(country, []).append(name)
    counted = {
        country: count(names, country) for country, names in others.items() if len(names) > 3
    }

    with capsys.disabled():
        print(table("LEI records by their name alone", counted))
    assert len(sole) > 20
    assert [name for name, country in sole if served(name, country)] == []


@pytest.mark.shared
def test_the_people_withheld_are_counted_by_rule(capsys: pytest.CaptureFixture[str]) -> None:
    counted = Counter(judged(name, country).rule for name, country in people())

    with capsys.disabled():
        print(table("labelled people", {"all": counted}))
    assert sum(counted.values()) == len(people())
