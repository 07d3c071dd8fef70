"""A filing is checked against itself: contradictions, signs, and the measuring unit of IAS 29."""

import gzip
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings import companyfacts
from assets.filings.cross_checks import CHECKS, PERIODS, contradictions, is_hyperinflationary
from assets.macro.iso_codes import is_currency
from assets.parsing.parsed import Parsed
from tests.helpers.filings import (
    ACCN_1,
    ACCN_2,
    apparent,
    company,
    document,
    fact,
    later_rows,
    read,
    reasons,
    rows,
)
from tests.helpers.paths import REAL

ACCN_3 = "0001193125-21-000001"
FILED = {ACCN_1: "2019-03-29", ACCN_2: "2020-04-06", ACCN_3: "2021-04-06"}
CAPEX = "PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities"
TAX = "IncomeTaxExpenseContinuingOperations"
NUMBERS = st.integers(-(10**9), 10**9).map(Decimal)


def filings(
    elements: dict[str, list[Any]], taxonomy: str = "ifrs-full", unit: str = "USD"
) -> Parsed:
    """Read elements that up to three filings state for one period; None where one does not."""
    balances = ("Assets", "Liabilities", "Equity", "Temporary", "StockholdersEquity")

    def facts(element: str, stated: list[Any]) -> list[dict[str, Any]]:
        start = "-" if element.startswith(balances) else "2018-01-01"
        return [
            fact(val=value, accn=accession, filed=FILED[accession], start=start)
            for accession, value in zip(FILED, stated, strict=False)
            if value is not None
        ]

    units = {name: {unit: facts(name, stated)} for name, stated in elements.items()}
    return read(units, taxonomy)


def stated(parsed: Parsed, line_item: str) -> list[int]:
    found = (row for row in later_rows(parsed) if row["line_item"] == line_item)
    return [int(row["value_reported"]) for row in found]


def marks(parsed: Parsed) -> dict[str, str]:
    return {
        row["line_item"]: row["conflicts_with"]
        for row in later_rows(parsed)
        if row.get("conflicts_with")
    }


def test_a_later_filing_that_turns_to_the_sign_of_the_balance_corrects_the_figure() -> None:
    assert stated(filings({CAPEX: [-193, 193, 193]}), "capex") == [-193, 193, 193]


@pytest.mark.parametrize("turned", [-193, -200])
def test_one_that_turns_away_from_it_only_looks_like_a_restatement(turned: int) -> None:
    parsed = filings({CAPEX: [193, turned, 193]})
    assert (stated(parsed, "capex"), apparent(parsed)) == ([193, 193], [(turned, "sign")])


def test_a_payment_that_is_always_negative_stands_and_is_marked() -> None:
    parsed = filings({CAPEX: [-193, -193, -201]})
    assert stated(parsed, "capex") == [-193, -193, -201] and reasons(parsed) == []
    assert marks(parsed) == {"capex": "capex"}


def test_a_loss_may_become_a_profit_by_a_restatement() -> None:
    assert stated(filings({"ProfitLoss": [-193, 250]}), "profit") == [-193, 250]


def test_where_both_signs_are_possible_the_sign_of_most_filings_until_then_is_right() -> None:
    cfo = "CashFlowsFromUsedInOperatingActivities"
    parsed = filings({cfo: [100, -100]})
    assert (stated(parsed, "cfo"), apparent(parsed)) == ([100], [(-100, "sign")])
    # The third filing makes the majority: it corrects the figure, and the second stays marked.
    assert stated(filings({cfo: [100, -100, -100]}), "cfo") == [100, -100]


def test_of_as_many_filings_on_both_sides_those_with_an_expense_are_right() -> None:
    corrected = filings({TAX: [-25, 25]})
    assert stated(corrected, "income_tax_expense") == [-25, 25]
    assert stated(filings({TAX: [25, -25]}), "income_tax_expense") == [25]


