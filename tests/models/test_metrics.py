"""metrics-v1 against values worked out by hand: every as_of rule, every reason, every digit."""

import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.helpers.facts import fact
from tests.helpers.metric_answers import Answers, Row, derived, derived_in_turn
from tests.models.metric_model import PLANS
from warehouse.methodology.metrics import FORMULA_BY_SLUG, FORMULAS
from warehouse.methodology.pages import metric_page

MARCH, MAY, NEXT_MARCH = date(2019, 3, 29), date(2019, 5, 2), date(2020, 3, 27)
Y2017, Y2018, Y2019 = date(2017, 12, 31), date(2018, 12, 31), date(2019, 12, 31)
DAY = timedelta(days=1)
DOLLARS: Row = {"unit": "USD", "currency_reported": "USD"}
SECOND_HALF: Row = {"period_start": date(2018, 7, 1), "period_type": "H2"}


def figure(day: date, item: str, value: str | None, year: int = 2018, **others: Any) -> Row:
    return fact(value, item=item, year=year, available_at=day, publication=f"p-{day}", **others)


def balance(day: date, item: str, value: str | None, year: int = 2018, **others: Any) -> Row:
    return figure(day, item, value, year, period_start=None, period_type="INSTANT", **others)


def margin(day: date, profit: str, revenue: str, year: int = 2018, **others: Any) -> list[Row]:
    return [
        figure(day, "profit", profit, year, **others),
        figure(day, "revenue", revenue, year, **others),
    ]


def answers(rows: list[Row], metric: str, *days: date) -> list[Any]:
    answers = Answers(derived(rows))
    return [answers.on(day, "DCTEST1", metric) for day in days]


def test_a_year_revised_later_has_no_value_before_its_revision() -> None:
    rows = [*margin(MARCH, "3", "10"), *margin(MAY, "4", "10")]

    before, day_before, revised = answers(rows, "net_margin", MARCH, MAY - DAY, MAY)

    assert before == day_before == ("revised_after_as_of", Y2018, None)
    assert revised == ("value", Y2018, Decimal("0.4"))


def test_a_year_completed_later_has_no_value_before_it_was_complete() -> None:
    rows = [figure(MARCH, "revenue", "10"), *margin(MAY, "3", "10")]

    assert answers(rows, "net_margin", MARCH - DAY, MARCH, MAY - DAY, MAY) == [
        None,
        ("completed_after_as_of", Y2018, None),
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.3")),
    ]


def test_an_input_withdrawn_by_a_restatement_is_not_reported_on_any_day() -> None:
    rows = [*margin(MARCH, "3", "10"), figure(MAY, "profit", None)]

    answered = answers(rows, "net_margin", MARCH, MAY)

    assert answered == [("input_not_reported", Y2018, None)] * 2


def test_an_older_year_never_replaces_the_latest() -> None:
    rows = [
        *margin(MARCH, "3", "10"),
        figure(NEXT_MARCH, "revenue", "20", 2019),
        *margin(NEXT_MARCH + 9 * DAY, "5", "20", 2019),
    ]

    assert answers(rows, "net_margin", NEXT_MARCH - DAY, NEXT_MARCH, NEXT_MARCH + 9 * DAY) == [
        ("value", Y2018, Decimal("0.3")),
        ("completed_after_as_of", Y2019, None),
        ("value", Y2019, Decimal("0.25")),
    ]


def test_a_year_published_after_a_later_one_is_never_the_answer() -> None:
    rows = [*margin(MARCH, "3", "10"), *margin(MAY, "1", "10", 2017)]

    assert answers(rows, "net_margin", MARCH, MAY) == [("value", Y2018, Decimal("0.3"))] * 2
    of_2017 = [row for row in derived(rows)["metrics"].to_pylist() if row["period_end"] == Y2017]
    assert of_2017 and all(row["answers_from"] == row["answers_until"] for row in of_2017)


def test_a_comparative_that_repeats_a_value_changes_nothing() -> None:
    rows = [*margin(MARCH, "3", "10"), figure(NEXT_MARCH, "profit", "3")]

    assert answers(rows, "net_margin", MARCH, NEXT_MARCH) == [("value", Y2018, Decimal("0.3"))] * 2


