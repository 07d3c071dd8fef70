"""Signals against values worked out by hand: every panel on a few releases, through a record."""

import json
from collections.abc import Generator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.helpers.facts import fact
from tests.helpers.signals_world import FIRST, SEEN, Row, TenderRows, TenderWorld, award, panels
from tests.helpers.stories import Stories
from warehouse.methodology.pages import panel_page
from warehouse.methodology.signals import PANEL_BY_KEY, PANELS
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    IDENTIFIERS,
    TENDER_PARTIES,
    TENDER_RELEASES,
)
from warehouse.shared.data_files import HOME_CURRENCY

MARCH, CLOSED = date(2024, 3, 1), date(2024, 4, 5)


Story = Generator[TenderRows, list[Row], None]
# Each in a country of its own.
stories = Stories(panels)


def new_world() -> TenderRows:
    world = TenderRows()
    world.release("ocds-first", FIRST, tender=False)
    return world


def answer(
    rows: list[Row],
    panel: str,
    measure: str,
    as_of: date = SEEN,
    *,
    month: date = MARCH,
    value: str = "all",
    currency: str | None = None,
) -> tuple[Decimal | None, int, int, int] | None:
    """Return value, n_eligible, n_observed and n_withheld as known on a day."""
    matches = [
        row
        for row in rows
        if (row["signal_key"], row["measure"], row["month"]) == (panel, measure, month)
        and (row["dimension_value"], row["currency"]) == (value, currency)
        and row["available_at"] <= as_of
        and (row["superseded_at"] is None or as_of < row["superseded_at"])
    ]
    assert len(matches) <= 1
    if not matches:
        return None
    (row,) = matches
    return row["value"], row["n_eligible"], row["n_observed"], row["n_withheld"]


def number(text: str) -> Decimal:
    return Decimal(text)


@stories.test
def test_demand_is_measured_by_category_and_buyer() -> Story:
    world = new_world()
    world.release(
        "o1",
        date(2024, 3, 4),
        category="works",
        buyer_key="B1",
        tender_value=Decimal("300.10"),
        tender_currency="ZAR",
    )
    world.release(
        "o2",
        date(2024, 3, 9),
        category="goods",
        buyer_key="B1",
        tender_value=Decimal("99.90"),
        tender_currency="ZAR",
    )
    world.release(
        "o3",
        date(2024, 3, 31),
        category="goods",
        buyer_key="withheld:1",
        tender_value=Decimal("7"),
        tender_currency="USD",
    )
    world.release("o4", date(2024, 3, 31))

    rows = yield world

    demand = "procurement-demand"
    assert answer(rows, demand, "category_share_count", value="goods") == (
        number("0.6666666667"),
        4,
        3,
        0,
    )
    assert answer(rows, demand, "category_share_value", value="goods", currency="ZAR") == (
        number("0.24975"),
        4,
        2,
        0,
    )
    assert answer(rows, demand, "category_share_value", value="goods", currency="USD") == (
        number("1"),
        4,
        1,
        0,
    )
    assert answer(rows, demand, "buyer_hhi") == (number("0.5555555556"), 4, 3, 1)
    assert answer(rows, demand, "buyer_hhi", value="goods") == (number("0.5"), 2, 2, 1)


@stories.test
def test_momentum_compares_three_months_with_those_of_the_year_before() -> Story:
    world = new_world()
    for index, day in enumerate(
        [date(2024, 1, 2), date(2024, 2, 2), date(2024, 3, 2), date(2023, 1, 2), date(2023, 3, 2)]
    ):
        world.release(f"o{index}", day, category="works" if index != 4 else None)

    rows = yield world

    momentum = ("procurement-demand", "momentum_3m_yoy")
    assert answer(rows, *momentum) == (number("0.5"), 5, 5, 0)
    assert answer(rows, *momentum, value="works") == (number("2"), 5, 4, 0)
    assert answer(rows, *momentum, month=date(2023, 3, 1)) == (None, 2, 0, 0)
    assert answer(rows, *momentum, month=date(2024, 6, 1)) is None