def test_the_filing_that_contradicts_itself_has_the_wrong_sign() -> None:
    expense = {"ProfitLossBeforeTax": [100, 100], "ProfitLoss": [75, 75]}
    corrected = filings({**expense, TAX: [-25, 25]})
    assert stated(corrected, "income_tax_expense") == [-25, 25]
    others = "profit,profit_attributable,profit_before_tax"
    assert marks(corrected) == {"income_tax_expense": others}
    turned_away = filings({**expense, TAX: [25, -25]})
    assert stated(turned_away, "income_tax_expense") == [25]
    assert apparent(turned_away) == [(-25, "sign")]


def per_share(eps: list[float | None], profit: list[int | None]) -> Parsed:
    """Read earnings per share and the profit that up to three filings state."""

    def facts(stated: list[Any]) -> list[dict[str, Any]]:
        return [
            fact(val=value, accn=accession, filed=FILED[accession])
            for accession, value in zip(FILED, stated, strict=False)
            if value is not None
        ]

    return read(
        {
            "BasicEarningsLossPerShare": {"USD/shares": facts(eps)},
            "ProfitLoss": {"USD": facts(profit)},
        }
    )


@pytest.mark.parametrize("profit", [-109264, 109264])
def test_earnings_per_share_turn_to_the_sign_of_the_profit_and_not_away_from_it(
    profit: int,
) -> None:
    right = 0.04 if profit > 0 else -0.04

    def served(parsed: Parsed) -> list[float]:
        found = (row for row in later_rows(parsed) if row["line_item"] == "eps_basic")
        return [float(row["value_reported"]) for row in found]

    corrected = per_share([-right, right], [profit, profit])
    assert served(corrected) == [-right, right] and reasons(corrected) == []
    turned = per_share([right, -right], [profit, profit])
    assert served(turned) == [right]
    assert [kind for _, kind in apparent(turned)] == ["sign"]


def test_earnings_per_share_beside_a_loss_are_marked() -> None:
    assert marks(per_share([0.04], [-109264])) == {"eps_basic": "profit_attributable"}
    # Dividends of preference shares may leave a loss to the others.
    assert marks(per_share([-0.04], [109264])) == {}
    assert marks(per_share([0], [-109264])) == marks(per_share([0.04], [None])) == {}


def test_every_figure_of_a_filing_in_another_scale_is_marked_until_the_issuer_corrects_it() -> None:
    assets = {"USD": [
        fact(val=5102400000, start="-", end="2010-12-31", accn=ACCN_1, filed="2011-08-05"),
        fact(val=5102.4, start="-", end="2010-12-31", accn=ACCN_2, filed="2011-11-04"),
        fact(val=5042.4, start="-", end="2011-09-30", accn=ACCN_2, filed="2011-11-04"),
        fact(val=5042400000, start="-", end="2011-09-30", accn=ACCN_3, filed="2012-11-05"),
    ]}  # fmt: skip
    parsed = read({"Assets": assets})
    values = [(row["value_reported"], row.get("conflicts_with")) for row in later_rows(parsed)]
    marked = (Decimal("5042.4"), "total_assets")
    assert values == [(5102400000, None), marked, (5042400000, None)]
    assert apparent(parsed) == [(Decimal("5102.4"), "scale")]


@pytest.mark.parametrize(
    ("element", "unit", "before", "after"),
    [
        ("NumberOfSharesOutstanding", "shares", 142.1, 142100000),
        ("BasicEarningsLossPerShare", "USD/shares", -0.02, -20),
    ],
)
def test_shares_and_amounts_per_share_are_in_no_scale_of_the_statements(
    element: str, unit: str, before: float, after: float
) -> None:
    start = "-" if unit == "shares" else "2018-01-01"
    facts = [
        fact(val=value, start=start, accn=accession, filed=FILED[accession])
        for accession, value in zip(FILED, (before, after, after), strict=True)
    ]
    parsed = read({element: {unit: facts}})
    assert [float(row["value_reported"]) for row in rows(parsed)] == [before, after, after]
    assert reasons(parsed) == []


