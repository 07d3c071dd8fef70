"""metrics-v1 against values worked out by hand: every as_of rule, every reason, every digit."""

import json
import subprocess
import sys
from collections.abc import Generator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.helpers import filings
from tests.helpers.facts import fact
from tests.helpers.metric_answers import (
    Answers,
    IssuerAnswers,
    Row,
    derived,
    derived_in_turn,
    derived_together,
)
from tests.helpers.stories import Stories
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


Story = Generator[list[list[Row]], list[IssuerAnswers], None]
stories = Stories(derived_together)


@stories.test
def test_a_year_revised_later_has_no_value_before_its_revision() -> Story:
    rows = [*margin(MARCH, "3", "10"), *margin(MAY, "4", "10")]

    (issuer,) = yield [rows]
    before, day_before, revised = issuer.on("net_margin", MARCH, MAY - DAY, MAY)

    assert before == day_before == ("revised_after_as_of", Y2018, None)
    assert revised == ("value", Y2018, Decimal("0.4"))


@stories.test
def test_a_year_completed_later_has_no_value_before_it_was_complete() -> Story:
    rows = [figure(MARCH, "revenue", "10"), *margin(MAY, "3", "10")]

    (issuer,) = yield [rows]
    assert issuer.on("net_margin", MARCH - DAY, MARCH, MAY - DAY, MAY) == [
        None,
        ("completed_after_as_of", Y2018, None),
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.3")),
    ]


@stories.test
def test_an_input_withdrawn_by_a_restatement_is_not_reported_on_any_day() -> Story:
    rows = [*margin(MARCH, "3", "10"), figure(MAY, "profit", None)]

    (issuer,) = yield [rows]
    answered = issuer.on("net_margin", MARCH, MAY)

    assert answered == [("input_not_reported", Y2018, None)] * 2


@stories.test
def test_an_older_year_never_replaces_the_latest() -> Story:
    rows = [
        *margin(MARCH, "3", "10"),
        figure(NEXT_MARCH, "revenue", "20", 2019),
        *margin(NEXT_MARCH + 9 * DAY, "5", "20", 2019),
    ]

    (issuer,) = yield [rows]
    assert issuer.on("net_margin", NEXT_MARCH - DAY, NEXT_MARCH, NEXT_MARCH + 9 * DAY) == [
        ("value", Y2018, Decimal("0.3")),
        ("completed_after_as_of", Y2019, None),
        ("value", Y2019, Decimal("0.25")),
    ]


@stories.test
def test_a_year_published_after_a_later_one_is_never_the_answer() -> Story:
    rows = [*margin(MARCH, "3", "10"), *margin(MAY, "1", "10", 2017)]

    (issuer,) = yield [rows]
    assert issuer.on("net_margin", MARCH, MAY) == [("value", Y2018, Decimal("0.3"))] * 2
    of_2017 = [row for row in issuer.values if row["period_end"] == Y2017]
    assert of_2017 and all(row["answers_from"] == row["answers_until"] for row in of_2017)


@stories.test
def test_a_comparative_that_repeats_a_value_changes_nothing() -> Story:
    rows = [*margin(MARCH, "3", "10"), figure(NEXT_MARCH, "profit", "3")]

    (issuer,) = yield [rows]
    assert issuer.on("net_margin", MARCH, NEXT_MARCH) == [("value", Y2018, Decimal("0.3"))] * 2


@stories.test
def test_a_value_that_is_restored_counts_from_that_day() -> Story:
    rows = [
        *margin(MARCH, "3", "10"),
        figure(MAY, "profit", "4"),
        figure(NEXT_MARCH, "profit", "3"),
    ]

    (issuer,) = yield [rows]
    assert [answer[0] for answer in issuer.on("net_margin", MARCH, MAY, NEXT_MARCH)] == [
        "revised_after_as_of",
        "revised_after_as_of",
        "value",
    ]


