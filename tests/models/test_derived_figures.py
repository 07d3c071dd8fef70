"""Derived figures and metrics-ttm by hand, and against a second reading of the rules, by day."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Generator
from datetime import date, timedelta
from decimal import Decimal
from itertools import count, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from assets.derive.derived_figures import TABLE, derived_figures
from assets.derive.metrics_ttm import metrics_ttm
from tests.helpers.facts import fact, facts
from tests.helpers.nightly import times
from tests.helpers.stories import Stories
from warehouse.methodology.metrics import divide
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES

Row = dict[str, Any]
Span = tuple[date, date]
DAY = timedelta(days=1)


def span(name: str, year: int = 2018) -> Span:
    """Return the days of a part of a calendar year."""
    first, last = {"FY": (1, 12), "H1": (1, 6), "9M": (1, 9), "H2": (7, 12)}.get(
        name, (3 * int(name[1:] or 0) - 2, 3 * int(name[1:] or 0)) if name[0] == "Q" else (1, 1)
    )
    after = date(year + last // 12, last % 12 + 1, 1)
    return date(year, first, 1), after - DAY


def derive(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Take facts the real way: into a record, into a snapshot, derived, into the snapshot.

    Return the derived figures, and the values of metrics-ttm.
    """
    with tempfile.TemporaryDirectory() as temporary:
        record = Record(str(Path(temporary, "record")))
        append(record, FUNDAMENTALS, facts(*rows), Load("test", ("d",)))
        loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
        with Snapshot(Path(temporary, "stage"), record, loads, "20990101.1") as snapshot:
            snapshot.copy_record([FUNDAMENTALS])
            snapshot.add(derived_figures(snapshot))
            snapshot.add(metrics_ttm(snapshot))
            made = (snapshot.read(f"FROM {name}").to_pylist() for name in (TABLE, "metrics_ttm"))
            figures, metrics = made
            return figures, metrics


# What one issuer answers.


class Answers(NamedTuple):
    """The derived rows of an issuer, and its metrics."""

    rows: list[Row]
    metrics: list[Row]

    def on(self, day: date, name: str, year: int = 2018, line: str = "cfo") -> Any:
        """Return the value or the reason of a period on a day; None if there is no row."""
        named = TTM[name, year] if (name, year) in TTM else span(name, year)
        found = [
            row
            for row in self.rows
            if (row["period_start"], row["period_end"]) == named
            and row["line_item"] == line
            and row["available_at"] <= day < (row["superseded_at"] or date.max)
        ]
        assert len(found) <= 1
        return None if not found else found[0]["reason"] or int(found[0]["value"])

    def metric(self, day: date, slug: str = "cash_conversion") -> tuple[Decimal, date] | None:
        """Return the value of a metric on a day, and the last day of its twelve months."""
        found = [
            (Decimal(row["value"]), row["period_end"])
            for row in self.metrics
            if row["metric"] == slug
            and row["answers_from"] <= day < (row["answers_until"] or date.max)
        ]
        assert len(found) <= 1
        return found[0] if found else None


TTM = {
    (f"TTM {name}", year): (span(name, year - 1)[1] + DAY, span(name, year)[1])
    for name in ("Q1", "H1", "9M")
    for year in (2018, 2019)
}


def filing(day: date, **lines: Any) -> list[Row]:
    """Return what a filing states: ``H1_2018=5``, with ``more`` for the columns of all of them."""
    more = lines.pop("more", {})
    rows = []
    for name, value in lines.items():
        part, year = name.split("_")
        start, end = more.pop("days", None) or span(part, int(year))
        rows.append(
            fact(
                None if value is None else str(value),
                **{
                    "item": "cfo",
                    "statement": "cash_flow",
                    "period_type": part,
                    "fiscal_label": f"FY{year}" if part == "FY" else f"{part} FY{year}",
                    "period_start": start,
                    "period_end": end,
                    "available_at": day,
                    "publication": f"p-{day}",
                    "element": "x:Cash",
                    **more,
                },
            )
        )
    return rows


def tell(stories: list[list[Row]]) -> list[Answers]:
    """Derive the rows of all stories at once; each is an issuer of its own."""
    numbers = count()
    issuers = [(f"DCTEST{next(numbers)}", rows) for rows in stories]
    made = derive([row | {"service_id": issuer} for issuer, told in issuers for row in told])
    of_issuer = [
        [[row for row in rows if row["service_id"] == issuer] for rows in made]
        for issuer, _ in issuers
    ]
    return [Answers(*rows) for rows in of_issuer]


