"""A cursor leads back to its row, with the filters it came with, and only as it was issued."""

from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from warehouse.contract.pagination import (
    LONGEST_CURSOR,
    cursor_version,
    next_cursor,
    resume_position,
)
from warehouse.contract.problems import Problem
from warehouse.serve.build import Build, Mart

SECRET, VERSION = b"s" * 32, "20261114.3"
# Any text but the one character that separates them, which no key contains.
TEXTS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20), max_size=3
)
FILTERS = st.dictionaries(
    st.sampled_from(("country", "query", "as_of", "order")), st.text(max_size=5) | st.none()
)


def read(cursor: str, filters: dict[str, Any], secret: bytes = SECRET) -> Any:
    """Return the key that a cursor continues after."""
    build = cast(Build, object())
    parameters = {**filters, "cursor": cursor, "limit": 7}
    return resume_position(cast(Mart, None), secret, "tenders", parameters, None, build)[1]


@given(key=TEXTS, filters=FILTERS)
def test_a_cursor_leads_back_to_its_row(key: list[str], filters: dict[str, Any]) -> None:
    cursor = next_cursor(SECRET, "tenders", filters, tuple(key), VERSION)
    assert cursor is not None and len(cursor) <= LONGEST_CURSOR
    assert read(cursor, filters) == tuple(key)
    assert cursor_version(SECRET, cursor) == VERSION


@given(key=TEXTS, filters=FILTERS, data=st.data())
def test_a_cursor_that_was_altered_is_refused(
    key: list[str], filters: dict[str, Any], data: st.DataObject
) -> None:
    cursor = next_cursor(SECRET, "tenders", filters, tuple(key), VERSION) or ""
    place = data.draw(st.integers(0, len(cursor)))
    put = data.draw(st.text(st.sampled_from("0123456789abcdefABCDEF \t-_=é"), max_size=3))
    altered = cursor[:place] + put + cursor[place + data.draw(st.integers(0, 3)) :]
    assume(altered != cursor)
    for wrong, secret in ((altered, SECRET), (cursor.upper(), SECRET), (cursor, b"other")):
        assume(wrong != cursor or secret != SECRET)
        with pytest.raises(Problem, match="not issued by this service"):
            read(wrong, filters, secret)


@given(filters=FILTERS, others=FILTERS)
def test_a_cursor_is_of_no_use_with_other_filters(
    filters: dict[str, Any], others: dict[str, Any]
) -> None:
    cursor = next_cursor(SECRET, "tenders", filters, ("ZA", "1"), VERSION) or ""
    sent = {name: value for name, value in filters.items() if value is not None}
    assume(sent != {name: value for name, value in others.items() if value is not None})
    with pytest.raises(Problem, match="other filters"):
        read(cursor, others)
