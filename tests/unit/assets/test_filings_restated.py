"""Which later statement of a figure is a restatement, and which only looks like one."""

import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.derive.later_statements import mark_later_statements
from assets.filings import companyfacts, submissions
from assets.filings.issuers import service_id_of
from assets.parsing.parsed import Parsed
from tests.helpers.facts import facts
from tests.helpers.filings import (
    ACCN_1,
    ACCN_2,
    apparent,
    company,
    document,
    fact,
    filer,
    later_rows,
    locations,
    read,
    real_rows,
    reasons,
    report,
    report_fact,
    rows,
)
from tests.helpers.nightly import times
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES

ACCN_3 = "0001193125-21-000001"


def later(value: object, **changes: Any) -> dict[str, Any]:
    return fact(val=value, accn=ACCN_2, filed="2020-04-06", fy=2019, **changes)


def values(parsed: Parsed, unit: str = "USD") -> list[int]:
    return [int(row["value_reported"]) for row in later_rows(parsed) if row["unit"] == unit]


def other_figures(*numbers: int, **changes: Any) -> dict[str, list[dict[str, Any]]]:
    """Return other figures of a filing, which show the scale it is written in."""
    return {"USD": [fact(start="-", val=number, **changes) for number in numbers]}


def test_another_value_in_the_same_scale_is_a_restatement() -> None:
    for first, second in ((762400000, 762000000), (100, 110), (3000, 2900)):
        parsed = read({"Revenue": {"USD": [fact(val=first), later(second)]}})
        assert values(parsed) == [first, second]


def in_scales(first: int, second: int) -> Parsed:
    """State a figure in a filing written in thousands, then in one of tenths of a million."""
    second_filing = {"accn": ACCN_2, "filed": "2020-04-06"}
    return read(
        {
            "Revenue": {"USD": [fact(val=first), later(second)]},
            "Assets": other_figures(123456000),
            "Equity": other_figures(123457000),
            "CurrentAssets": other_figures(123458000),
            "Inventories": other_figures(12300000, **second_filing),
            "Liabilities": other_figures(45600000, **second_filing),
            "CurrentLiabilities": other_figures(45700000, **second_filing),
        }
    )


@pytest.mark.parametrize("second", [1471900000, 1471800000, 1471894000])
def test_a_rounding_in_another_scale_is_not_a_restatement(second: int) -> None:
    parsed = in_scales(1471894000, second)
    assert set(values(parsed)) & {1471894000, 1471900000, 1471800000} == {1471894000}
    expected = [] if second == 1471894000 else [(second, "rounding")]
    assert (apparent(parsed), reasons(parsed)) == (expected, [])


@pytest.mark.parametrize(("second", "roundings"), [(0.0509, []), (0.051, [0.051])])
def test_a_value_finer_than_its_filing_is_a_restatement_and_no_rounding(
    second: float, roundings: list[float]
) -> None:
    in_second = {"accn": ACCN_2, "filed": "2020-04-06"}
    # The first filing has four decimals, the second three.
    others = [
        *((0.0511, 2014, {}), (0.0522, 2015, {}), (0.0533, 2016, {}), (0.0544, 2017, {})),
        *((number / 1000, 1949 + number, in_second) for number in (61, 62, 63, 64)),
    ]
    stated = [
        fact(val=value, start=f"{year}-01-01", end=f"{year}-12-31", **filing)
        for value, year, filing in others
    ]
    per_share = {"USD/shares": [*stated, fact(val=0.0506), later(second)]}
    parsed = read({"BasicEarningsLossPerShare": per_share})
    assert apparent(parsed) == [(Decimal(str(rounded)), "rounding") for rounded in roundings]


def test_a_change_beyond_the_scale_is_a_restatement() -> None:
    parsed = in_scales(1471894000, 1557800000)
    assert {1471894000, 1557800000} <= set(values(parsed)) and reasons(parsed) == []


def test_a_reversed_sign_is_a_convention_and_not_a_restatement() -> None:
    parsed = read({"CashFlowsFromUsedInOperatingActivities": {"USD": [fact(), later(-100)]}})
    assert (values(parsed), apparent(parsed)) == ([100], [(-100, "sign")])


OWNERS = "EquityAttributableToOwnersOfParent"