@stories.test
def test_concentration_is_measured_over_the_awards_of_twelve_months() -> Story:
    world = new_world()
    for index, (day, amount, suppliers) in enumerate(
        [
            (date(2023, 4, 1), "50", ("S1",)),
            (date(2023, 3, 31), "1000", ("S9",)),
            (date(2024, 3, 5), "20.5", ("withheld:1",)),
            (date(2024, 3, 6), "9.5", ("S2",)),
            (date(2024, 3, 7), "20", ("S3",)),
            (date(2024, 3, 8), "500", ("S1", "S2")),
        ]
    ):
        world.release(f"o{index}", day, awards=[award("a", day, amount, suppliers)], buyer_key="B1")
    world.release("o8", date(2024, 3, 9), awards=[award("a", date(2024, 3, 9), by=("S2",))])

    rows = yield world

    panel = "award-concentration"
    assert answer(rows, panel, "supplier_hhi", currency="ZAR") == (number("0.34105"), 6, 4, 1)
    assert answer(rows, panel, "top1_share", currency="ZAR") == (number("0.5"), 6, 4, 1)
    assert answer(rows, panel, "top3_share", currency="ZAR") == (number("0.905"), 6, 4, 1)


@stories.test
def test_a_withheld_buyer_has_no_row_and_is_counted() -> Story:
    world = new_world()
    day = date(2024, 3, 5)
    world.release("o1", day, buyer_key="B1", awards=[award("a", day, "30", ("S1",))])
    world.release("o2", day, buyer_key="B1", awards=[award("a", day, "10", ("S2",))])
    world.release("o3", day, buyer_key="withheld:1", awards=[award("a", day, "10", ("S2",))])

    rows = yield world

    panel = "buyer-supplier-concentration"
    assert answer(rows, panel, "supplier_hhi", value="test/B1", currency="ZAR") == (
        number("0.625"),
        2,
        2,
        0,
    )
    assert answer(rows, panel, "named_buyer_share") == (number("0.6666666667"), 3, 3, 1)
    assert not [
        row for row in rows if "withheld" in json.dumps(row, default=str).replace("n_withheld", "")
    ]


@stories.test
def test_the_single_bid_rate_counts_only_processes_that_state_tenderers() -> Story:
    world = new_world()
    world.release("o1", date(2024, 3, 4), number_of_tenderers=1, category="works")
    world.release("o2", date(2024, 3, 4), number_of_tenderers=4, category="goods")
    world.release("o3", date(2024, 3, 4), bidders=("S1", "withheld:1"))
    world.release("o4", date(2024, 3, 4), number_of_tenderers=0)

    rows = yield world

    assert answer(rows, "single-bid-rate", "single_bid_rate") == (number("0.3333333333"), 4, 3, 0)
    assert answer(rows, "single-bid-rate", "single_bid_rate", value="works") == (
        number("1"),
        1,
        1,
        0,
    )
    panel = "bidder-participation"
    assert answer(rows, panel, "mean_tenderers") == (number("2.333333333"), 4, 3, 0)
    assert answer(rows, panel, "median_tenderers") == (number("2"), 4, 3, 0)
    assert answer(rows, panel, "p10_tenderers") == (number("1"), 4, 3, 0)
    assert answer(rows, panel, "p90_tenderers") == (number("4"), 4, 3, 0)


@stories.test
def test_the_bid_of_several_firms_is_one_bid() -> Story:
    world = new_world()
    world.release("o1", date(2024, 3, 4), bidders=("a", "b"), joint_bids=1)
    world.release("o2", date(2024, 3, 5), bidders=("a", "b"))

    rows = yield world

    assert answer(rows, "single-bid-rate", "single_bid_rate") == (number("0.5"), 2, 2, 0)


@stories.test
def test_the_submission_window_is_measured_from_start_to_end() -> Story:
    world = new_world()
    for index, days in enumerate((10, 15, 21, 30)):
        end = date(2024, 3, 1 + days)
        world.release(f"o{index}", date(2024, 3, 1), tender_start=MARCH, tender_end=end)
    world.release("o9", date(2024, 3, 1), tender_start=MARCH, tender_end=date(2024, 2, 1))

    rows = yield world

    assert answer(rows, "submission-window", "median_days") == (number("18"), 5, 4, 0)
    assert answer(rows, "submission-window", "share_under_15_days") == (number("0.25"), 5, 4, 0)


