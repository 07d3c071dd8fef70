"""Other names of organisations and names inside releases: neither names a person."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings import submissions
from quality.persons import drop_personal_names, personal_name_rule
from quality.report import Failure, Report
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


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The audit of one record in which each row that names a person is another story."""
    folder = tmp_path_factory.mktemp("names")
    record = Record(str(folder / "record"))
    entity = dict.fromkeys(ENTITIES.row.model_fields) | sighting(source_ref="d#/entity")
    entity |= {"legal_name": FIRM, "entity_type": "company"}
    load(
        record,
        ENTITIES,
        *(
            entity | {"service_id": f"DC{n}", "other_names": json.dumps(["UFM", name])}
            for n, name in enumerate(PEOPLE)
        ),
    )
    numbered = party(name="Fictional", identifier_scheme="ZA-CIP", identifier_id="2001/123456/07")
    load(
        record,
        TENDER_PARTIES,
        *(
            party(ocid=member, release_id=release_id)
            for member in MEMBERS
            for release_id in ("r1", "r2")
        ),
        numbered | {"ocid": "numbered"},
    )
    unit = json.dumps({"tender": {"items": [{"unit": {"name": "Linear metre"}}]}})
    person, contact = "Mrs Thandiwe Fictional", f"jane@example.org {FIRM}"
    honest = [
        *((member, naming(member, FIRM)) for member in MEMBERS),
        ("numbered", naming("buyer", "Fictional")),
        ("unit", unit),
    ]
    naming_people = [
        *((member, "r2", naming(member, person)) for member in MEMBERS),
        # The number vouches for the party of the other release.
        ("numbered", "r2", naming("buyer", "Fictional")),
        ("contact", "r1", naming("buyer", contact)),
    ]
    load(
        record,
        TENDER_RELEASES,
        *(release("", release=text, ocid=ocid) for ocid, text in honest),
        *(
            release("", release=text, ocid=ocid, release_id=id_, source_ref=f"d#/{ocid}")
            for ocid, id_, text in naming_people
        ),
    )
    return audited(record, folder / "stage")


def failures(report: Report, words: str) -> Failure:
    (failure,) = [each for each in report.failures if words in str(each)]
    return failure


def test_an_other_name_of_a_person_stops_the_build(report: Report) -> None:
    failure = failures(report, "no other name of an organisation is a person's")
    assert failure.rows == len(PEOPLE)
    assert "d#/entity" in report.problems
    assert not [name for name in PEOPLE if name in report.problems]


def test_a_person_named_in_any_member_of_a_release_stops_the_build(report: Report) -> None:
    # A number vouches only for the party of its release, and a unit has no person's name.
    failure = failures(report, "every name in a release is established as an organisation's")
    assert failure.rows == len(MEMBERS) + 2
    # Of honest releases the reference is an address.
    assert all(example.startswith("d#/") for example in failure.examples)


def test_a_contact_in_a_name_inside_a_release_stops_the_build(report: Report) -> None:
    failure = failures(report, "no served release contains a contact")
    assert failure.rows == 1 and failure.examples[0].startswith("d#/contact")