def balances(*stated: int | None, of: str = "Equity") -> dict[str, dict[str, list[dict[str, Any]]]]:
    """State a balance in up to three filings; None where one does not."""
    filed = ((ACCN_1, "2019-03-29"), (ACCN_2, "2020-04-06"), (ACCN_3, "2021-04-06"))
    facts = [
        fact(start="-", val=value, accn=accession, filed=day)
        for value, (accession, day) in zip(stated, filed, strict=False)
        if value is not None
    ]
    return {of: {"USD": facts}}


def of_owners(parsed: Parsed) -> list[int]:
    found = (row for row in later_rows(parsed) if row["line_item"] == "equity_attributable")
    return [int(row["value_reported"]) for row in found]


def test_an_element_that_is_the_line_only_at_times_replaces_no_differing_one_that_always_is() -> (
    None
):
    parsed = read({**balances(85, of=OWNERS), **balances(None, 127, 127)})
    assert (of_owners(parsed), apparent(parsed)) == ([85], 2 * [(127, "element")])


@pytest.mark.parametrize(
    ("owners", "total", "expected"),
    [
        pytest.param([85], [85, 90], [85, 90], id="both were the same before"),
        pytest.param([85], [None, 85, 90], [85, 85, 90], id="both were the same by then"),
        pytest.param([0], [None, 90], [0, 90], id="a zero shows nothing"),
        pytest.param([85, 90], [127, 127], [85, 90], id="the same element"),
    ],
)
def test_it_is_a_restatement_where_nothing_shows_a_difference_between_the_elements(
    owners: list[int | None], total: list[int | None], expected: list[int]
) -> None:
    parsed = read({**balances(*owners, of=OWNERS), **balances(*total)})
    assert (of_owners(parsed), reasons(parsed)) == (expected, [])


def test_an_element_that_always_is_the_line_replaces_one_that_is_so_only_at_times() -> None:
    assert of_owners(read({**balances(None, 85, of=OWNERS), **balances(127)})) == [127, 85]


def test_revenue_under_a_new_standard_replaces_the_old_name() -> None:
    parsed = read({"Revenue": {"USD": [fact()]}, "RevenueFromContractsWithCustomers": {
        "USD": [later(90)]
    }})  # fmt: skip
    assert values(parsed) == [100, 90]


def test_a_value_that_comes_back_is_a_third_vintage() -> None:
    third = fact(accn=ACCN_3, filed="2021-04-06")
    assert values(read({"Revenue": {"USD": [fact(), later(90), third]}})) == [100, 90, 100]


def test_a_convenience_translation_at_another_rate_is_not_a_restatement() -> None:
    last_year = {"start": "2017-01-01", "end": "2017-12-31"}
    parsed = read(
        {
            "Revenue": {
                "TWD": [fact(val=3000), fact(val=2900, **last_year), later(3000)],
                "USD": [fact(val=100), later(97)],
            },
            "ProfitLoss": {"TWD": [later(5), later(6, **last_year)]},
        }
    )
    assert (values(parsed), values(parsed, "TWD")[:2]) == ([100], [3000, 2900])
    assert apparent(parsed) == [(97, "translation")]


def test_a_restatement_in_the_reporting_currency_is_stored_beside_a_translation() -> None:
    parsed = read({"Revenue": {"TWD": [fact(val=30), later(33)], "USD": [fact(val=1)]}})
    assert values(parsed, "TWD") == [30, 33]


@given(numbers=st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=6))
def test_every_statement_is_a_row_and_the_first_is_always_a_vintage(
    numbers: list[int],
) -> None:
    facts = [
        fact(val=number, accn=f"0001193125-{20 + year}-000001", filed=f"20{20 + year}-04-01")
        for year, number in enumerate(numbers)
    ]
    parsed = read({"Revenue": {"USD": facts}})
    assert values(parsed)[0] == numbers[0]
    assert len(values(parsed)) + len(apparent(parsed)) == len(numbers)


def test_a_rounded_repetition_in_one_filing_is_rejected() -> None:
    parsed = read({"Revenue": {"USD": [fact(val=1234567), fact(val=1200000)]}})
    assert values(parsed) == [1234567] and "a rounding of 1234567" in reasons(parsed)[0]


def with_cover_shares(*taxonomies: str, cover: list[dict[str, Any]]) -> Parsed:
    facts = {name: {"Assets": {"units": {"USD": [fact(start="-")]}}} for name in taxonomies}
    shares = {"EntityCommonStockSharesOutstanding": {"units": {"shares": cover}}}
    body = company({**facts, "dei": shares})
    return companyfacts.parse(document(body), body)