@stories.test
def test_an_award_before_the_end_of_submission_is_counted_separately() -> Story:
    world = new_world()
    for index, (end, day) in enumerate(
        [
            (date(2024, 2, 1), date(2024, 3, 2)),
            (date(2024, 3, 1), date(2024, 3, 12)),
            (date(2024, 3, 20), date(2024, 3, 12)),
            (None, date(2024, 3, 12)),
        ]
    ):
        world.release(f"o{index}", date(2024, 3, 12), tender_end=end, awards=[award("a", day)])

    rows = yield world

    panel = "time-to-award"
    assert answer(rows, panel, "median_days") == (number("20.5"), 4, 2, 0)
    assert answer(rows, panel, "p90_days") == (number("30"), 4, 2, 0)
    assert answer(rows, panel, "share_before_closing") == (number("0.3333333333"), 4, 3, 0)


@stories.test
def test_the_cancellation_rate_counts_only_final_states() -> Story:
    world = new_world()
    statuses = ("complete", "complete", "cancelled", "unsuccessful", "withdrawn", "active", None)
    for index, status in enumerate(statuses):
        world.release(f"o{index}", date(2024, 3, 4), tender_status=status)

    rows = yield world

    assert answer(rows, "cancellation-rate", "cancellation_rate") == (number("0.6"), 7, 5, 0)


@stories.test
def test_every_procurement_method_has_a_share() -> Story:
    world = new_world()
    for index, method in enumerate(("open", "open", "direct", "negotiated", None)):
        world.release(f"o{index}", date(2024, 3, 4), procurement_method=method)

    rows = yield world

    shares = {
        method: answer(rows, "procurement-method-mix", "method_share", value=method)
        for method in ("open", "selective", "limited", "direct")
    }
    assert shares == {
        "open": (number("0.5"), 5, 4, 0),
        "selective": (number("0"), 5, 4, 0),
        "limited": (number("0"), 5, 4, 0),
        "direct": (number("0.25"), 5, 4, 0),
    }


@stories.test
def test_awards_are_compared_with_estimates_in_the_same_currency() -> Story:
    world = new_world()
    day = date(2024, 3, 4)
    for index, amounts in enumerate((("50", "40"), ("110",), ("200.5",), ("1",))):
        awards = [award(str(n), day, amount) for n, amount in enumerate(amounts)]
        world.release(
            f"o{index}",
            day,
            awards=awards,
            tender_value=Decimal(100),
            tender_currency="ZAR" if index < 3 else "USD",
        )

    rows = yield world

    panel = "award-to-estimate"
    assert answer(rows, panel, "ratio_median") == (number("1.1"), 4, 3, 0)
    assert answer(rows, panel, "ratio_p25") == (number("0.9"), 4, 3, 0)
    assert answer(rows, panel, "ratio_p75") == (number("2.005"), 4, 3, 0)
    assert answer(rows, panel, "share_above_1") == (number("0.6666666667"), 4, 3, 0)


@stories.test
def test_a_value_is_revised_if_two_releases_disagree() -> Story:
    world = new_world()
    for ocid, first, second in (("o1", 10, 11), ("o2", 10, 10), ("o3", 10, None)):
        world.release(ocid, date(2024, 3, 4), "1", tender_value=Decimal(first))
        second_value = None if second is None else Decimal(second)
        world.release(ocid, date(2024, 3, 9), "2", tender_value=second_value)

    rows = yield world

    assert answer(rows, "value-revision", "value_revision_rate") == (number("0.5"), 3, 2, 0)