stories = Stories(tell)
Story = Generator[list[Row], Answers, None]
MAY, AUGUST, NOVEMBER = date(2018, 5, 10), date(2018, 8, 10), date(2018, 11, 10)
MARCH, MAY_19, AUGUST_19, NOVEMBER_19 = (
    date(2019, 3, 1),
    date(2019, 5, 10),
    date(2019, 8, 10),
    date(2019, 11, 10),
)
MARCH_20 = date(2020, 3, 1)
BEFORE = filing(date(2018, 3, 1), FY_2017=40)
# A year of interim reports, each with the same months of the year before from the second year on.
YEAR = [
    *BEFORE,
    *filing(MAY, Q1_2018=10, Q1_2017=7),
    *filing(AUGUST, H1_2018=21, H1_2017=15, Q1_2018=10),
    *filing(NOVEMBER, **{"9M_2018": 33, "9M_2017": 24, "H1_2018": 21}),
    *filing(MARCH, FY_2018=46, FY_2017=40),
]


@stories.test
def test_a_year_to_date_less_the_one_before_is_the_quarter_that_nobody_stated() -> Story:
    issuer = yield YEAR
    assert issuer.on(AUGUST, "Q2") == 11 and issuer.on(AUGUST - DAY, "Q2") is None
    assert issuer.on(NOVEMBER, "Q3") == 12 and issuer.on(NOVEMBER - DAY, "Q3") is None
    assert issuer.on(MARCH, "Q4") == 13 and issuer.on(MARCH - DAY, "Q4") is None
    assert issuer.on(MARCH, "H2") == 25
    labels = {row["fiscal_label"]: row["comparable_by"] for row in issuer.rows if not row["reason"]}
    assert labels["Q2 FY2018"] == "one_publication" and labels["Q4 FY2018"] == "unrestated"


@stories.test
def test_twelve_months_end_with_the_newest_report_of_the_year_to_date() -> Story:
    issuer = yield [*YEAR, *filing(MAY_19, Q1_2019=14, Q1_2018=10)]
    assert issuer.on(MAY_19, "TTM Q1", 2019) == 46 + 14 - 10
    assert issuer.on(MAY_19 - DAY, "TTM Q1", 2019) is None
    (row,) = [row for row in issuer.rows if row["period_end"] == span("Q1", 2019)[1]]
    signs = [(each["sign"], each["value"]) for each in json.loads(row["inputs"])]
    assert signs == [(1, 14), (1, 46), (-1, 10)]
    assert row["fiscal_label"] == "TTM Q1 FY2019" and row["derivation"] == "trailing_year"


@stories.test
def test_nothing_is_derived_across_a_restatement_of_the_line() -> Story:
    # discontinued operations: the annual report states last year without them
    issuer = yield [*YEAR[:-2], *filing(MARCH, FY_2018=30, FY_2017=28)]
    assert issuer.on(MARCH, "Q4") == "restated_between"


@stories.test
def test_a_quarter_ends_when_an_input_is_restated_and_returns_when_one_report_states_both() -> (
    Story
):
    issuer = yield [
        *YEAR,
        *filing(NOVEMBER_19, **{"9M_2018": 34}),
        *filing(MARCH_20, **{"FY_2018": 48, "9M_2018": 34}),
    ]
    assert issuer.on(NOVEMBER_19 - DAY, "Q4") == 13
    assert issuer.on(NOVEMBER_19, "Q4") == "restated_between"
    assert issuer.on(MARCH_20, "Q4") == 14
    of_quarter = [row for row in issuer.rows if row["fiscal_label"] == "Q4 FY2018"]
    assert sorted(row["vintage"] for row in of_quarter) == [1, 1, 2]


@stories.test
def test_the_first_reports_of_an_issuer_prove_nothing() -> Story:
    issuer = yield [*filing(AUGUST, H1_2018=21), *filing(MARCH, FY_2018=46)]
    assert issuer.on(MARCH, "H2") == "nothing_repeated"


