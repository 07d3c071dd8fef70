"""Cells that list several firms."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quality.persons import Evidence, judge_name, party_names


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("A Ltd; B Ltd", ("A Ltd", "B Ltd")),
        ("Nowhere (Pty) Ltd / Fictional Civils CC", ("Nowhere (Pty) Ltd", "Fictional Civils CC")),
        ("Nowhere Ltd and Fictional Ltd", ("Nowhere Ltd", "Fictional Ltd")),
        ("Nowhere Ltd, Other Ltd and Fictional Ltd", ("Nowhere Ltd", "Other Ltd", "Fictional Ltd")),
        (
            "Nowhere (Pty) Ltd & Fictional (Pty) Ltd JV",
            ("Nowhere (Pty) Ltd", "Fictional (Pty) Ltd"),
        ),
        ("Nowhere Ltd in joint venture with Fictional Ltd", ("Nowhere Ltd", "Fictional Ltd")),
        ("JV between Nowhere Ltd and Fictional Ltd", ("Nowhere Ltd", "Fictional Ltd")),
        (
            "1. Nowhere cc 2.Fictional Pty Ltd3.Other Pty Ltd",
            ("Nowhere cc", "Fictional Pty Ltd", "Other Pty Ltd"),
        ),
        ("Nowhere Ltd\nFictional", ("Nowhere Ltd", "Fictional")),
        ("Nowhere Ltd / John Fictional", ("Nowhere Ltd", "John Fictional")),
        ("Acme Ltd t/a Jane Fictional", ("Acme Ltd",)),
        ("Acme (Pty) Ltd t/a Thandi", ("Acme (Pty) Ltd",)),
        ("Acme (Pty) Ltd t/a Nofictiwe", ("Acme (Pty) Ltd",)),
    ],
)
def test_a_list_of_firms_is_split(cell: str, names: tuple[str, ...]) -> None:
    assert party_names(cell, "ZA") == names


def test_forms_with_commas_stay_whole_in_a_list() -> None:
    cell = "UNO FICTICIO, S.A. DE C.V. Y DOS FICTICIO, S.A. DE C.V."

    assert party_names(cell, "MX") == ("UNO FICTICIO, S.A. DE C.V.", "DOS FICTICIO, S.A. DE C.V.")


@pytest.mark.parametrize(
    "name",
    [
        "Smith and Jones Ltd",
        "Fictional, Nowhere and Other Ltd",
        "Fictional GmbH & Co. KG",
        "Fictional A/S",
        "Fictional Cleaning/Catering CC",
        "Fictional Ltd & Sons Ltd",
        "Fictional Ltd, Cape Town",
        "24/7 Fictional Security (Pty) Ltd",
        "Fictional (Pty) Ltd t/a Nowhere Projects",
        "Fictional Ltd c/o Jane Doe",
        "John Fictional and Acme Ltd",
        "",
    ],
)
def test_one_name_stays_one_name(name: str) -> None:
    assert party_names(name, "ZA") == (name,)


PEOPLE = st.sampled_from(["John Fictional", "Xolani Dube", "MARIA FICTICIA GOMEZ", "Mr T Moyo"])
FIRMS = st.sampled_from(["Nowhere (Pty) Ltd", "Fictional Works CC", "Other Holdings Plc"])
SEPARATORS = st.sampled_from(
    ["; ", " / ", ", ", " and ", " & ", "\n", " JV ", " t/a ", " | ", " + ", " (", " - "]
)


@example(["Xolani Dube", "Fictional Works CC"], " (")
@given(st.lists(st.one_of(PEOPLE, FIRMS), min_size=2, max_size=4), SEPARATORS)
def test_no_part_of_a_list_that_is_served_names_a_person(names: list[str], mark: str) -> None:
    people = ("John", "Xolani", "MARIA", "Moyo")

    for part in party_names(mark.join(names), "ZA"):
        verdict = judge_name(part, country="ZA", scheme=None, identifier=None)
        if isinstance(verdict, Evidence):
            assert not any(person in part for person in people), part