def test_a_value_that_is_restored_counts_from_that_day() -> None:
    rows = [
        *margin(MARCH, "3", "10"),
        figure(MAY, "profit", "4"),
        figure(NEXT_MARCH, "profit", "3"),
    ]

    assert [answer[0] for answer in answers(rows, "net_margin", MARCH, MAY, NEXT_MARCH)] == [
        "revised_after_as_of",
        "revised_after_as_of",
        "value",
    ]


def test_a_revision_of_the_prior_year_delays_the_value_but_not_its_publication() -> None:
    rows = [
        figure(MARCH, "revenue", "10", 2018),
        figure(NEXT_MARCH, "revenue", "15", 2019),
        figure(NEXT_MARCH + DAY, "revenue", "15", 2019),
        figure(NEXT_MARCH + DAY, "revenue", "12", 2018),
    ]

    assert answers(rows, "revenue_growth", MARCH, NEXT_MARCH, NEXT_MARCH + DAY) == [
        ("input_not_reported", Y2018, None),
        ("revised_after_as_of", Y2019, None),
        ("value", Y2019, Decimal("0.25")),
    ]


def test_a_balance_alone_makes_no_year() -> None:
    rows = [
        balance(MARCH, "current_assets", "10"),
        balance(MARCH, "current_liabilities", "4"),
        figure(MAY, "eps_basic", "1.5", unit="ZAR/shares"),
    ]

    assert answers(rows, "current_ratio", MARCH, MAY) == [
        ("input_not_reported", Y2018, None),
        ("value", Y2018, Decimal("2.5")),
    ]
    assert answers(rows[:2], "current_ratio", MARCH) == [("input_not_reported", Y2018, None)]


def test_a_withdrawn_year_counts_again_from_the_day_it_is_published_again() -> None:
    rows = [
        balance(MARCH, "current_assets", "10"),
        balance(MARCH, "current_liabilities", "4"),
        figure(MARCH, "revenue", "7"),
        figure(MAY, "revenue", None),
    ]

    assert answers(rows, "current_ratio", MARCH, MAY) == [("input_not_reported", Y2018, None)] * 2
    published_again = [*rows, figure(NEXT_MARCH, "profit", "1")]
    assert answers(published_again, "current_ratio", MARCH, NEXT_MARCH - DAY, NEXT_MARCH) == [
        ("revised_after_as_of", Y2018, None),
        ("revised_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("2.5")),
    ]


def test_a_denominator_that_is_not_positive_gives_no_value() -> None:
    for revenue in ("0", "-10"):
        answered = answers(margin(MARCH, "3", revenue), "net_margin", MARCH)
        assert answered == [("denominator_not_positive", Y2018, None)]


def test_inputs_in_several_currencies_are_never_mixed() -> None:
    mixed = [figure(MARCH, "profit", "3"), figure(MARCH, "revenue", "1", **DOLLARS)]

    assert answers(mixed, "net_margin", MARCH) == [("mixed_currency", Y2018, None)]
    completed = [*mixed, *margin(MAY, "0.5", "1", **DOLLARS)]
    assert answers(completed, "net_margin", MARCH, MAY) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.5")),
    ]


def test_growth_over_a_change_of_currency_is_mixed() -> None:
    rows = [figure(MARCH, "revenue", "10"), figure(NEXT_MARCH, "revenue", "2", 2019, **DOLLARS)]

    assert answers(rows, "revenue_growth", NEXT_MARCH) == [("mixed_currency", Y2019, None)]
    restated = [*rows, figure(NEXT_MARCH, "revenue", "1", 2018, **DOLLARS)]
    assert answers(restated, "revenue_growth", NEXT_MARCH) == [("value", Y2019, Decimal(1))]


def test_the_main_currency_is_preferred_to_a_convenience_translation() -> None:
    rows = [
        *margin(MARCH, "3", "10"),
        *margin(MARCH, "0.33", "1", **DOLLARS),
        *margin(MARCH, "2", "10", 2017),
    ]

    assert answers(rows, "net_margin", MARCH) == [("value", Y2018, Decimal("0.3"))]