@stories.test
def test_a_figure_that_the_issuer_states_itself_is_not_derived_any_more() -> Story:
    issuer = yield [*YEAR, *filing(MAY_19, Q4_2018=15)]
    assert issuer.on(MAY_19 - DAY, "Q4") == 13 and issuer.on(MAY_19, "Q4") is None


@stories.test
def test_nine_months_are_not_taken_for_three_where_the_half_year_is_missing() -> Story:
    of_revenue = {"more": {"item": "revenue", "statement": "income"}}
    months = filing(NOVEMBER, **{"9M_2018": 90, "9M_2017": 80}, more=dict(of_revenue["more"]))
    issuer = yield [*YEAR, *months]
    assert issuer.on(NOVEMBER, "Q3", line="revenue") == "input_not_reported"
    assert issuer.on(NOVEMBER - DAY, "Q3", line="revenue") is None


@stories.test
def test_a_quarter_and_a_year_that_end_together_are_two_figures() -> Story:
    issuer = yield [*YEAR, *filing(MAY_19, Q4_2018=13, FY_2018=46, Q1_2019=14, Q1_2018=10)]
    assert issuer.on(MAY_19, "TTM Q1", 2019) == 50


@stories.test
def test_two_currencies_are_never_combined() -> Story:
    dollars = {"unit": "USD", "currency_reported": "USD"}
    issuer = yield [*YEAR[:-2], *filing(MARCH, FY_2018=46, FY_2017=40, more=dollars)]
    assert issuer.on(MARCH, "Q4") is None and issuer.on(MARCH, "H2") is None


@stories.test
def test_two_bases_are_never_combined() -> Story:
    alone = {"basis": "separate/ifrs"}
    issuer = yield [*YEAR[:-2], *filing(MARCH, FY_2018=46, FY_2017=40, more=alone)]
    assert issuer.on(MARCH, "Q4") is None


@stories.test
def test_another_element_may_mean_something_else() -> Story:
    continuing = {"element": "x:CashOfContinuingOperations"}
    issuer = yield [*YEAR[:-2], *filing(MARCH, FY_2018=46, FY_2017=40, more=continuing)]
    assert issuer.on(MARCH, "Q4") == "inputs_not_comparable"


@stories.test
def test_the_purchasing_power_of_two_days_is_not_one() -> Story:
    issuer = yield [
        *BEFORE,
        *filing(AUGUST, H1_2018=21, more={"measuring_unit_date": date(2018, 6, 30)}),
        *filing(MARCH, FY_2018=46, FY_2017=40, more={"measuring_unit_date": date(2018, 12, 31)}),
    ]
    assert issuer.on(MARCH, "H2") == "inputs_not_comparable"


@stories.test
def test_a_figure_that_contradicts_its_own_filing_is_no_input() -> Story:
    issuer = yield [
        *YEAR[:-2],
        *filing(MARCH, FY_2018=46_000, more={"conflicts_with": "profit"}),
        *filing(MARCH, FY_2017=40),
    ]
    assert issuer.on(MARCH, "Q4") == "inputs_not_comparable"


@stories.test
def test_an_input_that_is_withdrawn_takes_the_quarter_with_it() -> Story:
    issuer = yield [*YEAR, *filing(MAY_19, FY_2018=None)]
    assert issuer.on(MAY_19 - DAY, "Q4") == 13
    assert issuer.on(MAY_19, "Q4") == "input_not_reported"


@stories.test
def test_a_year_of_weeks_counts_if_its_days_join() -> Story:
    first, last = date(2018, 1, 1), date(2018, 12, 30)
    issuer = yield [
        *BEFORE,
        *filing(NOVEMBER, **{"9M_2018": 33}, more={"days": (first, date(2018, 9, 30))}),
        *filing(MARCH, FY_2018=46, more={"days": (first, last)}),
        *filing(MARCH, FY_2017=40),
    ]
    (quarter,) = [row for row in issuer.rows if row["derivation"] == "difference"]
    assert (quarter["period_start"], quarter["period_end"]) == (date(2018, 10, 1), last)
    assert quarter["value"] == 13


@stories.test
def test_nothing_is_derived_from_periods_that_do_not_join() -> Story:
    mistyped = {"days": (date(2018, 1, 2), date(2018, 9, 30))}
    issuer = yield [*BEFORE, *filing(NOVEMBER, **{"9M_2018": 33}, more=mistyped), *YEAR[-2:]]
    assert issuer.rows == []


