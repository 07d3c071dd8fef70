"""Members of a release that differ from those of an earlier reading of it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assets.derive.silent_revisions import changed_members

TEXTS = st.text(max_size=5)
NAMES = st.sampled_from(["id", "value", "amount", "title", "awards"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
RELEASES = st.dictionaries(NAMES, VALUES, max_size=4)


def changes(before: Any, after: Any) -> list[tuple[str, str | None, str | None]]:
    return list(changed_members(json.dumps(before), json.dumps(after)))


def test_a_member_is_named_by_its_path_and_keeps_its_digits() -> None:
    changed = changed_members(
        '{"tender":{"value":{"amount":100.10}}}', '{"tender":{"value":{"amount":100.1}}}'
    )

    assert list(changed) == [("tender.value.amount", "100.10", "100.1")]


def test_an_element_of_a_list_is_known_by_its_id_wherever_it_stands() -> None:
    first, second = {"id": "A1", "status": "active"}, {"id": "A2", "status": "pending"}

    changed = changes(
        {"awards": [first, second]}, {"awards": [{**second, "status": "active"}, first]}
    )

    assert changed == [("awards[A2].status", "pending", "active")]


def test_elements_without_ids_of_their_own_are_known_by_their_position() -> None:
    changed = changes({"tag": ["tender", "award"]}, {"tag": ["tender"]})

    assert changed == [("tag[1]", "award", None)]


def test_a_member_that_appears_or_vanishes_has_nothing_on_the_other_side() -> None:
    assert changes({}, {"title": "Roads"}) == [("title", None, "Roads")]
    assert changes({"title": "Roads"}, {}) == [("title", "Roads", None)]


@given(before=RELEASES, after=RELEASES)
def test_equal_releases_have_no_changes_and_a_way_back_is_the_way_there_reversed(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert changes(before, before) == []
    forth = {(path, old, new) for path, old, new in changes(before, after)}
    assert {(path, new, old) for path, old, new in changes(after, before)} == forth