def test_a_consolidated_statement_is_preferred() -> None:
    rows = [*margin(MARCH, "1", "10", basis="company/ifrs"), *margin(MAY, "3", "10")]

    assert answers(rows, "net_margin", MARCH, MAY) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.3")),
    ]


def test_a_year_stated_with_another_first_day_is_one_year() -> None:
    other_start: Row = {"period_start": date(2018, 1, 2)}
    rows = [*margin(MARCH, "3", "10"), *margin(MAY, "4", "10", **other_start)]

    assert answers(rows, "net_margin", MARCH, MAY) == [("value", Y2018, Decimal("0.3"))] * 2
    corrected = [*rows, figure(MAY, "profit", None), figure(MAY, "revenue", None)]
    assert answers(corrected, "net_margin", MARCH, MAY) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.4")),
    ]


def test_inputs_of_two_publications_are_no_metric() -> None:
    rows = [figure(MARCH, "revenue", "10"), figure(MAY, "profit", "3")]

    answered = answers(rows, "net_margin", MARCH, MAY)

    assert answered == [("inputs_not_comparable", Y2018, None)] * 2


def test_a_figure_revised_without_the_others_is_compared_with_none_of_them() -> None:
    rows = [*margin(MARCH, "3", "10"), figure(MAY, "profit", "4")]
    assert answers(rows, "net_margin", MARCH, MAY) == [("inputs_not_comparable", Y2018, None)] * 2

    compared = [*rows, *margin(NEXT_MARCH, "4", "10")]

    assert answers(compared, "net_margin", MARCH, NEXT_MARCH - DAY, NEXT_MARCH) == [
        ("revised_after_as_of", Y2018, None),
        ("revised_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.4")),
    ]


def test_a_figure_that_contradicts_its_own_filing_is_no_input() -> None:
    wrong: Row = {"conflicts_with": "profit_attributable"}
    rows = [figure(MARCH, "revenue", "10"), figure(MARCH, "profit", "900", **wrong)]
    assert answers(rows, "net_margin", MARCH) == [("inputs_not_comparable", Y2018, None)]

    corrected = [*rows, *margin(NEXT_MARCH, "-9", "10")]

    assert answers(corrected, "net_margin", MARCH, NEXT_MARCH) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("-0.9")),
    ]


def test_the_source_of_an_input_is_the_first_publication_with_all_current_values() -> None:
    rows = [
        *margin(MARCH, "3", "10", source_ref="the old values"),
        *margin(MAY, "4", "10", source_ref="the new values"),
        *margin(NEXT_MARCH, "4", "10", source_ref="a repetition"),
    ]

    (row,) = derived(rows)["metrics"].to_pylist()

    assert (row["answers_from"], row["source_ref"]) == (MAY, "the new values")
    revenue = json.loads(row["inputs"])[1]
    # the fact is the one that stands since March, the source states it together with the profit
    assert (revenue["vintage"], revenue["available_at"]) == (1, str(MARCH))
    assert revenue["source_ref"] == "the new values"


def test_a_publication_that_was_edited_states_only_what_it_says_now() -> None:
    read_again: Row = {"observed_at": datetime(2026, 3, 1, tzinfo=UTC), "document": "d1"}
    first = margin(MARCH, "3", "10", source_ref="before the edit")
    edited = fact("4", item="profit", available_at=MARCH, publication=f"p-{MARCH}", **read_again)
    read_later: Row = {"observed_at": datetime(2026, 6, 1, tzinfo=UTC), "document": "d2"}
    restored = figure(date(2026, 5, 1), "profit", "3", **read_later)

    with_edit = Answers(derived_in_turn([first, [edited]]))
    without_a_common_source = Answers(derived_in_turn([first, [edited], [restored]]))

    assert with_edit.on(date(2026, 3, 1), "DCTEST1", "net_margin") == (
        "value",
        Y2018,
        Decimal("0.4"),
    )
    assert without_a_common_source.on(date(2026, 5, 1), "DCTEST1", "net_margin") == (
        "inputs_not_comparable",
        Y2018,
        None,
    )