@stories.test
def test_a_newcomer_had_no_award_in_the_two_years_before() -> Story:
    world = new_world()
    for index, (day, suppliers) in enumerate(
        [
            (date(2022, 3, 1), ("S1",)),
            (date(2022, 2, 28), ("S2",)),
            (date(2024, 3, 4), ("S1",)),
            (date(2024, 3, 5), ("S2",)),
            (date(2024, 3, 6), ("withheld:1",)),
            (date(2024, 3, 7), ()),
        ]
    ):
        world.release(f"o{index}", day, awards=[award("a", day, "10", suppliers)])

    rows = yield world

    panel = ("supplier-newcomer-rate", "newcomer_award_share")
    assert answer(rows, *panel) == (number("0.6666666667"), 4, 3, 1)
    assert answer(rows, *panel, month=date(2021, 1, 1)) is None


@stories.test
def test_awards_of_a_listed_issuer_are_compared_with_its_revenue() -> Story:
    world = new_world()
    common = {"available_at": date(2024, 1, 1), "publication": "1", "service_id": "DCA"}
    world.add(ENTITIES, **common, legal_name="S1 Ltd", jurisdiction="ZA")
    world.add(IDENTIFIERS, **common, id_type="ticker", id_value="XJSE:SA1", issuer="XJSE")
    for value, day, publication in (
        ("4000", date(2024, 3, 20), "a"),
        ("5000", date(2024, 6, 1), "b"),
    ):
        revenue = fact(value, issuer="DCA", year=2023, available_at=day, publication=publication)
        world.add(FUNDAMENTALS, **revenue)
    for index, (award_date, amount) in enumerate(
        [(date(2023, 1, 1), "100"), (date(2023, 12, 31), "200.5"), (date(2024, 1, 1), "9")]
    ):
        world.release(f"o{index}", award_date, awards=[award("a", award_date, amount, ("S1",))])

    rows = yield world

    def answer_on(as_of: date) -> Any:
        return answer(
            rows,
            "listed-award-intensity",
            "award_intensity",
            as_of,
            month=date(2023, 12, 1),
            value="DCA",
            currency="ZAR",
        )

    assert answer_on(date(2024, 4, 4)) is None
    assert answer_on(date(2024, 4, 5)) == (number("0.075125"), 2, 2, 0)
    assert answer_on(date(2024, 7, 5)) == (number("0.0601"), 2, 2, 0)
    assert {row["service_id"] for row in rows if row["dimension"] == "issuer"} == {"DCA"}


@stories.test
def test_an_award_that_arrives_late_appends_a_vintage() -> Story:
    world = new_world()
    first, late = date(2024, 3, 4), date(2024, 5, 6)
    world.release("o1", first, "1", awards=[award("a", first, "30", ("S1",))])
    world.release("o2", late, "1", awards=[award("a", first, "10", ("S2",))])

    derived = yield world

    rows = [
        row
        for row in derived
        if (row["measure"], row["month"], row["currency"]) == ("supplier_hhi", MARCH, "ZAR")
    ]

    assert [(row["vintage"], row["value"], row["n_eligible"]) for row in rows] == [
        (1, number("1"), 1),
        (2, number("0.625"), 2),
    ]
    assert [(row["available_at"], row["superseded_at"]) for row in rows] == [
        (CLOSED, date(2024, 6, 5)),
        (date(2024, 6, 5), None),
    ]
    assert {row["closed_at"] for row in rows} == {CLOSED}


@stories.test
def test_a_currency_that_appears_late_counts_the_processes_known_before() -> Story:
    world = new_world()
    first, late = date(2024, 3, 4), date(2024, 5, 6)
    world.release("o1", first, "1", awards=[award("a", first, "30", ("withheld:1",))])
    world.release("o2", late, "1", awards=[award("a", first, "10", ("S2",), "USD")])

    derived = yield world

    rows = [
        row
        for row in derived
        if row["measure"] == "supplier_hhi" and row["month"] == MARCH and row["currency"] == "USD"
    ]

    counts = ("n_eligible", "n_observed", "n_withheld")
    assert [tuple(row[name] for name in counts) for row in rows] == [(2, 1, 1)]