@stories.test
def test_a_revision_of_the_prior_year_delays_the_value_but_not_its_publication() -> Story:
    rows = [
        figure(MARCH, "revenue", "10", 2018),
        figure(NEXT_MARCH, "revenue", "15", 2019),
        figure(NEXT_MARCH + DAY, "revenue", "15", 2019),
        figure(NEXT_MARCH + DAY, "revenue", "12", 2018),
    ]

    (issuer,) = yield [rows]
    assert issuer.on("revenue_growth", MARCH, NEXT_MARCH, NEXT_MARCH + DAY) == [
        ("input_not_reported", Y2018, None),
        ("revised_after_as_of", Y2019, None),
        ("value", Y2019, Decimal("0.25")),
    ]


@stories.test
def test_a_balance_alone_makes_no_year() -> Story:
    rows = [
        balance(MARCH, "current_assets", "10"),
        balance(MARCH, "current_liabilities", "4"),
        figure(MAY, "eps_basic", "1.5", unit="ZAR/shares"),
    ]

    issuer, alone = yield [rows, rows[:2]]
    assert issuer.on("current_ratio", MARCH, MAY) == [
        ("input_not_reported", Y2018, None),
        ("value", Y2018, Decimal("2.5")),
    ]
    assert alone.on("current_ratio", MARCH) == [("input_not_reported", Y2018, None)]


@stories.test
def test_a_withdrawn_year_counts_again_from_the_day_it_is_published_again() -> Story:
    rows = [
        balance(MARCH, "current_assets", "10"),
        balance(MARCH, "current_liabilities", "4"),
        figure(MARCH, "revenue", "7"),
        figure(MAY, "revenue", None),
    ]

    published_again = [*rows, figure(NEXT_MARCH, "profit", "1")]
    issuer, again = yield [rows, published_again]
    assert issuer.on("current_ratio", MARCH, MAY) == [("input_not_reported", Y2018, None)] * 2
    assert again.on("current_ratio", MARCH, NEXT_MARCH - DAY, NEXT_MARCH) == [
        ("revised_after_as_of", Y2018, None),
        ("revised_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("2.5")),
    ]


@stories.test
def test_a_denominator_that_is_not_positive_gives_no_value() -> Story:
    issuers = yield [margin(MARCH, "3", revenue) for revenue in ("0", "-10")]
    for issuer in issuers:
        assert issuer.on("net_margin", MARCH) == [("denominator_not_positive", Y2018, None)]


@stories.test
def test_inputs_in_several_currencies_are_never_mixed() -> Story:
    mixed = [figure(MARCH, "profit", "3"), figure(MARCH, "revenue", "1", **DOLLARS)]
    completed = [*mixed, *margin(MAY, "0.5", "1", **DOLLARS)]

    issuer, later = yield [mixed, completed]
    assert issuer.on("net_margin", MARCH) == [("mixed_currency", Y2018, None)]
    assert later.on("net_margin", MARCH, MAY) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.5")),
    ]


@stories.test
def test_growth_over_a_change_of_currency_is_mixed() -> Story:
    rows = [figure(MARCH, "revenue", "10"), figure(NEXT_MARCH, "revenue", "2", 2019, **DOLLARS)]
    restated = [*rows, figure(NEXT_MARCH, "revenue", "1", 2018, **DOLLARS)]

    issuer, later = yield [rows, restated]
    assert issuer.on("revenue_growth", NEXT_MARCH) == [("mixed_currency", Y2019, None)]
    assert later.on("revenue_growth", NEXT_MARCH) == [("value", Y2019, Decimal(1))]


@stories.test
def test_the_main_currency_is_preferred_to_a_convenience_translation() -> Story:
    rows = [
        *margin(MARCH, "3", "10"),
        *margin(MARCH, "0.33", "1", **DOLLARS),
        *margin(MARCH, "2", "10", 2017),
    ]

    (issuer,) = yield [rows]
    assert issuer.on("net_margin", MARCH) == [("value", Y2018, Decimal("0.3"))]