@given(
    st.lists(st.sampled_from([7, -7, 9]), min_size=1, max_size=3), st.sampled_from(["capex", "cfo"])
)
def test_what_is_filed_later_never_changes_what_an_earlier_filing_states(
    values: list[int], line_item: str
) -> None:
    element = CAPEX if line_item == "capex" else "CashFlowsFromUsedInOperatingActivities"
    whole = stated(filings({element: values}), line_item)
    before = stated(filings({element: values[:-1]}), line_item)
    assert whole[: len(before)] == before


# Elements of statements and of the cover, in two currencies.
STATED = st.tuples(
    st.sampled_from(
        [
            ("ifrs-full", "Revenue", "USD"),
            ("ifrs-full", "Revenue", "TWD"),
            ("ifrs-full", "BasicEarningsLossPerShare", "TWD"),
            ("ifrs-full", "Assets", "USD"),
            ("us-gaap", "NetIncomeLoss", "USD"),
            ("us-gaap", "Assets", "USD"),
            ("dei", "EntityCommonStockSharesOutstanding", "shares"),
        ]
    ),
    st.sampled_from(["2016-01-01", "2016-04-01", "2016-07-01", "2017-01-01"]),
    st.sampled_from(["2016-06-30", "2016-12-31", "2017-03-31", "2017-06-30", "2017-12-31"]),
    st.sampled_from([7, -7, 7.5, 5000, 7000, 7000000]),
)


@given(st.lists(st.lists(STATED, max_size=6), min_size=1, max_size=5), st.data())
def test_a_document_cut_at_any_filing_day_has_the_rows_of_the_whole_until_then(
    filed: list[list[Any]], data: st.DataObject
) -> None:
    def outcomes(days: int) -> list[Any]:
        facts: dict[str, Any] = {}
        for day, of_day in enumerate(filed[:days], start=1):
            for (taxonomy, name, unit), start, end, value in of_day:
                is_balance = name.startswith(("Assets", "Entity"))
                units = facts.setdefault(taxonomy, {}).setdefault(name, {"units": {}})["units"]
                members = {"val": value, "end": end, "start": "-" if is_balance else start}
                accession = f"0001193125-19-{day:06}"
                units.setdefault(unit, []).append(
                    fact(**members, accn=accession, filed=f"2019-01-{day:02}")
                )
        body = company(facts)
        parsed = companyfacts.parse(document(b"", "https://example.org/facts.json"), body)
        refused = [(row.source_ref, row.reason) for row in parsed.rejected.get("fundamentals", [])]
        return sorted(map(repr, [*rows(parsed), *refused]))

    days = data.draw(st.integers(0, len(filed)))
    assert set(outcomes(days)) <= set(outcomes(len(filed)))