@stories.test
def test_a_release_on_the_closing_day_counts_and_one_the_day_after_does_not() -> Story:
    world = new_world()
    for index, day in enumerate((CLOSED, date(2024, 4, 6))):
        world.release(f"o{index}", day, tender_status="cancelled", released_on=date(2024, 3, 30))

    rows = yield world

    def answer_on(as_of: date) -> Any:
        return answer(rows, "cancellation-rate", "cancellation_rate", as_of)

    assert answer_on(date(2024, 4, 4)) is None
    assert answer_on(CLOSED) == answer_on(date(2024, 5, 4)) == (number("1"), 1, 1, 0)
    assert answer_on(date(2024, 5, 5)) == (number("1"), 2, 2, 0)


@stories.test
def test_a_month_without_an_observation_after_its_closing_has_no_row() -> Story:
    world = new_world()
    world.release("o1", date(2024, 8, 30))
    world.release("o2", date(2024, 9, 1))

    rows = yield world

    months = {row["month"] for row in rows}

    assert date(2024, 8, 1) in months
    assert date(2024, 9, 1) not in months


@stories.test
def test_every_month_from_the_first_in_scope_to_the_last_release_has_a_row() -> Story:
    world = new_world()
    world.release("o1", date(2024, 2, 2), category="works", number_of_tenderers=1)
    world.release("o2", date(2024, 5, 2), category="goods", number_of_tenderers=1)

    rows = yield world

    def months(panel: str, measure: str, value: str) -> list[int]:
        found = {
            row["month"].month
            for row in rows
            if (row["signal_key"], row["measure"]) == (panel, measure)
            and row["dimension_value"] == value
            and row["month"].year == 2024
        }
        return sorted(found)

    single = ("single-bid-rate", "single_bid_rate")
    assert months(*single, "all") == [2, 3, 4, 5]
    assert months(*single, "works") == [2, 3, 4]
    assert months(*single, "goods") == [5]
    assert months("procurement-method-mix", "method_share", "open") == [2, 3, 4, 5]
    assert answer(rows, *single, month=date(2024, 3, 1)) == (None, 0, 0, 0)
    share = ("procurement-demand", "category_share_count")
    assert answer(rows, *share, value="works", month=date(2024, 5, 1)) == (number("0"), 1, 1, 0)
    assert answer(rows, *share, value="works", month=date(2024, 4, 1)) == (None, 0, 0, 0)
    assert answer(rows, *share, value="works", month=date(2024, 6, 1)) is None


@stories.test
def test_an_empty_month_has_a_row_once_a_later_release_is_public() -> Story:
    world = new_world()
    world.release("o1", date(2024, 2, 2))
    # The first sign that the country published on after February: dated in May, public in June.
    world.release("o2", date(2024, 6, 20), released_on=date(2024, 5, 2), tender=False)

    rows = yield world

    def answer_on(as_of: date, month: date = MARCH) -> Any:
        return answer(rows, "cancellation-rate", "cancellation_rate", as_of, month=month)

    assert answer_on(date(2024, 7, 4)) is None
    assert answer_on(date(2024, 7, 5)) == answer_on(SEEN) == (None, 0, 0, 0)
    assert answer_on(SEEN, date(2024, 4, 1)) == (None, 0, 0, 0)
    assert answer_on(SEEN, date(2024, 5, 1)) is None
    (row,) = (row for row in rows if (row["signal_key"], row["month"]) == ("value-revision", MARCH))
    assert (row["closed_at"], row["available_at"]) == (CLOSED, date(2024, 7, 5))
    assert (row["vintage"], row["superseded_at"]) == (1, None)


@stories.test
def test_an_empty_month_is_superseded_by_a_process_that_arrives_late() -> Story:
    world = new_world()
    world.release("o1", date(2024, 2, 2))
    world.release("o2", date(2024, 5, 2))
    world.release("o3", date(2024, 7, 1), released_on=date(2024, 3, 9))

    derived = yield world

    rows = [
        row for row in derived if (row["signal_key"], row["month"]) == ("value-revision", MARCH)
    ]

    assert [(row["n_eligible"], row["available_at"], row["superseded_at"]) for row in rows] == [
        (0, date(2024, 5, 5), date(2024, 7, 5)),
        (1, date(2024, 7, 5), None),
    ]


