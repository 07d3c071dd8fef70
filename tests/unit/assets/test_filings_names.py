"""The name of an issuer: from its list of submissions, else from its company facts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings import companyfacts, submissions
from assets.filings.issuers import folded_name, service_id_of
from assets.parsing.parsed import Parsed
from tests.helpers.filings import ACCN_2, document, fact, filer, reasons

ASSETS = {"ifrs-full": {"Assets": {"units": {"USD": [fact(start="-")]}}}}


def company(name: object = "Fictional Mining Ltd", facts: Any = ASSETS) -> Parsed:
    body = json.dumps({"cik": 1172724, "entityName": name, "facts": facts}).encode()
    return companyfacts.parse(document(body), body)


def names(parsed: Parsed) -> list[str]:
    return [row["legal_name"] for row in parsed.rows.get("entities", [])]


def test_company_facts_name_an_issuer_as_of_its_latest_filing() -> None:
    later = fact(start="-", accn=ACCN_2, filed="2020-04-06")
    parsed = company(facts={"ifrs-full": {"Assets": {"units": {"USD": [later, fact(start="-")]}}}})
    (row,), (identifier,) = parsed.rows["entities"], parsed.rows["identifiers"]
    assert row["legal_name"] == "Fictional Mining Ltd" and row["publication"] == ACCN_2
    assert (identifier["id_type"], identifier["id_value"]) == ("cik", "0001172724")
    assert row["service_id"] == identifier["service_id"] == service_id_of(1172724)


@pytest.mark.parametrize("form", ["10-Q", "6-K", "4", "S-1", "", None, 7])
def test_without_statements_in_an_annual_report_nobody_is_named(form: object) -> None:
    parsed = company(
        facts={"ifrs-full": {"Assets": {"units": {"USD": [fact(start="-", form=form)]}}}}
    )
    assert names(parsed) == [] and "identifiers" not in parsed.rows


def test_a_cover_alone_names_nobody() -> None:
    shares = {"shares": [fact(start="-")]}
    parsed = company(facts={"dei": {"EntityCommonStockSharesOutstanding": {"units": shares}}})
    assert names(parsed) == []


def test_white_space_of_any_kind_is_folded_in_both_sources() -> None:
    spaced = " Spirit\u00a0Fictional \u2009Holdings,\tInc. "
    assert names(company(spaced)) == ["Spirit Fictional Holdings, Inc."]
    body = filer(name=spaced, formerNames=[{"name": "Spirit\u00a0Ltd"}, {"name": "\u00a0"}])
    (row,) = submissions.parse(document(body), body).rows["entities"]
    assert row["legal_name"] == "Spirit Fictional Holdings, Inc."
    assert json.loads(row["other_names"]) == json.loads(row["former_names"]) == ["Spirit Ltd"]


@pytest.mark.parametrize("name", ["", " \u00a0", 7, ["x"], "Bad\u0000Name"])
def test_a_name_that_is_none_is_rejected_and_the_figures_stay(name: object) -> None:
    parsed = company(name)
    assert names(parsed) == [] and len(parsed.rows["fundamentals"]) == 1
    assert "entityName" in reasons(parsed)[0]


def test_company_facts_without_a_name_are_read() -> None:
    parsed = company(None)
    assert names(parsed) == [] and reasons(parsed) == []


@pytest.mark.parametrize("name", ["DOE JOHN A", "Mary Jane Watson"])
def test_a_filer_whose_name_speaks_for_a_person_is_refused_whatever_was_filed(name: str) -> None:
    body = filer(name=name)
    parsed = submissions.parse(document(body), body)
    assert parsed.rows == {} and reasons(parsed) == ["the name is withheld: personal name"]


@pytest.mark.parametrize("name", ["ROSE ROCK MIDSTREAM, L.P.", "Eli Lilly & Co", "MR COOPER GROUP"])
def test_a_company_named_like_a_person_is_an_issuer(name: str) -> None:
    body = filer(name=name)
    assert names(submissions.parse(document(body), body)) == [name]


@given(st.text())
def test_a_folded_name_has_single_spaces_and_folds_no_further(text: str) -> None:
    try:
        name = folded_name(text)
    except ValueError:
        return
    assert name == folded_name(name) == " ".join(name.split())