@stories.test
def test_a_changed_financial_year_has_no_twelve_months_until_its_periods_join() -> Story:
    # from the end of December to the end of March: a report of three months, then a new year
    issuer = yield [
        *YEAR,
        *filing(MAY_19, Q1_2019=14, Q1_2018=10),
        *filing(NOVEMBER_19, H1_2019=26, more={"days": (date(2019, 4, 1), date(2019, 9, 30))}),
    ]
    ends = {row["period_end"] for row in issuer.rows if row["derivation"] == "trailing_year"}
    assert max(ends) == span("Q1", 2019)[1]


@stories.test
def test_amounts_per_share_and_shares_are_not_added_up() -> Story:
    of_shares = {"item": "eps_basic", "statement": "income", "unit": "ZAR/shares"}
    issuer = yield [
        row | {"line_item": of_shares["item"], "statement": "income", "unit": of_shares["unit"]}
        for row in YEAR
    ]
    assert issuer.rows == []


@stories.test
def test_a_sum_that_is_too_large_to_be_stored_is_absent() -> Story:
    issuer = yield [row | {"value_reported": row["value_reported"] * 10**18 * 2} for row in YEAR]
    assert issuer.on(MARCH, "Q4") == "inputs_not_comparable"


# Metrics of the latest twelve months.


def with_profit(rows: list[Row], times: int = 2) -> list[Row]:
    """Add to cash flows profits that are so many times as large, in the same filings."""
    profits = [
        row
        | {"line_item": "profit", "statement": "income", "element": "x:Profit"}
        | {"value_reported": row["value_reported"] and row["value_reported"] * times}
        for row in rows
    ]
    return [*rows, *profits]


FIRST_QUARTER = filing(MAY_19, Q1_2019=14, Q1_2018=10)
IN_FULL = (Decimal("0.5"), span("FY")[1])
TRAILING = (Decimal("0.5"), span("Q1", 2019)[1])


@stories.test
def test_a_metric_is_of_the_year_until_twelve_months_up_to_a_later_quarter_are_known() -> Story:
    issuer = yield with_profit([*YEAR, *FIRST_QUARTER])
    assert issuer.metric(MARCH - DAY) != IN_FULL and issuer.metric(MARCH) == IN_FULL
    assert issuer.metric(MAY_19 - DAY) == IN_FULL and issuer.metric(MAY_19) == TRAILING
    (row,) = [row for row in issuer.metrics if row["period_end"] == TRAILING[1]]
    inputs = [(each["line_item"], each["sign"]) for each in json.loads(row["inputs"])]
    assert inputs == [(line, sign) for line in ("cfo", "profit") for sign in (1, 1, -1)]
    assert row["period_type"] == "TTM" and row["methodology_ref"] == "metrics-ttm/cash_conversion"


@stories.test
def test_a_restatement_begins_another_value_and_leaves_the_days_before_as_they_were() -> Story:
    restated = filing(NOVEMBER_19, FY_2018=92, FY_2017=80)
    profits = [
        row | {"line_item": "profit", "element": "x:Profit"}
        for row in filing(NOVEMBER_19, FY_2018=92, FY_2017=80)
    ]
    issuer = yield [*with_profit(YEAR), *restated, *profits]
    assert issuer.metric(NOVEMBER_19 - DAY) == IN_FULL
    assert issuer.metric(NOVEMBER_19) == (Decimal(1), IN_FULL[1])


@stories.test
def test_no_metric_is_made_of_two_publications() -> Story:
    # the profit is restated, by a filing without the cash flow
    (profit,) = filing(NOVEMBER_19, FY_2018=99)
    restated = profit | {"line_item": "profit", "element": "x:Profit"}
    issuer = yield [*with_profit(YEAR), restated]
    assert issuer.metric(NOVEMBER_19 - DAY) == IN_FULL and issuer.metric(NOVEMBER_19) is None


@stories.test
def test_an_older_year_never_takes_the_place_of_twelve_months_without_a_value() -> Story:
    # the quarter has a cash flow, and no profit
    issuer = yield [*with_profit(YEAR), *FIRST_QUARTER]
    assert issuer.metric(MAY_19 - DAY) == IN_FULL and issuer.metric(MAY_19) is None


@stories.test
def test_a_loss_has_no_ratio_to_it() -> Story:
    issuer = yield with_profit(YEAR, times=-1)
    assert issuer.metric(MARCH) is None and issuer.metric(MARCH, "gross_margin") is None


