"""Members with a code list: served with a code or a declared word of the portal, or not at all."""

import csv
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.parsing.parsed import Parsed
from assets.tenders.code_lists import CODES, Words, folded
from tests.helpers.paths import REAL
from tests.helpers.tenders import PORTUGAL, read

PERSON = "Thandeka Fictional Dlamini"
FIRM = {"id": "N", "name": "Nowhere (Pty) Ltd"}
MONEY = {"amount": 5, "currency": "ZAR"}


def item(name: str) -> dict[str, Any]:
    return {"classification": {"id": "1", "scheme": name}, "unit": {"id": "2", "scheme": name}}


# Where each list is used in a release: how the reason names the member, and a release with it.
MEMBERS: dict[str, list[tuple[str, Any]]] = {
    "tender_status": [("tender/status", lambda code: {"tender": {"id": "1", "status": code}})],
    "award_status": [("awards/status", lambda code: {"awards": [{"id": "1", "status": code}]})],
    "contract_status": [
        ("contracts/status", lambda code: {"contracts": [{"id": "1", "status": code}]})
    ],
    "procurement_method": [
        ("tender/procurementMethod", lambda code: {"tender": {"procurementMethod": code}})
    ],
    "category": [
        (
            "tender/mainProcurementCategory",
            lambda code: {"tender": {"mainProcurementCategory": code}},
        )
    ],
    "tag": [
        ("tag", lambda code: {"tag": [code]}),
        ("tag", lambda code: {"tag": code}),
    ],
    "role": [("parties/roles", lambda code: {"parties": [{**FIRM, "roles": [code]}]})],
    "scheme": [
        ("items/classification/scheme", lambda code: {"tender": {"items": [item(code)]}}),
        ("items/unit/scheme", lambda code: {"awards": [{"items": [item(code)]}]}),
    ],
}
CLOSED = [(name, *member) for name, members in MEMBERS.items() for member in members]
IN_MONEY = [
    ("tender/value/currency", {"tender": {"value": {**MONEY, "currency": PERSON}}}),
    ("awards/value/currency", {"awards": [{"value": {**MONEY, "currency": PERSON}}]}),
    ("contracts/value/currency", {"contracts": [{"value": {**MONEY, "currency": PERSON}}]}),
]


def parsed(members: dict[str, Any], words: Words | None = None, times: int = 1) -> Parsed:
    releases = [
        {"ocid": f"ocds-a-{number}", "id": "1", "date": "2026-08-14T00:00:00Z", **members}
        for number in range(times)
    ]
    return read({"releases": releases}, portal=replace(PORTUGAL, words=words or Words()))


def reasons(result: Parsed) -> list[str]:
    return [row.reason for row in result.rejected.get("tender_releases", [])]


def test_every_list_is_used_and_may_be_extended() -> None:
    assert set(MEMBERS) == set(CODES) == set(Words.model_fields)


@pytest.mark.parametrize(
    ("member", "members"),
    [*((member, made(PERSON)) for _, member, made in CLOSED), *IN_MONEY],
)
def test_a_name_in_place_of_a_code_is_left_out_and_counted_but_not_repeated(
    member: str, members: dict[str, Any]
) -> None:
    result = parsed(members, times=3)

    assert len(result.rows["tender_releases"]) == 3
    assert PERSON not in str(result.rows) and PERSON not in str(result.rejected)
    expected = f"{member}: 3 values are no code of OCDS or of the portal; they are left out"
    assert expected in reasons(result)
    assert all(row.partial for row in result.rejected["tender_releases"])


@pytest.mark.slow
@given(st.sampled_from([each for each in CLOSED if each[0] != "scheme"]), st.text(max_size=60))
def test_whatever_is_written_is_a_code_of_the_list_or_counted(
    closed: tuple[str, str, Any], written: str
) -> None:
    name, member, made = closed

    left_out = reasons(parsed(made(written)))

    is_code = folded(written) in map(folded, CODES[name])
    expected = f"{member}: 1 value is no code of OCDS or of the portal; it is left out"
    assert left_out == ([] if is_code or not written.strip() else [expected])