@stories.test
def test_a_consolidated_statement_is_preferred() -> Story:
    rows = [*margin(MARCH, "1", "10", basis="company/ifrs"), *margin(MAY, "3", "10")]

    (issuer,) = yield [rows]
    assert issuer.on("net_margin", MARCH, MAY) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.3")),
    ]


@stories.test
def test_a_year_stated_with_another_first_day_is_one_year() -> Story:
    other_start: Row = {"period_start": date(2018, 1, 2)}
    rows = [*margin(MARCH, "3", "10"), *margin(MAY, "4", "10", **other_start)]
    corrected = [*rows, figure(MAY, "profit", None), figure(MAY, "revenue", None)]

    issuer, later = yield [rows, corrected]
    assert issuer.on("net_margin", MARCH, MAY) == [("value", Y2018, Decimal("0.3"))] * 2
    assert later.on("net_margin", MARCH, MAY) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.4")),
    ]


@stories.test
def test_inputs_of_two_publications_are_no_metric() -> Story:
    rows = [figure(MARCH, "revenue", "10"), figure(MAY, "profit", "3")]

    (issuer,) = yield [rows]
    answered = issuer.on("net_margin", MARCH, MAY)

    assert answered == [("inputs_not_comparable", Y2018, None)] * 2


@stories.test
def test_a_figure_revised_without_the_others_is_compared_with_none_of_them() -> Story:
    rows = [*margin(MARCH, "3", "10"), figure(MAY, "profit", "4")]
    compared = [*rows, *margin(NEXT_MARCH, "4", "10")]

    issuer, later = yield [rows, compared]
    assert issuer.on("net_margin", MARCH, MAY) == [("inputs_not_comparable", Y2018, None)] * 2
    assert later.on("net_margin", MARCH, NEXT_MARCH - DAY, NEXT_MARCH) == [
        ("revised_after_as_of", Y2018, None),
        ("revised_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("0.4")),
    ]


@stories.test
def test_a_figure_that_contradicts_its_own_filing_is_no_input() -> Story:
    wrong: Row = {"conflicts_with": "profit_attributable"}
    rows = [figure(MARCH, "revenue", "10"), figure(MARCH, "profit", "900", **wrong)]
    corrected = [*rows, *margin(NEXT_MARCH, "-9", "10")]

    issuer, later = yield [rows, corrected]
    assert issuer.on("net_margin", MARCH) == [("inputs_not_comparable", Y2018, None)]
    assert later.on("net_margin", MARCH, NEXT_MARCH) == [
        ("completed_after_as_of", Y2018, None),
        ("value", Y2018, Decimal("-0.9")),
    ]


@stories.test
def test_the_source_of_an_input_is_the_first_publication_with_all_current_values() -> Story:
    rows = [
        *margin(MARCH, "3", "10", source_ref="the old values"),
        *margin(MAY, "4", "10", source_ref="the new values"),
        *margin(NEXT_MARCH, "4", "10", source_ref="a repetition"),
    ]

    (issuer,) = yield [rows]
    (row,) = issuer.values

    assert (row["answers_from"], row["source_ref"]) == (MAY, "the new values")
    revenue = json.loads(row["inputs"])[1]
    # the fact is the one current since March, the source states it together with the profit
    assert (revenue["vintage"], revenue["available_at"]) == (1, str(MARCH))
    assert revenue["source_ref"] == "the new values"


def test_a_publication_that_was_edited_states_only_what_it_says_now() -> None:
    read_again: Row = {"observed_at": datetime(2026, 3, 1, tzinfo=UTC), "document": "d1"}
    first = margin(MARCH, "3", "10", source_ref="before the edit")
    edited = fact("4", item="profit", available_at=MARCH, publication=f"p-{MARCH}", **read_again)
    read_later: Row = {"observed_at": datetime(2026, 6, 1, tzinfo=UTC), "document": "d2"}
    restored = figure(date(2026, 5, 1), "profit", "3", **read_later)

    of_another = [row | {"service_id": "DCTEST2"} for row in (*first, edited)]
    loads = [[*first, *of_another[:-1]], [edited, of_another[-1]], [restored]]
    answers = Answers(derived_in_turn(loads))

    with_edit = answers.on(date(2026, 3, 1), "DCTEST2", "net_margin")
    assert with_edit == ("value", Y2018, Decimal("0.4"))
    without_a_common_source = answers.on(date(2026, 5, 1), "DCTEST1", "net_margin")
    assert without_a_common_source == ("inputs_not_comparable", Y2018, None)


GROWTH = [("revenue", "10", 2018, MARCH), ("revenue", "15", 2019, NEXT_MARCH)]


def grown(last_year: Row, this_year: Row, *more: Row) -> list[Row]:
    rows = [
        figure(day, item, value, year, **others)
        for (item, value, year, day), others in zip(GROWTH, (last_year, this_year), strict=True)
    ]
    return [*rows, *more]


@stories.test
def test_growth_takes_two_publications_if_element_and_measuring_unit_are_equal() -> Story:
    revenue: Row = {"element": "ifrs-full:Revenue"}
    sales: Row = {"element": "us-gaap:SalesRevenueNet"}
    of_2018: Row = {"measuring_unit_date": Y2018}
    of_2019: Row = {"measuring_unit_date": Y2019}
    # the comparative column has both years in one measure, whatever was said before
    compared = figure(NEXT_MARCH, "revenue", "10", 2018, **of_2019)
    comparable: list[list[Row]] = [
        [{}, {}],
        [revenue, revenue],
        [of_2018, of_2018],
        [of_2018, of_2019, compared],
    ]
    not_comparable: list[list[Row]] = [
        [revenue, sales],
        [{}, revenue],
        [of_2018, of_2019],
        [{}, of_2019],
    ]
    issuers = yield [grown(*years) for years in (*comparable, *not_comparable)]
    for issuer in issuers[:4]:
        assert issuer.on("revenue_growth", NEXT_MARCH) == [("value", Y2019, Decimal("0.5"))]
    for issuer in issuers[4:]:
        answered = issuer.on("revenue_growth", NEXT_MARCH)
        assert answered == [("inputs_not_comparable", Y2019, None)]


@stories.test
def test_growth_over_a_restated_year_needs_the_comparative_column() -> Story:
    restated = figure(MAY, "revenue", "12", 2018)
    compared = figure(NEXT_MARCH, "revenue", "12", 2018)

    without, with_column = yield [grown({}, {}, restated), grown({}, {}, restated, compared)]
    assert without.on("revenue_growth", NEXT_MARCH) == [("inputs_not_comparable", Y2019, None)]
    assert with_column.on("revenue_growth", NEXT_MARCH) == [("value", Y2019, Decimal("0.25"))]


@stories.test
def test_the_year_is_the_latest_of_which_anything_was_published() -> Story:
    rows = [*margin(MARCH, "3", "10"), figure(NEXT_MARCH, "eps_basic", "1.5", 2019)]

    (issuer,) = yield [rows]
    assert issuer.on("net_margin", NEXT_MARCH - DAY, NEXT_MARCH) == [
        ("value", Y2018, Decimal("0.3")),
        ("input_not_reported", Y2019, None),
    ]


STATED = ("profit", "revenue", "eps_basic")
TO_MARCH: Row = {"period_start": date(2018, 4, 1), "period_end": date(2019, 3, 31)}


@stories.test
def test_twelve_months_of_a_single_figure_are_not_the_latest_year() -> Story:
    year = [figure(MARCH, item, "10") for item in STATED]
    stray = figure(MAY, "revenue", "11", **TO_MARCH)
    # after a change of the financial year, the twelve months are stated in full
    full = [figure(NEXT_MARCH, item, "12", **TO_MARCH) for item in STATED]

    single, two, all_stated = yield [[*year, stray], [*year, stray, *full[:1]], [*year, *full]]
    assert single.on("net_margin", MAY) == [("value", Y2018, Decimal(1))]
    assert two.on("net_margin", MAY, NEXT_MARCH) == [
        ("value", Y2018, Decimal(1)),
        ("inputs_not_comparable", date(2019, 3, 31), None),
    ]
    assert all_stated.on("net_margin", NEXT_MARCH)[0][1:] == (date(2019, 3, 31), Decimal(1))


@stories.test
def test_growth_after_a_short_period_has_no_value() -> Story:
    rows = [figure(MARCH, "revenue", "5", **SECOND_HALF), figure(NEXT_MARCH, "revenue", "12", 2019)]

    (issuer,) = yield [rows]
    assert issuer.on("revenue_growth", MARCH, NEXT_MARCH) == [
        ("short_period", Y2018, None),
        ("short_period", Y2019, None),
    ]


@stories.test
def test_a_full_year_has_350_to_380_days() -> Story:
    issuers = yield [
        margin(MARCH, "3", "10", period_start=Y2018 - (length - 1) * DAY)
        for length in (349, 350, 380, 381)
    ]
    assert [len(issuer.values) for issuer in issuers] == [0, 1, 1, 0]


@stories.test
def test_a_figure_without_a_day_of_publication_is_not_published() -> Story:
    rows = [*margin(MARCH, "3", "10"), fact("7", item="gross_profit", available_at=None)]

    (issuer,) = yield [rows]
    assert issuer.on("gross_margin", MARCH) == [("input_not_reported", Y2018, None)]


@stories.test
def test_a_value_has_its_inputs_and_the_strictest_licence() -> Story:
    sources = {"revenue": 'a "quoted" source', "profit": "the comparative column"}
    filing: Row = {"document_id": '2-"b"', "form": "20-F", "document_url": None}
    rows = [
        figure(MARCH, "revenue", "1234567890123456.78", document_id="1-a", form="6-K"),
        figure(MAY, "revenue", "1234567890123456.78", source_ref=sources["revenue"], **filing),
        figure(MAY, "profit", "0.1", license_class="cc-by", source_ref=sources["profit"]),
    ]

    (issuer,) = yield [rows]
    (row,) = issuer.values

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
        # The filing that states it together with the others, not the first that stated it.
        **filing,
        "source_ref": 'a "quoted" source',
    }
    assert row["value"] == "0.00000000000000008100000073"