# A second reading of the rules: what follows on a day from what had been published by then.


class Stated(NamedTuple):
    """A figure of a line as one publication states it."""

    line: str
    name: str
    year: int
    value: int
    element: str
    publication: str
    day: int

    @property
    def span(self) -> Span:
        return span(self.name, self.year)


LENGTHS = {"Q1": 1, "Q2": 1, "Q3": 1, "Q4": 1, "H1": 2, "H2": 2, "9M": 3, "FY": 4}


def judged(stated: list[Stated]) -> dict[tuple[str, Span], Any]:
    """Return the value or reason of each period, from these statements alone."""
    answers: dict[tuple[str, Span], Any] = {}
    windows: set[tuple[Span, Span]] = set()
    lines = sorted({each.line for each in stated})
    for line in lines:
        own = [each for each in stated if each.line == line]

        for derived, inputs in ways(own).items():
            ready = ready_on(own, inputs)
            direct = [each.day for each in own if each.span == derived]
            if not direct or min(direct) > ready:
                windows.add((inputs[0], derived))
            if not direct:
                answers[line, derived] = of_inputs(own, inputs)
    for line in lines:
        spans = {each.span for each in stated if each.line == line}
        for longest, derived in windows:
            if longest in spans and derived not in spans:
                answers.setdefault((line, derived), "input_not_reported")
    return answers


def ready_on(own: list[Stated], inputs: list[Span]) -> int:
    return max(min(each.day for each in own if each.span == days) for days in inputs)