@pytest.mark.parametrize(
    ("taxonomy", "elements", "expected"),
    [
        pytest.param(
            "us-gaap",
            {"ProfitLoss": [22440], "NetIncomeLoss": [-22440]},
            {"profit": "profit_attributable", "profit_attributable": "profit"},
            id="profit next to a loss, and nothing else decides",
        ),
        pytest.param(
            "us-gaap",
            {
                "ProfitLoss": [22440],
                "NetIncomeLoss": [-22440],
                "IncomeTaxExpenseBenefit": [-1060],
                "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItems"
                "NoncontrollingInterest": [-23500],
            },
            {"profit": "income_tax_expense,profit_attributable,profit_before_tax"},
            id="the one that fails in all is wrong",
        ),
        pytest.param(
            "us-gaap",
            {"ProfitLoss": [90], "NetIncomeLoss": [70]},
            {},
            id="minorities without an element",
        ),
        pytest.param(
            "ifrs-full",
            {
                "Assets": [9428],
                "EquityAndLiabilities": [9428],
                "Liabilities": [5872],
                "Equity": [4134],
            },
            {
                "total_equity": "total_assets,total_liabilities",
                "total_liabilities": "total_assets,total_equity",
            },
            id="assets are proved by the other side of the balance sheet",
        ),
        pytest.param(
            "us-gaap",
            {
                "Assets": [22328],
                "Liabilities": [12677],
                "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest": [9110],
                "TemporaryEquityCarryingAmount": [541],
            },
            {},
            id="temporary equity",
        ),
        pytest.param(
            "us-gaap",
            {
                "ProfitLoss": [90],
                "NetIncomeLoss": [70],
                "NetIncomeLossAttributableToNoncontrollingInterest": [12],
            },
            {"profit": "profit_attributable", "profit_attributable": "profit"},
            id="minorities that do not make up the difference",
        ),
        pytest.param(
            "ifrs-full",
            {"Revenue": [1370], "CostOfSales": [48473], "GrossProfit": [10664]},
            {
                "revenue": "cost_of_sales,gross_profit",
                "cost_of_sales": "gross_profit,revenue",
                "gross_profit": "cost_of_sales,revenue",
            },
            id="the revenue of a segment",
        ),
        pytest.param(
            "ifrs-full",
            {"Revenue": [142573], "CostOfSales": [-62787], "GrossProfit": [79786]},
            {"cost_of_sales": "cost_of_sales,gross_profit,revenue"},
            id="costs in brackets",
        ),
        pytest.param(
            "ifrs-full",
            {"Revenue": [1031473], "CostOfSales": [533487], "GrossProfit": [497874]},
            {},
            id="a small line between them",
        ),
        pytest.param(
            "ifrs-full",
            {
                "ProfitLossBeforeTax": [-3156],
                TAX: [353],
                "ProfitLossFromDiscontinuedOperations": [143],
                "ProfitLoss": [-3366],
            },
            {},
            id="discontinued operations",
        ),
    ],
)
def test_a_figure_that_contradicts_its_filing_is_marked(
    taxonomy: str, elements: dict[str, list[int]], expected: dict[str, str]
) -> None:
    assert marks(filings(elements, taxonomy)) == expected


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("taxonomy", "elements", "expected"),
    [
        pytest.param(
            "us-gaap",
            {"ProfitLoss": 22440, "NetIncomeLoss": -22440},
            {"profit": "profit_attributable", "profit_attributable": "profit"},
            id="two profits",
        ),
        pytest.param(
            "ifrs-full",
            {
                **{"ProfitLossBeforeTax": 10763, "ProfitLossFromDiscontinuedOperations": 3490},
                **{TAX: 0, "ProfitLoss": 14253},
                **{"OtherComprehensiveIncome": 23, "ComprehensiveIncome": -14230},
            },
            {
                "profit": "profit_attributable,profit_before_tax",
                "profit_attributable": "profit,profit_before_tax",
                "profit_before_tax": "profit,profit_attributable",
            },
            id="every line of a loss, printed without a sign",
        ),
        pytest.param(
            "ifrs-full",
            {"ProfitLoss": 13933, "OtherComprehensiveIncome": -203, "ComprehensiveIncome": -14136},
            {"profit": "profit_attributable", "profit_attributable": "profit"},
            id="a loss without a sign next to comprehensive income",
        ),
        pytest.param(
            "us-gaap",
            {
                "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItems"
                "NoncontrollingInterest": 5479,
                **{"IncomeTaxExpenseBenefit": 1780, "NetIncomeLoss": 3699},
                "OtherComprehensiveIncomeLossNetOfTax": 3673,
                "ComprehensiveIncomeNetOfTax": -26,
            },
            {},
            id="comprehensive income and its other part exchanged",
        ),
        pytest.param(
            "ifrs-full",
            {"ProfitLoss": -7, "OtherComprehensiveIncome": 14, "ComprehensiveIncome": 7},
            {},
            id="other comprehensive income that exceeds a loss",
        ),
        pytest.param(
            "ifrs-full",
            {
                **{"ProfitLossBeforeTax": 13987, TAX: -54, "ProfitLoss": 13933},
                **{"OtherComprehensiveIncome": -203, "ComprehensiveIncome": -14136},
            },
            {
                "profit": "profit_attributable",
                "profit_attributable": "income_tax_expense,profit,profit_before_tax",
                "profit_before_tax": "income_tax_expense,profit,profit_attributable",
            },
            id="a loss without a sign next to a tax that has one",
        ),
        pytest.param(
            "ifrs-full",
            {
                **{"ProfitLossBeforeTax": 17674, TAX: 0, "ProfitLoss": -17674},
                **{"OtherComprehensiveIncome": 285, "ComprehensiveIncome": -17389},
            },
            {"profit_before_tax": "income_tax_expense,profit,profit_attributable"},
            id="a loss before tax without a sign next to a loss with one",
        ),
        pytest.param(
            "ifrs-full",
            {
                **{"ProfitLossBeforeTax": -134693, TAX: 1239},
                **{"ProfitLossFromContinuingOperations": -135932, "ProfitLoss": -133703},
                **{"OtherComprehensiveIncome": -1165, "ComprehensiveIncome": -134868},
            },
            {},
            id="discontinued operations without an element between sums that hold",
        ),
    ],
)
def test_a_wrong_sign_is_marked_whichever_it_is(
    taxonomy: str, elements: dict[str, int], expected: dict[str, str], sign: int
) -> None:
    turned = {element: [sign * value] for element, value in elements.items()}
    assert marks(filings(turned, taxonomy)) == expected