@stories.test
def test_values_are_rounded_half_even_to_ten_digits_at_any_size() -> Story:
    quotients = [
        ("99999999999999999999", "0.000000000000000001", "1" + "0" * 38),
        ("0.000000000000000001", "99999999999999999999", "0." + "0" * 37 + "1"),
        ("1.0000000005", "1", "1"),
        ("1.0000000015", "1", "1.000000002"),
        ("-2", "3", "-0.6666666667"),
        ("0", "3", "0"),
    ]
    issuers = yield [margin(MARCH, profit, revenue) for profit, revenue, _ in quotients]
    for issuer, (_, _, value) in zip(issuers, quotients, strict=True):
        assert [row["value"] for row in issuer.values] == [value]


def filed(flows: dict[str, int], balances: dict[str, int], taxonomy: str = "us-gaap") -> list[Row]:
    """The figures of an annual report that states elements of its year and of its last day."""
    elements = {name: {"USD": [filings.fact(val=value)]} for name, value in flows.items()}
    for name, value in balances.items():
        elements[name] = {"USD": [filings.fact(val=value, start="-")]}
    return filings.rows(filings.read(elements, taxonomy))


BANK_METRICS = (
    "net_interest_margin",
    "cost_to_income",
    "loans_to_deposits",
    "impairments_to_loans",
    "equity_to_assets",
)
EARNED = {"ProfitLoss": 8, "Revenues": 100}
OWNED = {"Assets": 1000, "StockholdersEquity": 80}