def ways(own: list[Stated]) -> dict[Span, list[Span]]:
    """Return the periods that each derived one is made of; of two ways that which was first."""
    ordered = sorted(
        input_sets(own), key=lambda found: (ready_on(own, found), found[2 * (len(found) // 3)])
    )
    return {period_of(inputs): inputs for inputs in reversed(ordered)}


def conversion(stated: list[Stated]) -> tuple[Decimal, date] | None:
    """Return the cash conversion of the latest twelve months, and their end."""
    derived = judged(stated)
    years = {each.span for each in stated} | {days for _, days in derived}
    years = {days for days in years if 350 <= (days[1] - days[0]).days + 1 <= 380}
    if not years:
        return None
    latest = max(years, key=lambda days: days[1])
    amounts: list[int] = []
    parts: dict[Span, dict[str, int]] = defaultdict(dict)
    for line in ("cfo", "profit"):
        own = [each for each in stated if each.line == line]
        inputs = [latest] if any(each.span == latest for each in own) else ways(own).get(latest)
        if inputs is None or isinstance(derived.get((line, latest)), str):
            return None
        values = [vintages(own, days)[-1].value for days in inputs]
        amounts.append(values[0] + sum(values[2:]) - sum(values[1:2]))
        for days, value in zip(inputs, values, strict=True):
            parts[days][line] = value
    for days, values_of in parts.items():
        said: dict[str, dict[str, int]] = defaultdict(dict)
        for each in stated:
            if each.span == days:
                said[each.publication][each.line] = each.value
        if not any(values_of.items() <= lines.items() for lines in said.values()):
            return None
    return (divide(*amounts), latest[1]) if amounts[1] > 0 else None


def input_sets(own: list[Stated]) -> list[list[Span]]:
    """Return the periods whose figures give another one: the first and third less the second."""
    spans = {each.span: LENGTHS[each.name] for each in own}
    sets: list[list[Span]] = []
    for (start, end), length in spans.items():
        for (other, other_end), shorter in spans.items():
            if other == start and (shorter == length - 1 or (length, shorter) == (4, 2)):
                sets.append([(start, end), (other, other_end)])
            if length < 4 and shorter == 4 and other_end == start - DAY:
                sets += [
                    [(start, end), before, (other, other_end)]
                    for before, months in spans.items()
                    if before[0] == other and months == length
                ]
    # Nine months less six of one start are three; a year less nine are, too.
    return [inputs for inputs in sets if is_period(period_of(inputs))]


def period_of(inputs: list[Span]) -> Span:
    return inputs[1][1] + DAY, inputs[0][1]


def is_period(days: Span) -> bool:
    length = (days[1] - days[0]).days + 1
    return any(low <= length <= high for low, high in ((80, 100), (170, 190), (350, 380)))


def of_inputs(own: list[Stated], inputs: list[Span]) -> Any:
    current = [vintages(own, days)[-1] for days in inputs]
    values = [each.value for each in current]
    total = values[0] - values[1] + (values[2] if len(values) > 2 else 0)
    for publication in {each.publication for each in own}:
        said = {each.span: each for each in own if each.publication == publication}
        if all(days in said for days in inputs) and (
            [said[days].value for days in inputs] == values
            and len({said[days].element for days in inputs}) == 1
        ):
            return total
    if len({each.element for each in current}) > 1:
        return "inputs_not_comparable"
    earliest, latest = min(each.day for each in current), max(each.day for each in current)
    restated = {
        each.day for days in {each.span for each in own} for each in vintages(own, days)[1:]
    }
    if any(earliest < day <= latest for day in restated):
        return "restated_between"
    if earliest == latest:
        return total
    for each in own:
        before = [one for one in vintages(own, each.span) if one.day < latest]
        after = [one for one in vintages(own, each.span) if one.day <= latest]
        if each.day == latest and before and before == after:
            said_before = before[-1].value, before[-1].element
            if said_before == (each.value, each.element):
                return total
    return "nothing_repeated"


def vintages(own: list[Stated], days: Span) -> list[Stated]:
    ordered = sorted((each for each in own if each.span == days), key=lambda one: one.publication)
    first, *_ = ordered
    return [first, *(later for one, later in pairwise(ordered) if later.value != one.value)]


NAMES = st.tuples(st.sampled_from(sorted(LENGTHS)), st.sampled_from([2018, 2019]))
FIGURES = st.dictionaries(
    st.tuples(st.sampled_from(["cfo", "profit"]), NAMES), st.integers(1, 2), min_size=3, max_size=9
)
# Both lines of the periods that give twelve months.
STATEMENTS = st.dictionaries(
    st.sampled_from([(name, year) for name in ("FY", "H1") for year in (2018, 2019)]),
    st.fixed_dictionaries({line: st.integers(3, 4) for line in ("cfo", "profit")}),
    min_size=2,
).map(lambda of: {(line, name): of[name][line] for name in of for line in of[name]})
ISSUERS = st.lists(
    st.tuples(st.sampled_from("aaab"), st.one_of(FIGURES, STATEMENTS)), min_size=2, max_size=6
)


# Thirty issuers at once: what is shrunk would be taken into a record hundreds of times.
@settings(max_examples=times(3), phases=[Phase.generate])
@given(st.lists(ISSUERS, min_size=30, max_size=30))
def test_every_day_has_what_follows_from_what_was_published_by_then(issuers: list[Any]) -> None:
    first = date(2020, 6, 1)
    published = [
        [
            Stated(line, name, year, value, element, f"p-{day}", day)
            for day, (element, figures) in enumerate(publications)
            for (line, (name, year)), value in figures.items()
        ]
        for publications in issuers
    ]
    rows = [
        row | {"service_id": f"DCTEST{number}", "line_item": each.line}
        for number, stated in enumerate(published)
        for each in stated
        for row in filing(
            first + each.day * DAY,
            **{f"{each.name}_{each.year}": each.value},
            more={"element": each.element, "publication": each.publication},
        )
    ]
    answered: dict[tuple[int, int], dict[tuple[str, Span], Any]] = defaultdict(dict)
    figures, metrics = derive(rows)
    for row in figures:
        begin = (row["available_at"] - first).days
        end = 7 if row["superseded_at"] is None else (row["superseded_at"] - first).days
        for day in range(begin, end):
            period = (row["line_item"], (row["period_start"], row["period_end"]))
            answers = answered[int(row["service_id"].removeprefix("DCTEST")), day]
            assert period not in answers
            answers[period] = row["reason"] or row["value"]
    for number, stated in enumerate(published):
        for day in range(6):
            by_then = [each for each in stated if each.day <= day]
            expected, found = judged(by_then), answered[number, day]
            assert found == expected, (found.items() ^ expected.items(), by_then)
            own = [row for row in metrics if row["service_id"] == f"DCTEST{number}"]
            metric = Answers([], own).metric(first + day * DAY)
            assert metric == conversion(by_then), by_then
    assert all(isinstance(each, (str, Decimal)) for of in answered.values() for each in of.values())