def test_the_shares_on_the_cover_are_those_outstanding_under_the_filings_standard() -> None:
    parsed = with_cover_shares("us-gaap", cover=[fact(start="-", end="2019-03-01", val=7)])
    (row,) = [row for row in rows(parsed) if row["line_item"] == "shares_outstanding"]
    assert (row["period_type"], row["unit"], row["basis"]) == (
        "INSTANT",
        "shares",
        "consolidated/us-gaap",
    )


def test_cover_shares_without_an_accounting_standard_are_rejected() -> None:
    cover = [fact(start="-", accn=ACCN_2)]
    assert reasons(with_cover_shares("us-gaap", cover=cover)) == []
    for taxonomies in ((), ("us-gaap", "ifrs-full")):
        assert "accounting standard" in reasons(with_cover_shares(*taxonomies, cover=cover))[0]


@pytest.mark.parametrize("form", ["10-KT", "40-F/A", "10-K405", "20-F"])
def test_every_form_of_annual_report_proves_an_issuer(form: str) -> None:
    recent = {"accessionNumber": [ACCN_1], "filingDate": ["2026-01-01"], "form": [form]}
    body = filer(filings={"recent": recent})
    assert submissions.parse(document(body), body).rows["entities"]


def test_infinite_decimals_are_exact_and_a_number_without_unit_is_rejected() -> None:
    parsed = report(report_fact("1234567", decimals="INF"), report_fact("1200000", decimals=-5))
    assert values(parsed, "EUR") == [1234567]
    assert "without its unit" in reasons(report(report_fact(unit=None)))[0]


def test_an_issuer_in_a_report_may_be_identified_by_its_cik() -> None:
    parsed = report(report_fact(entity="cik:0001172724"))
    assert rows(parsed)[0]["service_id"] == service_id_of(1172724)
    assert "neither by an LEI" in reasons(report(report_fact(entity="other:1")))[0]


@pytest.mark.shared
def test_tsm_figures_in_dollars_are_never_restated() -> None:
    all_rows = real_rows("CIK0001046179.json")
    cash = [row for row in all_rows if row["line_item"] == "cash"]
    assert {"USD", "TWD"} == {row["unit"] for row in cash}
    values_by_figure: dict[tuple[Any, ...], set[Decimal]] = {}
    for row in all_rows:
        if row["currency_reported"] == "USD" and row.get("apparent_restatement") is None:
            identity = tuple(row[name] for name in FUNDAMENTALS.identity)
            values_by_figure.setdefault(identity, set()).add(row["value_reported"])
    assert values_by_figure and all(
        len(distinct_values) == 1 for distinct_values in values_by_figure.values()
    )


@pytest.mark.shared
def test_asml_is_restated_by_a_new_standard_but_not_by_rounding() -> None:
    eur_rows = [
        row
        for row in real_rows("CIK0000937966.json")
        if row["unit"] == "EUR" and row.get("apparent_restatement") is None
    ]
    profit = {
        row["period_end"].year: row["value_reported"]
        for row in sorted(eur_rows, key=lambda row: row["available_at"], reverse=True)
        if row["line_item"] == "profit_attributable" and row["period_type"] == "FY"
    }
    assert profit[2015] == Decimal(1387174000)
    values_of_2016 = {
        row["value_reported"]
        for row in eur_rows
        if row["line_item"] == "profit_attributable" and row["period_end"] == date(2016, 12, 31)
    }
    assert values_of_2016 == {Decimal(1471894000), Decimal(1557800000)}


def test_a_fact_without_a_value_is_rejected_with_its_location() -> None:
    parsed = read({"Revenue": {"USD": [fact(val=None), fact(val="1")]}})
    assert rows(parsed) == [] and len(locations(parsed)) == 2


FILINGS = ((ACCN_1, "2019-03-29"), (ACCN_2, "2020-04-06"), (ACCN_3, "2021-04-06"))
DAYS = (date(2019, 3, 28), date(2019, 3, 29), date(2020, 4, 6), date(2021, 4, 6))
# The figures of a whole filing besides the one that a test is about, in units of its scale.
WHOLE = {"Assets": 5102, "Liabilities": 3001, "Equity": 2101, "CurrentAssets": 1234}
# A sentence of a press release, which states one figure.
SENTENCE: dict[str, int] = {}