@stories.test
def test_a_bank_has_metrics_of_its_own_and_no_other_issuer_has_them() -> Story:
    bank = filed(
        {
            **EARNED,
            "InterestIncomeExpenseNet": 30,
            "NoninterestIncome": 10,
            "NoninterestExpense": 24,
            "ProvisionForLoanAndLeaseLosses": 7,
        },
        {**OWNED, "LoansAndLeasesReceivableNetReportedAmount": 700, "Deposits": 875},
    )
    insurer = filed({**EARNED, "PremiumsEarnedNet": 90}, {**OWNED, "LongTermDebt": 20})
    lender = filed(
        {**EARNED, "InterestIncomeExpenseNet": 30},
        {**OWNED, "LoansAndLeasesReceivableNetReportedAmount": 700, "DebtCurrent": 500},
    )
    # A firm that owns a small bank besides.
    firm = filed(
        {**EARNED, "InterestIncomeExpenseNet": 3, "NoninterestIncome": 1, "NoninterestExpense": 2}
        | {"ProvisionForLoanAndLeaseLosses": 1},
        {**OWNED, "LoansAndLeasesReceivableNetReportedAmount": 6, "Deposits": 100},
    )

    of_bank, of_insurer, of_lender, of_firm = yield [bank, insurer, lender, firm]
    (answers,) = zip(*(of_bank.on(metric, NEXT_MARCH) for metric in BANK_METRICS), strict=True)
    expected = map(Decimal, ("0.03", "0.6", "0.8", "0.01", "0.08"))
    assert list(answers) == [("value", Y2018, value) for value in expected]
    for metric in BANK_METRICS:
        absent = [("input_not_reported", Y2018, None)]
        assert of_insurer.on(metric, NEXT_MARCH) == of_lender.on(metric, NEXT_MARCH) == absent
        assert of_firm.on(metric, NEXT_MARCH) == [("denominator_not_positive", Y2018, None)]
    # The insurer's debt is all long-term; the lender states no non-current debt.
    assert of_insurer.on("debt_to_equity", NEXT_MARCH) == [("value", Y2018, Decimal("0.25"))]
    assert of_lender.on("debt_to_equity", NEXT_MARCH) == [("input_not_reported", Y2018, None)]


