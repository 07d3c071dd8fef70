"""The real lists of names and the real portals: no person is served, few firms are withheld."""

from pathlib import Path

import pytest

from tests.helpers.name_figures import name_lists, served_parts, tables

pytestmark = pytest.mark.shared


def test_nobody_of_the_lists_of_people_is_served() -> None:
    people = [each for each in name_lists() if each.kind == "people"]

    assert sum(len(each.names) for each in people) > 7000
    for each in people:
        assert [name for name in each.names if served_parts(name, each.country)] == []


def test_at_most_one_in_twenty_organisations_with_a_form_is_withheld() -> None:
    firms = [each for each in name_lists() if each.kind == "with form"]

    assert sum(len(each.names) for each in firms) > 2000
    for each in firms:
        withheld = [name for name in each.names if not served_parts(name, each.country)]
        assert len(withheld) <= 0.05 * len(each.names), (each.title, withheld)


def test_the_figures_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tables(tmp_path)

    with capsys.disabled():
        print("\n" + text)
    assert "za-etenders" in text
