"""Other names of organisations and names inside releases: no person stands in either."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings import submissions
from quality.persons import drop_personal_names, personal_name_rule
from tests.helpers.audited import audited, load, party, release, sighting
from tests.helpers.filings import document, filer
from tests.helpers.gleif import cdf, read
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, TENDER_PARTIES, TENDER_RELEASES

FIRM = "Mzansi Fictional Roads (Pty) Ltd"
PEOPLE = (
    "Mr John Peter Smith",
    "John Peter Smith",
    "John Smith t/a Fictional Roads",
    "John Smith & Fictional Roads Ltd",
    "Fictional Roads Ltd / John Smith",
    "Fictional Roads 082 555 1234",
    "john@example.org Fictional Roads",
)
MEMBERS = ("buyer", "procuringEntity", "tenderers", "suppliers")


def naming(member: str, name: str) -> str:
    """Return the JSON of a release that names someone in one member."""
    someone: dict[str, Any] = {"name": name}
    bodies: dict[str, Any] = {
        "buyer": {"buyer": someone},
        "procuringEntity": {"tender": {"procuringEntity": someone}},
        "tenderers": {"tender": {"tenderers": [{"name": FIRM}, someone]}},
        "suppliers": {"awards": [{"suppliers": [{"name": FIRM}]}, {"suppliers": [someone]}]},
    }
    return json.dumps(bodies[member])


@pytest.mark.parametrize("name", PEOPLE)
def test_an_lei_record_keeps_no_other_name_of_a_person(name: str) -> None:
    others = {"OtherEntityName": [{"$": name}, {"$": "UFM"}]}

    parsed = read({"records": [cdf(OtherEntityNames=others)]})

    (row,) = parsed.rows["entities"]
    (rejected,) = parsed.rejected["entities"]
    assert row["other_names"] == '["UFM"]'
    assert "an other name is left out" in rejected.reason and name not in rejected.reason


@pytest.mark.parametrize("name", PEOPLE)
def test_a_filer_keeps_no_former_name_of_a_person(name: str) -> None:
    body = filer(formerNames=[{"name": name}], lei="")

    parsed = submissions.parse(document(body), body)

    (row,) = parsed.rows["entities"]
    (rejected,) = parsed.rejected["entities"]
    assert row["other_names"] is None
    assert rejected.source_ref.endswith("/formerNames") and name not in rejected.reason


def test_other_names_without_evidence_stay() -> None:
    names = ["UFM", "Fictional Roads", "Ubuntu", "Ficción Minera"]

    assert drop_personal_names(names, "ZA", None) == (names, [])


@given(st.text(st.characters(codec="utf-8")), st.sampled_from([None, "ZA", "co"]))
def test_every_other_name_is_kept_or_dropped_with_a_reason(name: str, country: str | None) -> None:
    accepted, reasons = drop_personal_names([name], country, "ZA-GP")

    assert len(accepted) + len(reasons) == 1
    assert bool(reasons) == bool(personal_name_rule(name, country or "ZA"))


@pytest.mark.parametrize("name", PEOPLE)
def test_an_other_name_of_a_person_stops_the_build(
    name: str, record: Record, tmp_path: Path
) -> None:
    columns = dict.fromkeys(ENTITIES.row.model_fields) | sighting(source_ref="d#/entity")
    entity = {"service_id": "DCA", "legal_name": FIRM, "entity_type": "company"}
    load(record, ENTITIES, columns | entity | {"other_names": json.dumps(["UFM", name])})

    report = audited(record, tmp_path / "stage")

    (failure,) = report.failures
    assert "no other name of an organisation is a person's" in str(failure)
    assert "d#/entity" in report.problems and name not in report.problems


@pytest.mark.parametrize("member", MEMBERS)
def test_a_person_named_inside_a_release_stops_the_build(
    member: str, record: Record, tmp_path: Path
) -> None:
    planted = naming(member, "Mrs Thandiwe Fictional")
    load(record, TENDER_PARTIES, party(), party(release_id="r2"))
    load(
        record,
        TENDER_RELEASES,
        release("", release=naming(member, FIRM)),
        release("", release=planted, release_id="r2", source_ref="d#/planted"),
    )

    (failure,) = audited(record, tmp_path / "stage").failures

    assert "every name in a release is established as an organisation's" in str(failure)
    assert failure.rows == 1 and failure.examples[0].startswith("d#/planted")


def test_a_number_vouches_only_for_the_party_of_that_release(
    record: Record, tmp_path: Path
) -> None:
    named = party(name="Fictional", identifier_scheme="ZA-CIP", identifier_id="2001/123456/07")
    load(record, TENDER_PARTIES, named)
    load(
        record,
        TENDER_RELEASES,
        release("", release=naming("buyer", "Fictional")),
        release("", release=naming("buyer", "Fictional"), release_id="r2", source_ref="d#/other"),
    )

    (failure,) = audited(record, tmp_path / "stage").failures

    assert failure.rows == 1 and failure.examples[0].startswith("d#/other")


def test_the_name_of_a_unit_is_no_persons_name(record: Record, tmp_path: Path) -> None:
    items = {"tender": {"items": [{"unit": {"name": "Linear metre"}}]}}
    load(record, TENDER_RELEASES, release("", release=json.dumps(items)))

    assert audited(record, tmp_path / "stage").ok


def test_a_contact_in_a_name_inside_a_release_stops_the_build(
    record: Record, tmp_path: Path
) -> None:
    named = naming("buyer", f"jane@example.org {FIRM}")
    load(record, TENDER_RELEASES, release("", release=named, source_ref="d#/left"))

    words = audited(record, tmp_path / "stage").problems

    assert "no served release contains a contact" in words
    assert "every name in a release" in words and "d#/left" in words
