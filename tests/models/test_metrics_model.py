"""Metrics against a second reading of the rules: for random facts and for every day."""

from datetime import date, timedelta
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.helpers.facts import fact
from tests.helpers.metric_answers import Answer, Answers, derived
from tests.helpers.nightly import times
from tests.models.metric_model import Expected, Issuer, figures_of

Row = dict[str, Any]

DAYS = [date(2019, 3, 1) + timedelta(days=n) for n in range(12)]
FLOWS = ("revenue", "profit", "profit_attributable")
# Lines that no metric needs; with them a year can have many line items.
OTHERS = ("eps_basic", "eps_diluted")
BALANCES = ("current_assets", "current_liabilities", "equity_attributable", "receivables")
TRIED = (
    "net_margin",
    "revenue_growth",
    "return_on_average_equity",
    "return_on_equity",
    "current_ratio",
    "receivable_days",
)
SPANS = (
    (date(2017, 1, 1), date(2017, 12, 31)),
    (date(2017, 1, 2), date(2017, 12, 31)),
    (date(2018, 1, 1), date(2018, 12, 31)),
    (date(2018, 1, 1), date(2018, 12, 31)),
    (date(2018, 1, 2), date(2018, 12, 31)),
    (date(2017, 7, 1), date(2017, 12, 31)),
    (date(2019, 1, 1), date(2019, 12, 31)),
    (date(2018, 7, 1), date(2019, 6, 30)),
)
BOOKS = (
    ("consolidated/ifrs", "ZAR"),
    ("consolidated/ifrs", "ZAR"),
    ("consolidated/ifrs", "USD"),
    ("consolidated/us-gaap", "ZAR"),
    ("separate/ifrs", "ZAR"),
)
LINES = (*FLOWS, *BALANCES, *OTHERS)
ELEMENTS = ("ifrs-full:A", "ifrs-full:A", "ifrs-full:B", None)
MEASURED = (None, None, None, date(2018, 12, 31))
VALUES = ("7", "7", "13", "0.1", "-5", "0", None)


def some_filings(chance: Random) -> list[Row]:
    """Make filings of one issuer, each with a day, a book, one or two spans and some lines."""
    rows: list[Row] = []
    for number in range(chance.randint(1, 8)):
        (basis, unit), day = chance.choice(BOOKS), chance.choice(DAYS[:10])
        for span in chance.sample(sorted(set(SPANS)), chance.randint(1, 2)):
            rows += [
                fact(
                    chance.choice(VALUES),
                    item=line,
                    available_at=day,
                    publication=f"p{number}",
                    basis=basis,
                    unit=unit,
                    currency_reported=unit,
                    period_start=span[0] if line not in BALANCES else None,
                    period_type="FY" if line not in BALANCES else "INSTANT",
                    period_end=span[1],
                    element=chance.choice(ELEMENTS),
                    measuring_unit_date=chance.choice(MEASURED),
                    conflicts_with="profit" if chance.random() < 0.05 else None,
                )
                for line in chance.sample(LINES, chance.randint(1, len(LINES)))
            ]
    # Two spans may end on one day: a filing states a balance once.
    return list({_stated(row): row for row in rows}.values())


def _stated(row: Row) -> tuple[Any, ...]:
    return row["publication"], row["line_item"], row["period_start"], row["period_end"]


filings = st.randoms(use_true_random=False).map(some_filings)


def of_issuer(rows: list[Row], issuer: str) -> list[Row]:
    return [{**row, "service_id": issuer} for row in rows]


def check(issuers: list[list[Row]], cuts: list[date]) -> None:
    """Compare every answer with the model, and with what was answered before later data."""
    rows: list[Row] = []
    for number, (issuer_rows, cut) in enumerate(zip(issuers, cuts, strict=True)):
        rows += of_issuer(issuer_rows, f"DCALL{number}")
        rows += of_issuer(
            [row for row in issuer_rows if row["available_at"] <= cut], f"DCTHEN{number}"
        )
    answers = Answers(derived(rows))
    for number, (issuer_rows, cut) in enumerate(zip(issuers, cuts, strict=True)):
        model = Issuer(figures_of(issuer_rows))
        for metric in TRIED:
            for day in [DAYS[0] - timedelta(days=1), *DAYS]:
                now = answers.on(day, f"DCALL{number}", metric)
                assert agree(now, model.answer(metric, day)), f"{metric} {day} {issuer_rows}"
                if day <= cut:
                    then = answers.on(day, f"DCTHEN{number}", metric)
                    assert (now is None) == (then is None)
                    assert now == then or now is None or now[0] != "value"


def agree(actual: Answer | None, expected: Expected | None) -> bool:
    """Return whether both agree; the model names no period if no year is known."""
    if actual is None or expected is None or expected[1] is not None:
        return actual == expected
    return (actual[0], actual[2]) == (expected[0], expected[2])


@settings(max_examples=times(2), suppress_health_check=[HealthCheck.too_slow])
@given(issuers=st.lists(st.tuples(filings, st.sampled_from(DAYS[:10])), min_size=1, max_size=12))
def test_intervals_answer_as_the_rules_do_and_later_data_only_removes(
    issuers: list[tuple[list[Row], date]],
) -> None:
    check([rows for rows, _ in issuers], [cut for _, cut in issuers])


@settings(max_examples=times(1), phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_hundred_issuers_at_once_are_not_mixed_up(seed: int) -> None:
    chance = Random(seed)
    issuers = [some_filings(chance) for _ in range(100)]
    check(issuers, [chance.choice(DAYS[:10]) for _ in issuers])