def filed(
    element: str, *statements: tuple[int, dict[str, int], int], taxonomy: str = "ifrs-full"
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """State a figure in filings, each with its value, the filing's other figures, its scale."""
    elements: dict[str, list[dict[str, Any]]] = {}
    for (value, others, scale), (accession, day) in zip(statements, FILINGS, strict=False):
        where = {"accn": accession, "filed": day}
        for name, number in others.items():
            stated = fact(start="-", val=number * scale, **where)
            elements.setdefault(name, []).append(stated)
        start = "-" if element in WHOLE else "2018-01-01"
        elements.setdefault(element, []).append(fact(start=start, val=value, **where))
    return {name: {"USD": facts} for name, facts in elements.items()}


def known_values(documents: list[Parsed], line_item: str) -> list[Decimal | None]:
    """Return the known value of a figure on each day; documents are loaded in this order."""
    with tempfile.TemporaryDirectory() as folder:
        record = Record(f"{folder}/record")
        for number, parsed in enumerate(documents):
            append(record, FUNDAMENTALS, facts(*rows(parsed)), Load("test", (f"d{number}",)))
        loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
        with Snapshot(Path(folder, "stage"), record, loads, "20990101.1") as snapshot:
            mark_later_statements(snapshot)
            remaining = snapshot.remaining(FUNDAMENTALS)

            def on(day: date) -> Decimal | None:
                query = vintages_query(FUNDAMENTALS, remaining, as_of=day)
                found = snapshot.read(query).to_pylist()
                values = [row["value_reported"] for row in found if row["line_item"] == line_item]
                return values[0] if values else None

            return [on(day) for day in DAYS]


PROFIT, CFO = "ProfitLoss", "CashFlowsFromUsedInOperatingActivities"
THOUSAND, MILLION = 1000, 1_000_000
LOSS, ABOUT_THE_LOSS = -31_941_000, 31_900_000


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("element", "statements", "expected"),
    [
        pytest.param(
            PROFIT,
            [(LOSS, WHOLE, THOUSAND), (ABOUT_THE_LOSS, SENTENCE, 1), (LOSS, WHOLE, THOUSAND)],
            [LOSS, LOSS, LOSS],
            id="a sentence with the amount of a loss",
        ),
        pytest.param(
            PROFIT,
            [(ABOUT_THE_LOSS, SENTENCE, 1), (LOSS, WHOLE, THOUSAND), (LOSS, WHOLE, THOUSAND)],
            [ABOUT_THE_LOSS, LOSS, LOSS],
            id="the sentence first: the statement corrects it",
        ),
        pytest.param(
            PROFIT,
            [(LOSS, WHOLE, THOUSAND), (-31_900_000, SENTENCE, 1), (LOSS, WHOLE, THOUSAND)],
            [LOSS, LOSS, LOSS],
            id="a sentence that rounds",
        ),
        pytest.param(
            PROFIT,
            [(-17_372_651, WHOLE, 1), (17_000_000, SENTENCE, 1), (17_000_000, SENTENCE, 1)],
            [-17_372_651, -17_372_651, -17_372_651],
            id="sentences that round to two digits, however many",
        ),
        pytest.param(
            PROFIT,
            [(LOSS, WHOLE, THOUSAND), (35_000_000, WHOLE, THOUSAND)],
            [LOSS, 35_000_000, 35_000_000],
            id="another size is a restatement",
        ),
        pytest.param(
            CFO,
            [(-800_100, WHOLE, 100), (806_000, WHOLE, 100), (-800_100, WHOLE, 100)],
            [-800_100, -800_100, -800_100],
            id="another sign and about the same size",
        ),
    ],
)
def test_a_loss_becomes_no_profit_by_a_rounded_or_turned_statement(
    element: str, statements: list[Any], expected: list[int], sign: int
) -> None:
    turned = [(sign * value, others, scale) for value, others, scale in statements]
    line_item = "profit" if element == PROFIT else "cfo"
    parsed = read(filed(element, *turned))
    assert known_values([parsed], line_item) == [None, *(sign * value for value in expected)]
    assert len(rows(parsed)) == len(
        {(row["publication"], row["line_item"]) for row in rows(parsed)}
    )


