"""What a value was then and is now is said in words that are true to both vintages."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.site.then_and_now import (
    by_figure,
    revised_since,
    revision_table,
    revision_words,
    vintages_by_day,
)

DAYS = [f"2020-01-{day:02}" for day in range(1, 29)]


def vintage(value: object, day: str | None, number: int = 1, **others: Any) -> dict[str, Any]:
    row = {"value": value, "period_end": "2019-12-31", "available_at": day, "vintage": number}
    return row | others


@pytest.mark.parametrize(
    ("before", "after", "others", "words"),
    [
        ("762.4", "732.0", {"form": "20-F"}, "Cut by 4.0 % on 2020-04-06, 20-F"),
        ("557.8", "568.7", {"form": "20-F"}, "Raised by 2.0 % on 2020-04-06, 20-F"),
        ("3", "4", {}, "Raised by 33.3 % on 2020-04-06"),
        # From a loss, or to one, no share says what happened.
        ("-7", "5", {}, "Restated on 2020-04-06"),
        ("7", "-5", {}, "Restated on 2020-04-06"),
        ("0", "5", {}, "Restated on 2020-04-06"),
        ("5", None, {}, "Withdrawn on 2020-04-06"),
        (None, "5", {}, "Stated on 2020-04-06"),
        ("10", "5", {"restatement_kind": "split"}, "Restated for a split of shares on 2020-04-06"),
    ],
)
def test_a_revision_is_said_in_words(
    before: str | None, after: str | None, others: dict[str, Any], words: str
) -> None:
    old = vintage(before and Decimal(before), "2019-03-29")
    new = vintage(after and Decimal(after), "2020-04-06", 2, **others)
    assert revision_words(old, new) == words


def test_what_was_revised_since_is_told_the_largest_change_first() -> None:
    then = [vintage(100, None, period_end=end) for end in ("2017", "2018", "2019", "2020")]
    now = [vintage(value, None, period_end=end) for value, end in ((90, "2017"), (50, "2018"))]
    revised = revised_since(then, by_figure([*now, vintage(100, None, period_end="2019")]))
    assert [(each.then["period_end"], each.now["value"]) for each in revised] == [
        ("2018", 50),
        ("2017", 90),
    ]


def test_a_table_of_revisions_has_each_vintage_on_its_day_and_nothing_that_never_changed() -> None:
    restated = [vintage(1, DAYS[0]), vintage(2, DAYS[4], 2)]
    table = revision_table([restated, [vintage(5, DAYS[2])]])
    assert table is not None and table.is_whole and table.days == (DAYS[0], DAYS[4])
    assert [cells for _, cells, _ in table.rows] == [tuple(restated)]
    assert revision_table([[vintage(5, DAYS[2])]]) is None


HISTORIES = st.lists(
    st.lists(st.sampled_from(DAYS), min_size=1, max_size=3, unique=True).map(sorted),
    min_size=1,
    max_size=4,
)


@given(histories=HISTORIES)
def test_steps_into_the_past_find_the_vintages_that_became_public_on_the_newest_days(
    histories: list[list[str]],
) -> None:
    figures = [
        [vintage(number, day, number, period_end=str(end)) for number, day in enumerate(days, 1)]
        for end, days in enumerate(histories)
    ]

    def known(as_of: date | None) -> list[dict[str, Any]]:
        until = str(as_of or "9999")
        known = [[row for row in rows if row["available_at"] <= until] for rows in figures]
        return [rows[-1] for rows in known if rows]

    found = {rows[0]["period_end"]: rows for rows in vintages_by_day(known)}
    # Three vintages of four figures need at most eight steps.
    assert list(found.values()) == figures