GROWTH = [("revenue", "10", 2018, MARCH), ("revenue", "15", 2019, NEXT_MARCH)]


def grown(last_year: Row, this_year: Row, *more: Row) -> list[Any]:
    rows = [
        figure(day, item, value, year, **others)
        for (item, value, year, day), others in zip(GROWTH, (last_year, this_year), strict=True)
    ]
    return answers([*rows, *more], "revenue_growth", NEXT_MARCH)


def test_growth_takes_two_publications_if_element_and_measuring_unit_are_equal() -> None:
    grew = [("value", Y2019, Decimal("0.5"))]
    not_comparable = [("inputs_not_comparable", Y2019, None)]
    revenue, sales = {"element": "ifrs-full:Revenue"}, {"element": "us-gaap:SalesRevenueNet"}
    of_2018, of_2019 = {"measuring_unit_date": Y2018}, {"measuring_unit_date": Y2019}

    assert grown({}, {}) == grown(revenue, revenue) == grown(of_2018, of_2018) == grew
    assert grown(revenue, sales) == grown({}, revenue) == not_comparable
    assert grown(of_2018, of_2019) == grown({}, of_2019) == not_comparable
    # the comparative column has both years in one measure, whatever was said before
    compared = figure(NEXT_MARCH, "revenue", "10", 2018, **of_2019)
    assert grown(of_2018, of_2019, compared) == grew


def test_growth_over_a_restated_year_needs_the_comparative_column() -> None:
    restated = figure(MAY, "revenue", "12", 2018)
    assert grown({}, {}, restated) == [("inputs_not_comparable", Y2019, None)]

    compared = figure(NEXT_MARCH, "revenue", "12", 2018)

    assert grown({}, {}, restated, compared) == [("value", Y2019, Decimal("0.25"))]


def test_the_year_is_the_latest_of_which_anything_was_published() -> None:
    rows = [*margin(MARCH, "3", "10"), figure(NEXT_MARCH, "eps_basic", "1.5", 2019)]

    assert answers(rows, "net_margin", NEXT_MARCH - DAY, NEXT_MARCH) == [
        ("value", Y2018, Decimal("0.3")),
        ("input_not_reported", Y2019, None),
    ]


STATED = ("profit", "revenue", "eps_basic")
TO_MARCH: Row = {"period_start": date(2018, 4, 1), "period_end": date(2019, 3, 31)}


def test_twelve_months_of_a_single_figure_are_not_the_latest_year() -> None:
    year = [figure(MARCH, item, "10") for item in STATED]
    stray = figure(MAY, "revenue", "11", **TO_MARCH)
    assert answers([*year, stray], "net_margin", MAY) == [("value", Y2018, Decimal(1))]

    # after a change of the financial year, the twelve months are stated in full
    full = [figure(NEXT_MARCH, item, "12", **TO_MARCH) for item in STATED]

    assert answers([*year, stray, *full[:1]], "net_margin", MAY, NEXT_MARCH) == [
        ("value", Y2018, Decimal(1)),
        ("inputs_not_comparable", date(2019, 3, 31), None),
    ]
    assert answers([*year, *full], "net_margin", NEXT_MARCH)[0][1:] == (
        date(2019, 3, 31),
        Decimal(1),
    )


def test_growth_after_a_short_period_has_no_value() -> None:
    rows = [figure(MARCH, "revenue", "5", **SECOND_HALF), figure(NEXT_MARCH, "revenue", "12", 2019)]

    assert answers(rows, "revenue_growth", MARCH, NEXT_MARCH) == [
        ("short_period", Y2018, None),
        ("short_period", Y2019, None),
    ]


@pytest.mark.parametrize(("length", "full"), [(349, 0), (350, 1), (380, 1), (381, 0)])
def test_a_full_year_has_350_to_380_days(length: int, full: int) -> None:
    span: Row = {"period_start": Y2018 - (length - 1) * DAY}

    assert len(derived(margin(MARCH, "3", "10", **span))["metrics"]) == full