@pytest.mark.parametrize("slipped", ["Assets", "Liabilities", "Equity"])
@pytest.mark.parametrize("power", [Decimal("0.001"), Decimal(1000)])
def test_a_side_of_a_balance_sheet_in_another_scale_is_marked_with_the_others(
    slipped: str, power: Decimal
) -> None:
    sides = {"Assets": 103705355, "Liabilities": 60705354, "Equity": 43000001}
    sides[slipped] = int(sides[slipped] * power)
    lines = {"total_assets", "total_liabilities", "total_equity"}
    expected = {line: ",".join(sorted(lines - {line})) for line in lines}
    assert marks(filings({name: [value] for name, value in sides.items()})) == expected


def test_rounding_is_no_contradiction() -> None:
    elements = {"ProfitLossBeforeTax": [1001000], TAX: [300000], "ProfitLoss": [702000]}
    assert marks(filings(elements)) == {}


@given(before_tax=NUMBERS, tax=NUMBERS, minorities=NUMBERS, liabilities=NUMBERS, equity=NUMBERS)
def test_statements_whose_sums_hold_are_never_marked(
    before_tax: Decimal, tax: Decimal, minorities: Decimal, liabilities: Decimal, equity: Decimal
) -> None:
    values = {
        "profit_before_tax": before_tax,
        "income_tax_expense": tax,
        "profit": before_tax - tax,
        "profit_attributable": before_tax - tax - minorities,
        "profit_minority": minorities,
        "total_assets": liabilities + equity,
        "total_liabilities": liabilities,
        "total_equity": equity,
    }
    assert contradictions(values, "ifrs", Decimal(1), {}) == {}


@given(
    st.dictionaries(
        st.sampled_from(sorted({name for check in CHECKS for name in check.members})), NUMBERS
    ),
    st.sampled_from(["ifrs", "us-gaap"]),
)
def test_a_contradiction_always_names_figures_of_the_filing_and_never_itself(
    values: dict[str, Decimal], standard: str
) -> None:
    for name, others in contradictions(values, standard, Decimal(1), {}).items():
        assert others and name not in others and {name, *others} <= values.keys()


def in_pesos(**elements: list[Any]) -> Parsed:
    """Read filings for 2018 (and comparatives of 2017) that end on 31 December of two years."""
    first, second = {"accn": ACCN_1, "filed": "2019-03-08"}, {"accn": ACCN_2, "filed": "2020-03-09"}

    def facts(element: str, stated: list[Any]) -> list[dict[str, Any]]:
        start = "-" if element in ("Assets", "Equity", "Liabilities") else "2018-01-01"
        old, again, new = stated
        days = {} if start == "-" else {"start": "2019-01-01"}
        return [
            fact(val=old, start=start, **first),
            fact(val=again, start=start, **second),
            fact(val=new, **{"start": start, **days}, end="2019-12-31", **second),
        ]

    return read({name: {"ARS": facts(name, stated)} for name, stated in elements.items()})