@stories.test
def test_a_release_without_a_date_does_not_show_that_the_source_went_on() -> Story:
    world = new_world()
    world.release("o1", date(2024, 2, 2))
    world.release("o2", date(2024, 6, 20), tender=False, released_on=None)

    rows = yield world

    assert MARCH not in {row["month"] for row in rows if row["signal_key"] == "value-revision"}


@stories.test
def test_a_release_of_a_month_itself_does_not_show_that_the_source_went_on() -> Story:
    world = new_world()
    world.release("o1", date(2024, 2, 2))
    world.release("o2", date(2024, 6, 20), tender=False, released_on=date(2024, 3, 9))

    rows = yield world

    assert MARCH not in {row["month"] for row in rows if row["signal_key"] == "value-revision"}


@stories.test
def test_a_month_has_no_row_of_a_category_that_was_not_known_yet() -> Story:
    world = new_world()
    world.release("o1", date(2024, 2, 2), category="works")
    # Released in February, published in May.
    world.release("o2", date(2024, 5, 20), category="goods", released_on=date(2024, 2, 3))

    rows = yield world

    rows = [row for row in rows if row["dimension_value"] == "goods"]
    assert rows and min(row["available_at"] for row in rows) >= date(2024, 5, 20)


@stories.test
def test_a_withdrawn_release_leaves_a_row_without_a_value() -> Story:
    world = new_world()
    world.release("o1", date(2024, 3, 4), tender_status="complete")
    withdrawal = {"ocid": "o1", "release_id": "1", "publication": "2", "withdrawn": True}
    world.add(TENDER_RELEASES, available_at=date(2024, 6, 1), **withdrawal)

    rows = yield world

    def answer_on(as_of: date) -> Any:
        return answer(rows, "cancellation-rate", "cancellation_rate", as_of)

    assert answer_on(CLOSED) == (number("0"), 1, 1, 0)
    assert answer_on(SEEN) == (None, 0, 0, 0)


@stories.test
def test_the_newest_release_that_states_a_member_counts() -> Story:
    world = new_world()
    world.release("o1", date(2024, 3, 4), "1", tender_status="active", procurement_method="open")
    world.release("o1", date(2024, 3, 9), "2", tender_status="cancelled")
    world.release("o1", date(2024, 3, 6), "0", tender_status="complete")

    rows = yield world

    assert answer(rows, "cancellation-rate", "cancellation_rate") == (number("1"), 1, 1, 0)
    assert answer(rows, "procurement-method-mix", "method_share", value="open") == (
        number("1"),
        1,
        1,
        0,
    )


@stories.test
def test_every_digit_of_an_amount_counts() -> Story:
    world = new_world()
    day = date(2024, 3, 4)
    estimate: Row = {"tender_value": Decimal("9007199254740993.12"), "tender_currency": "ZAR"}
    for index, amount in enumerate(("9007199254740993.13", "9007199254740993.11")):
        world.release(f"o{index}", day, awards=[award("a", day, amount)], **estimate)

    rows = yield world

    assert answer(rows, "award-to-estimate", "share_above_1") == (number("0.5"), 2, 2, 0)


@stories.test
def test_without_observations_there_is_a_row_without_a_value() -> Story:
    world = new_world()
    world.release("o1", date(2024, 3, 4), category="works", awards=[award("a", MARCH)])

    rows = yield world

    rows = [row for row in rows if row["month"] == MARCH]
    home = HOME_CURRENCY[rows[0]["country"]]
    assert answer(rows, "award-concentration", "supplier_hhi", currency=home) == (None, 1, 0, 0)
    assert answer(
        rows, "procurement-demand", "category_share_value", value="works", currency=home
    ) == (None, 1, 0, 0)
    assert {row["coverage"] for row in rows if row["n_observed"] == 0} == {number("0")}


@stories.test
def test_a_withheld_supplier_of_one_among_several_awards_counts() -> Story:
    world = new_world()
    day = date(2024, 3, 4)
    awards = [award("a", day, "30", ("S1",)), award("b", day, "10", ("withheld:1",))]
    world.release("o1", day, awards=awards)

    rows = yield world

    assert answer(rows, "award-concentration", "supplier_hhi", currency="ZAR") == (
        number("0.625"),
        1,
        1,
        1,
    )