def test_a_figure_without_a_day_of_publication_is_not_published() -> None:
    rows = [*margin(MARCH, "3", "10"), fact("7", item="gross_profit", available_at=None)]

    assert answers(rows, "gross_margin", MARCH) == [("input_not_reported", Y2018, None)]


def test_a_value_has_its_inputs_and_the_strictest_licence() -> None:
    sources = {"revenue": 'a "quoted" source', "profit": "the comparative column"}
    rows = [
        figure(MARCH, "revenue", "1234567890123456.78"),
        figure(MAY, "revenue", "1234567890123456.78", source_ref=sources["revenue"]),
        figure(MAY, "profit", "0.1", license_class="cc-by", source_ref=sources["profit"]),
    ]

    (row,) = derived(rows)["metrics"].to_pylist()

    assert (row["license_class"], row["source_ref"]) == ("cc-by", sources["profit"])
    assert (row["published_at"], row["available_at"]) == (MARCH, MAY)
    profit, revenue = json.loads(row["inputs"], parse_float=str)
    assert (profit["value"], revenue["value"]) == ("0.1", "1234567890123456.78")
    assert revenue == {
        "fact_id": revenue["fact_id"],
        "line_item": "revenue",
        "value": "1234567890123456.78",
        "period_end": "2018-12-31",
        "vintage": 1,
        "available_at": "2019-03-29",
        "source_ref": 'a "quoted" source',
    }
    assert row["value"] == "0.00000000000000008100000073"


@pytest.mark.parametrize(
    ("profit", "revenue", "value"),
    [
        ("99999999999999999999", "0.000000000000000001", "1" + "0" * 38),
        ("0.000000000000000001", "99999999999999999999", "0." + "0" * 37 + "1"),
        ("1.0000000005", "1", "1"),
        ("1.0000000015", "1", "1.000000002"),
        ("-2", "3", "-0.6666666667"),
        ("0", "3", "0"),
    ],
)
def test_values_are_rounded_half_even_to_ten_digits_at_any_size(
    profit: str, revenue: str, value: str
) -> None:
    (row,) = derived(margin(MARCH, profit, revenue))["metrics"].to_pylist()

    assert row["value"] == value


def test_every_covered_issuer_has_one_state_per_metric_and_day() -> None:
    rows = [
        *margin(MARCH, "3", "10", issuer="DCA"),
        *margin(MARCH, "3", "0", issuer="DCB"),
        figure(MAY, "revenue", "5", issuer="DCC", **SECOND_HALF),
        balance(MAY, "cash", "5", issuer="DCD"),
        figure(MAY, "cfo", "5", issuer="DCE"),
    ]
    answers = Answers(derived(rows))

    def states_on(day: date) -> list[str | None]:
        answered = [
            answers.on(day, issuer, "net_margin") for issuer in ("DCA", "DCB", "DCC", "DCD", "DCE")
        ]
        return [None if answer is None else answer[0] for answer in answered]

    assert states_on(MARCH) == ["value", "denominator_not_positive", None, None, None]
    assert states_on(MAY)[2:] == ["short_period", "input_not_reported", "input_not_reported"]


def test_without_figures_there_are_no_rows() -> None:
    assert {name: len(rows) for name, rows in derived([]).items()} == {
        "metrics": 0,
        "metrics_absent": 0,
    }


def test_every_formula_has_a_page_with_an_example() -> None:
    assert set(FORMULA_BY_SLUG) == set(PLANS) and len(FORMULAS) == len(FORMULA_BY_SLUG)
    for formula in FORMULAS:
        page = metric_page(formula.slug)
        assert page is not None
        for part in (formula.expression, formula.condition, "10 significant digits", "## Example"):
            assert part in page
        assert all(f"`{needed.line_item}`" in page for needed in formula.inputs)
    assert "`0.1064`" in str(metric_page("net_margin"))
    assert metric_page("no_such_metric") is None


def test_the_formulas_import_no_engine() -> None:
    engines = ("pandas", "duckdb", "pyarrow", "numpy")
    script = (
        "import sys, warehouse.methodology.pages; "
        f"print([m for m in {engines!r} if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