def test_figures_under_ias_29_are_dated_by_the_end_of_the_period_of_their_filing() -> None:
    parsed = in_pesos(
        Revenue=[100, 154, 170],
        Assets=[500, 769, 800],
        Equity=[300, 461, 480],
        Liabilities=[200, 308, 320],
    )
    dates = {
        (row["publication"], row["period_end"].year): row["measuring_unit_date"]
        for row in rows(parsed)
    }
    assert dates == {
        (ACCN_1, 2018): date(2018, 12, 31),
        (ACCN_2, 2018): date(2019, 12, 31),
        (ACCN_2, 2019): date(2019, 12, 31),
    }


def test_an_issuer_that_only_presents_in_such_a_currency_restates_nothing() -> None:
    parsed = in_pesos(
        Revenue=[100, 100, 170],
        Assets=[500, 500, 800],
        Equity=[300, 300, 480],
        Liabilities=[200, 200, 320],
    )
    repeated = [row for row in rows(parsed) if row["publication"] == ACCN_2]
    assert {row.get("measuring_unit_date") for row in repeated} == {None}


def test_a_second_filing_for_the_same_period_has_the_same_measuring_unit() -> None:
    def facts(*values: int) -> list[dict[str, Any]]:
        filed = zip(values, ((ACCN_1, "2019-03-08"), (ACCN_2, "2019-04-30")), strict=True)
        return [
            fact(val=value - year, start="-", end=f"201{year}-12-31", accn=accession, filed=day)
            for value, (accession, day) in filed
            for year in (7, 8)
        ]

    names = ("Assets", "Equity", "Liabilities", "CurrentAssets")
    parsed = read({name: {"ARS": facts(9000 + n, 9000 + n)} for n, name in enumerate(names)})
    assert {row["measuring_unit_date"] for row in rows(parsed)} == {date(2018, 12, 31)}


def test_neither_us_gaap_nor_another_currency_has_a_measuring_unit() -> None:
    for parsed in (
        filings({"Revenues": [100]}, "us-gaap", "ARS"),
        filings({"Revenue": [100]}, "ifrs-full", "ZAR"),
    ):
        assert [row.get("measuring_unit_date") for row in rows(parsed)] == [None]


def test_every_line_of_the_table_is_a_currency_with_a_span() -> None:
    for currency, spans in PERIODS.items():
        assert is_currency(currency) and all(first < last for first, last in spans)
    assert not is_hyperinflationary("ARS", date(2018, 6, 30))
    assert is_hyperinflationary("ARS", date(2018, 7, 1))
    assert is_hyperinflationary("GHS", date(2024, 12, 31))
    assert not is_hyperinflationary("GHS", date(2025, 12, 31))
    assert not is_hyperinflationary("ZAR", date(2025, 12, 31))


@pytest.mark.shared
def test_the_wrong_figures_of_real_filings_are_marked() -> None:
    def marked(cik: str) -> dict[tuple[str, int, str], str]:
        body = gzip.decompress(
            (REAL / f"filings_macro/filings/companyfacts_2021/CIK{cik}.json.gz").read_bytes()
        )
        parsed = companyfacts.parse(document(body), body)
        return {
            (row["line_item"], row["period_end"].year, row["publication"]): row["conflicts_with"]
            for row in rows(parsed)
            if row.get("conflicts_with") and row["period_type"] in ("FY", "INSTANT")
        }

    materialise = marked("0001091223")
    assert materialise["cost_of_sales", 2017, "0001193125-18-178695"].startswith("cost_of_sales")
    assert materialise["income_tax_expense", 2017, "0001193125-18-178695"] == (
        "profit,profit_attributable,profit_before_tax"
    )
    # Costs in brackets in one filing only; the next one has them right, and corrects them.
    assert {key[2] for key in materialise} == {"0001193125-18-178695"}
    dht = marked("0001331284")
    assert dht["profit", 2017, "0000950157-18-000468"] == "profit_attributable"
    assert marked("0001791725")["revenue", 2020, "0001213900-21-018699"]
    # Right figures stay unmarked: mezzanine equity, results of associates after tax.
    assert not [key for key in marked("0000715153") if key[0] != "finance_costs"]