@stories.test
def test_debt_is_the_total_of_a_filing_or_the_sum_of_what_it_states_together() -> Story:
    flows = {**EARNED, "OperatingIncomeLoss": 15, "DepreciationDepletionAndAmortization": 5}
    parts = {"ShortTermBorrowings": 10, "LongTermDebtCurrent": 6, "LongTermDebtNoncurrent": 44}
    cash = {"CashAndCashEquivalentsAtCarryingValue": 20}
    added = filed(flows, {**OWNED, **cash, **parts})
    total = filed(flows, {**OWNED, **cash, "DebtLongtermAndShorttermCombinedAmount": 60})
    less = filed(flows, {**OWNED, **cash, **parts, "DebtLongtermAndShorttermCombinedAmount": 50})
    ifrs = filed(
        {"ProfitLoss": 8, "Revenue": 100},
        {"Assets": 1000, "Equity": 80, "Borrowings": 60},
        "ifrs-full",
    )

    issuers = yield [added, total, less, ifrs]
    debt = [issuer.on("debt_to_equity", NEXT_MARCH)[0] for issuer in issuers]
    value = ("value", Y2018, Decimal("0.75"))
    contradicted = ("inputs_not_comparable", Y2018, None)
    assert debt == [value, value, contradicted, value]
    for issuer in issuers[:2]:
        assert issuer.on("net_debt_to_ebitda", NEXT_MARCH) == [("value", Y2018, Decimal(2))]


@stories.test
def test_every_covered_issuer_has_one_state_per_metric_and_day() -> Story:
    issuers = yield [
        margin(MARCH, "3", "10"),
        margin(MARCH, "3", "0"),
        [figure(MAY, "revenue", "5", **SECOND_HALF)],
        [balance(MAY, "cash", "5")],
        [figure(MAY, "cfo", "5")],
    ]

    def states_on(day: date) -> list[str | None]:
        answered = [issuer.on("net_margin", day)[0] for issuer in issuers]
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