@pytest.mark.parametrize(
    ("name", "member", "made"), [each for each in CLOSED if each[0] != "scheme"]
)
def test_every_code_is_served_in_its_own_spelling_however_it_is_written(
    name: str, member: str, made: Any
) -> None:
    for code in CODES[name]:
        for written in (
            code,
            code.upper(),
            f" {code.lower()} ",
            "_".join(code),
            f"{code[0]}-{code[1:]}",
        ):
            result = parsed(made(written))
            served = [row["role"] for row in result.rows.get("tender_parties", [])]
            served += [result.rows["tender_releases"][0]["tag"]]
            served += [result.rows["tender_releases"][0]["release"]]
            assert reasons(result) == [], (member, written)
            assert any(code in str(each) for each in served), (member, written)


@pytest.mark.parametrize(("name", "member", "made"), CLOSED)
def test_a_declared_word_of_the_portal_is_served_as_it_is_declared(
    name: str, member: str, made: Any
) -> None:
    words = Words(**{name: frozenset({"Licitaţie publică"})})

    for written in ("Licitaţie publică", " licitaţie  PUBLICĂ"):
        result = parsed(made(written), words)
        assert reasons(result) == [], member
        assert "Licitaţie publică" in str(result.rows)
    other = next(each for each in CODES if each != name)
    elsewhere = Words(**{other: frozenset({"Licitaţie publică"})})
    assert reasons(parsed(made("Licitaţie publică"), elsewhere))


def test_a_party_with_an_unknown_role_keeps_the_others_or_is_unspecified() -> None:
    parties = [
        {"id": "1", "name": "First (Pty) Ltd", "roles": [PERSON]},
        {"id": "2", "name": "Second (Pty) Ltd", "roles": [PERSON, "Proveedor"]},
        {"id": "3", "name": "Third (Pty) Ltd", "roles": [PERSON, {"code": "buyer"}]},
    ]

    result = parsed({"parties": parties, "awards": [{"suppliers": [{"id": "3"}]}]})

    roles = [(row["party_key"], row["role"]) for row in result.rows["tender_parties"]]
    assert sorted(roles) == [("1", "unspecified"), ("2", "supplier"), ("3", "supplier")]
    assert reasons(result) == [
        "parties/roles: 4 values are no code of OCDS or of the portal; they are left out"
    ]


@pytest.mark.parametrize("absent", ["", "  ", None, []])
def test_an_absent_code_is_not_counted(absent: Any) -> None:
    assert not [each for _, _, made in CLOSED for each in reasons(parsed(made(absent)))]


def test_a_scheme_is_any_single_word_that_is_no_contact() -> None:
    served = {}
    for scheme in ("CPV", "x-Catalogo:2", "someone@example.org", "x" * 41, "Two words"):
        (row,) = parsed({"tender": {"items": [item(scheme)]}}).rows["tender_releases"]
        served[scheme] = json.loads(row["release"])["tender"]["items"][0]["unit"].get("scheme")
    assert served == {
        **{"CPV": "CPV", "x-Catalogo:2": "x-Catalogo:2", "someone@example.org": None},
        **{"x" * 41: None, "Two words": None},
    }


def test_units_and_criteria_are_texts_without_contacts() -> None:
    tender = {
        "awardCriteria": "Price only; ask jane@example.org",
        "items": [{"unit": {"name": "Box of 10 (tel. 012 345 6789)"}}],
    }

    (row,) = parsed({"tender": tender}).rows["tender_releases"]

    text = row["release"]
    assert "Price only" in text and "Box of 10" in text
    assert "jane" not in text and "345" not in text


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("tenderStatus", "tender_status"),
        ("awardStatus", "award_status"),
        ("contractStatus", "contract_status"),
        ("method", "procurement_method"),
        ("procurementCategory", "category"),
        ("releaseTag", "tag"),
        ("partyRole", "role"),
    ],
)
def test_the_lists_are_those_of_the_standard(file: str, name: str) -> None:
    with (REAL / "ocds" / "schema" / "codelists" / f"{file}.csv").open(encoding="utf-8") as lines:
        official = {row["Code"] for row in csv.DictReader(lines)}
    assert official <= set(CODES[name])
    assert name == "role" or official == set(CODES[name])
