"""metrics-v1 against values worked out by hand: every as_of rule, every reason, every digit."""

import json
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.helpers.facts import fact
from tests.helpers.metric_answers import Answers, Row, derived
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
    rows = [*margin(MARCH, "3", "10"), figure(MAY, "profit", "4")]

    before, day_before, revised = answers(rows, "net_margin", MARCH, MAY - DAY, MAY)

    assert before == day_before == ("revised_after_as_of", Y2018, None)
    assert revised == ("value", Y2018, Decimal("0.4"))


def test_a_year_completed_later_has_no_value_before_it_was_complete() -> None:
    rows = [figure(MARCH, "revenue", "10"), figure(MAY, "profit", "3")]

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
        figure(NEXT_MARCH + 9 * DAY, "profit", "5", 2019),
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
        figure(NEXT_MARCH + DAY, "revenue", "12", 2018),
    ]

    assert answers(rows, "revenue_growth", MARCH, NEXT_MARCH, NEXT_MARCH + DAY) == [
        ("input_not_reported", Y2018, None),
        ("revised_after_as_of", Y2019, None),
        ("value", Y2019, Decimal("0.25")),
    ]


def test_a_balance_waits_for_the_year_it_closes() -> None:
    rows = [
        balance(MARCH, "current_assets", "10"),
        balance(MARCH, "current_liabilities", "4"),
        figure(MAY, "eps_basic", "1.5", unit="ZAR/shares"),
    ]

    assert answers(rows, "current_ratio", MARCH, MAY) == [
        ("completed_after_as_of", Y2018, None),
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
    completed = [*mixed, figure(MAY, "profit", "0.5", **DOLLARS)]
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
    rows = [
        figure(MARCH, "revenue", "1234567890123456.78", source_ref='a "quoted" source'),
        figure(MAY, "profit", "0.1", license_class="cc-by"),
    ]

    (row,) = derived(rows)["metrics"].to_pylist()

    assert (row["license_class"], row["source_ref"]) == ("cc-by", "d0#/profit/2018")
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