@stories.test
def test_the_most_restrictive_licence_and_the_portals_are_named() -> Story:
    world = new_world()
    world.release("o1", date(2024, 3, 4), license_class="cc0")
    world.release("o2", date(2024, 3, 5), license_class="open-attribution", source="other")

    rows = yield world

    provenance = {
        (row["license_class"], row["source_ref"])
        for row in rows
        if row["month"] == MARCH and row["vintage"] == 1
    }
    source_ref = "other, test (AF-TENDER releases known on 2024-04-05)"
    assert provenance == {("open-attribution", source_ref)}


@stories.test
def test_a_row_states_how_and_when_its_releases_were_read() -> Story:
    world = new_world()
    early, late = (datetime(2024, 9, day, 6, tzinfo=UTC) for day in (21, 22))
    for ocid, day, read in (("o1", date(2024, 3, 4), early), ("o2", date(2024, 5, 6), late)):
        method = "file" if read == late else "api"
        columns: Row = {"tender_status": "cancelled", "released_on": date(2024, 3, 4)}
        world.release(ocid, day, observed_at=read, method=method, **columns)

    derived = yield world

    first, second = (
        row for row in derived if (row["signal_key"], row["month"]) == ("cancellation-rate", MARCH)
    )

    assert (first["observed_at"], first["method"]) == (early, "api")
    assert (second["observed_at"], second["method"]) == (late, "file")
    assert first["extraction_confidence"] is second["extraction_confidence"] is None
    assert len({first["provenance_id"], second["provenance_id"]}) == 2


@stories.test
def test_a_party_without_evidence_in_one_release_is_withheld() -> Story:
    world = new_world()
    # Of no other story: portals share the keys of their parties.
    day = date(2024, 3, 5)
    for ocid in ("o1", "o2"):
        world.release(ocid, day, buyer_key="B8", awards=[award("a", day, "30", ("S1",))])
    world.release("o3", day, buyer_key="B9", awards=[award("a", day, "30", ("S1",))])
    party = next(
        row
        for row in world.rows[TENDER_PARTIES.name]
        if (row["ocid"], row["party_key"]) == ("o2", "B8")
    )
    party |= dict.fromkeys(("name", "identifier_scheme", "identifier_id", "org_evidence"))

    rows = yield world

    buyers = {row["dimension_value"] for row in rows if row["dimension"] == "buyer"}
    assert buyers == {"test/B9"}
    named_share = answer(rows, "buyer-supplier-concentration", "named_buyer_share")
    assert named_share == (number("0.3333333333"), 3, 3, 1)


def test_an_award_published_later_leaves_no_trace_in_an_earlier_month() -> None:
    """Not even an empty row, which would reveal that the award was published."""
    march, read = date(2023, 3, 10), date(2023, 4, 5)
    later, never = TenderRows(), TenderRows()
    for world in (later, never):
        first = date(2023, 1, 15)
        world.release("o1", first, awards=[award("a", first, "30", ("S1",))])
        if world is later:
            world.release("o2", date(2023, 5, 20), awards=[award("a", march, "30", ("S1",))])
        world.release("o3", date(2023, 6, 1), tender=False)

    shown, expected = (
        [
            row["month"]
            for row in rows
            if row["signal_key"] == "supplier-newcomer-rate" and row["available_at"] <= read
        ]
        for rows in panels([later, never])
    )

    assert shown == expected


def test_every_panel_has_a_page_that_names_its_measures() -> None:
    assert len(PANELS) == len(PANEL_BY_KEY) == 13
    for panel in PANELS:
        page = panel_page(panel.key)
        assert page is not None
        assert all(f"`{measure.key}`" in page for measure in panel.measures)
    assert panel_page("nothing") is None


def test_without_any_release_there_are_no_rows(record: Record, tmp_path: Path) -> None:
    assert TenderWorld(record, tmp_path / "stage").signals() == []