@pytest.mark.parametrize("power", [THOUSAND, MILLION])
@pytest.mark.parametrize("first_is_wrong", [False, True])
@pytest.mark.parametrize("is_larger", [False, True])
def test_every_figure_of_a_filing_in_a_wrong_scale_is_marked_and_none_before_or_after(
    power: int, first_is_wrong: bool, is_larger: bool
) -> None:
    small, large = (4_172_000, WHOLE, 1), (4_172_000 * power, WHOLE, power)
    right, slip = (small, large) if is_larger else (large, small)
    parsed = read(
        filed("Revenue", *((slip, right, right) if first_is_wrong else (right, slip, right)))
    )
    # One filing against one decides nothing: the current value stays, and the other is no input.
    known = [slip[0], slip[0], right[0]] if first_is_wrong else 3 * [right[0]]
    assert known_values([parsed], "revenue") == [None, *known]
    marked = [row for row in rows(parsed) if row.get("conflicts_with")]
    assert marked == [row for row in rows(parsed) if row["publication"] == ACCN_2]
    assert all(row["conflicts_with"] == row["line_item"] for row in marked)


def test_a_scale_is_corrected_only_with_the_balance_sheet_on_its_side() -> None:
    sides = {"Liabilities": 60_705_354, "Equity": 43_000_001}
    right, slip = (103_705_355, sides, 1), (103_705, sides, 1)
    assets = [Decimal(103_705_355)] * 3
    parsed = read(filed("Assets", right, slip, right))
    assert known_values([parsed], "total_assets") == [None, *assets]
    # Mirrored: the first filing has the slip, and what adds up corrects it.
    parsed = read(filed("Assets", slip, right, right))
    assert known_values([parsed], "total_assets") == [None, Decimal(103_705), *assets[1:]]
    # A filing that states one side only proves nothing.
    parsed = read(
        filed("Assets", (103_705_355, sides, 1), (103_705, {"CurrentAssets": 90_000_000}, 1))
    )
    assert known_values([parsed], "total_assets") == [None, *assets]


MAINTENANCE = (
    "PurchaseOfPropertyPlantAndEquipmentIntangibleAssetsOtherThanGoodwill"
    "InvestmentPropertyAndOtherNoncurrentAssets"
)
CAPEX = "PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities"


def test_a_worse_element_never_replaces_a_better_one_of_an_earlier_filing() -> None:
    def capex(first: str, second: str) -> Parsed:
        return read({first: {"USD": [fact(val=4951)]}, second: {"USD": [later(2088)]}})

    assert known_values([capex(CAPEX, MAINTENANCE)], "capex") == [None, 4951, 4951, 4951]
    assert known_values([capex(MAINTENANCE, CAPEX)], "capex") == [None, 4951, 2088, 2088]


@pytest.mark.parametrize(("shown", "expected"), [("DepositsFromCustomers", []), ("Assets", [12])])
def test_insurance_revenue_is_no_revenue_of_a_bank(shown: str, expected: list[int]) -> None:
    balance = {"USD": [fact(start="-", val=4665)]}
    parsed = read({"InsuranceRevenue": {"USD": [fact(val=12)]}, shown: balance})
    found = [row["value_reported"] for row in rows(parsed) if row["line_item"] == "revenue"]
    assert found == expected


# A figure in a filing: its value with sign, scale and digits of all kinds, with whole balance
# sheets or alone.
STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from([-31_941_000, 31_941_000, 31_900_000, -31_900_000, 31_941, 35_000_000]),
        st.sampled_from([(WHOLE, THOUSAND), (WHOLE, MILLION), (WHOLE, 1), (SENTENCE, 1)]),
    ),
    min_size=2,
    max_size=3,
)


@given(statements=STATEMENTS, order=st.permutations([0, 1, 2]))
@settings(max_examples=times(8))
def test_it_makes_no_difference_in_which_documents_and_order_filings_are_read(
    statements: list[Any], order: list[int]
) -> None:
    whole = filed(PROFIT, *((value, *others) for value, others in statements))

    def of_filing(accession: str) -> Parsed:
        return read(
            {
                name: {"USD": [each for each in units["USD"] if each["accn"] == accession]}
                for name, units in whole.items()
            }
        )

    together = known_values([read(whole)], "profit")
    apart = [of_filing(FILINGS[number][0]) for number in order if number < len(statements)]
    assert known_values(apart, "profit") == together
