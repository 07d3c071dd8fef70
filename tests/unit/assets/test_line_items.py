"""The table of line items: its elements are those of the taxonomies, and the whole wins."""

import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings.cvm import ACCOUNTS
from assets.filings.line_items import BY_ELEMENT
from tests.helpers.filings import ACCN_2, fact, read, real, reasons, report, report_fact, rows
from tests.helpers.paths import ROOT
from warehouse.methodology.line_items import LINE_ITEMS

# Name, balance and period type of elements as the taxonomies define them, written from the schema
# of US GAAP 2020 (retired elements: the list of tags of the SEC's data sets, 2009), and the names
# of the IFRS Taxonomy 2016 with its later additions.
TAXONOMIES = ROOT / "tests" / "data" / "taxonomy_elements.csv"


def defined() -> dict[tuple[str, str], tuple[str, str]]:
    with TAXONOMIES.open(encoding="utf-8") as lines:
        return {
            (row["taxonomy"], row["element"]): (row["balance"], row["period"])
            for row in csv.DictReader(lines)
        }


def test_every_element_is_defined_by_its_taxonomy_with_this_balance_and_period() -> None:
    of_taxonomies = defined()
    for (taxonomy, names), found in BY_ELEMENT.items():
        for name in names.split(" + ") if taxonomy else ():
            assert of_taxonomies.get((taxonomy, name)) == (found.balance or "", found.kind), name


def unzipped(path: Path, body: bytes) -> bytes:
    return gzip.decompress(body) if path.suffix == ".gz" else body


@pytest.mark.shared
def test_most_elements_are_used_by_real_filings() -> None:
    used = {
        (taxonomy, element)
        for folder in ("companyfacts", "companyfacts_2021")
        for path, body in real(folder)
        if ".json" in path.name
        for taxonomy, elements in json.loads(unzipped(path, body))["facts"].items()
        for element in elements
    }
    elements = {name for name, element in BY_ELEMENT.items() if len(element.parts) == 1}
    assert len(elements & used) / len(elements) > 0.85


def test_a_line_is_stated_by_elements_of_its_kind() -> None:
    for element in BY_ELEMENT.values():
        for place in element.places:
            assert place.item.kind == element.kind, element.name


def test_every_line_has_a_whole_and_every_evidence_can_be_shown() -> None:
    places = [place for element in BY_ELEMENT.values() for place in element.places]
    lines = Counter(place.item.name for place in places if place.rank)
    of_charts = {account.item.name for account in ACCOUNTS}
    assert set(lines) | of_charts == {item.name for item in LINE_ITEMS}
    shown = {what for element in BY_ELEMENT.values() for what in element.shows}
    assert {what for place in places for what in place.unless} <= shown


def stated(parsed: Any, line_item: str) -> list[tuple[str, int]]:
    return [
        (row["element"].partition(":")[2], int(row["value_reported"]))
        for row in rows(parsed)
        if row["line_item"] == line_item
    ]


def usd(*facts: Any) -> dict[str, list[Any]]:
    return {"USD": list(facts)}


def test_the_wider_total_wins() -> None:
    elements = {
        "Revenues": usd(fact(val=120)),
        "RevenueFromContractWithCustomerExcludingAssessedTax": usd(fact(val=100)),
    }
    parsed = read(elements, "us-gaap")
    assert stated(parsed, "revenue") == [("Revenues", 120)] and reasons(parsed) == []


def test_the_profit_of_ordinary_shareholders_is_nearer_to_the_owners_than_all_profit() -> None:
    ordinary = "ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity"
    earlier = {"start": "2017-01-01", "end": "2017-12-31"}
    elements = {
        "ProfitLoss": usd(fact(val=971), fact(val=80, **earlier)),
        ordinary: usd(fact(val=953)),
    }
    parsed = read(elements)
    # That both differ shows minorities, also in the year for which only one is stated.
    assert stated(parsed, "profit_attributable") == [(ordinary, 953)]
    assert stated(parsed, "profit") == [("ProfitLoss", 971), ("ProfitLoss", 80)]


@pytest.mark.parametrize(
    ("wide", "expected"), [(41, ("AccountsReceivableNetCurrent", 1123)), (1099, None), (1201, None)]
)
def test_receivables_that_are_a_fraction_of_those_from_trade_are_the_others(
    wide: int, expected: tuple[str, int] | None
) -> None:
    whole = "AccountsAndOtherReceivablesNetCurrent"
    elements = {
        whole: usd(fact(val=wide, start="-")),
        "AccountsReceivableNetCurrent": usd(fact(val=1123, start="-")),
    }
    assert stated(read(elements, "us-gaap"), "receivables") == [expected or (whole, wide)]


def test_a_small_fraction_of_all_capital_expenditure_is_a_figure_of_a_note() -> None:
    bought = "PurchaseOfPropertyPlantAndEquipment"
    wide = f"{bought}IntangibleAssetsOtherThanGoodwillInvestmentPropertyAndOtherNoncurrentAssets"
    own = f"{bought}ClassifiedAsInvestingActivities"
    for value, expected in ((601, (wide, 41935)), (30000, (own, 30000))):
        elements = {own: usd(fact(val=value)), wide: usd(fact(val=41935))}
        assert stated(read(elements), "capex") == [expected]


def test_a_part_never_stands_for_the_whole_and_others_are_not_added_up() -> None:
    elements = {
        "SalesRevenueGoodsNet": usd(fact(val=80)),
        "SalesRevenueServicesNet": usd(fact(val=20)),
    }
    assert stated(read(elements, "us-gaap"), "revenue") == []
    (goods, _) = elements.items()
    assert stated(read(dict([goods]), "us-gaap"), "revenue") == [("SalesRevenueGoodsNet", 80)]


def debts(**values: int) -> Any:
    elements = {name: usd(fact(val=value, start="-")) for name, value in values.items()}
    return read(elements, "ifrs-full" if "Equity" in values else "us-gaap")


SHORT, CURRENT, LONG = "ShortTermBorrowings", "LongTermDebtCurrent", "LongTermDebtNoncurrent"


def test_parts_that_are_declared_to_be_the_whole_are_added_up() -> None:
    parsed = debts(ShortTermBorrowings=5, LongTermDebtCurrent=2, LongTermDebtNoncurrent=30)
    assert stated(parsed, "borrowings_current") == [(f"{SHORT} + {CURRENT}", 7)]
    assert stated(parsed, "borrowings_non_current") == [(LONG, 30)]
    assert stated(parsed, "total_borrowings") == [(f"{SHORT} + {CURRENT} + {LONG}", 37)]
    (row,) = (row for row in rows(parsed) if row["line_item"] == "total_borrowings")
    assert row["element"].startswith("us-gaap:") and row["statement"] == "balance"
    assert row["source_ref"].endswith(f"/facts/us-gaap/{SHORT}/units/USD/0")


@pytest.mark.parametrize(
    "others",
    [
        # No current part.
        {"LongTermDebtNoncurrent": 30},
        # What is current may be short-term debt as well as the current portion.
        {"LongTermDebtCurrent": 2, "CommercialPaper": 4, "OtherShortTermBorrowings": 1},
        # Notes are stated apart from the debt.
        {"ShortTermBorrowings": 5, "LongTermDebtCurrent": 2, "NotesPayableCurrent": 3},
        # Brackets of the printed page: the part is not what it is named.
        {"ShortTermBorrowings": 5, "LongTermDebtCurrent": -2},
        {"LongTermDebt": 30, "LineOfCredit": 9},
    ],
)
def test_a_sum_with_a_part_missing_or_a_further_part_is_absent(others: dict[str, int]) -> None:
    parsed = debts(**{"LongTermDebtNoncurrent": 30, **others})
    assert stated(parsed, "total_borrowings") == []


def test_debt_without_a_current_portion_is_all_debt_unless_there_is_more() -> None:
    assert stated(debts(LongTermDebt=30), "total_borrowings") == [("LongTermDebt", 30)]
    both = debts(LongTermDebt=30, ShortTermBorrowings=5)
    assert stated(both, "total_borrowings") == [(f"{SHORT} + LongTermDebt", 35)]
    assert stated(debts(LongTermDebt=30, CommercialPaper=5), "total_borrowings") == []


def test_a_total_that_is_stated_wins_over_its_parts_and_is_never_less_than_they_are() -> None:
    whole = "DebtLongtermAndShorttermCombinedAmount"
    parts = {"DebtCurrent": 7, "LongTermDebtNoncurrent": 30}
    assert stated(debts(**{whole: 37}, **parts), "total_borrowings") == [(whole, 37)]
    # More than both: leases, or bonds that are stated apart.
    assert stated(debts(**{whole: 40}, **parts), "total_borrowings") == [(whole, 40)]
    narrow = debts(**{whole: 30}, **parts)
    assert stated(narrow, "total_borrowings") == [(f"DebtCurrent + {LONG}", 37)]
    # Against a sum that is ours nothing tells which is right: all are marked.
    doubtful = debts(**{whole: 351, SHORT: 72, CURRENT: 21, LONG: 283})
    marked = {row["line_item"]: row.get("conflicts_with") for row in rows(doubtful)}
    assert marked["total_borrowings"] == "borrowings_current,borrowings_non_current"


def test_borrowings_that_are_less_than_the_bonds_do_not_include_them() -> None:
    bonds = "NoncurrentPortionOfNoncurrentBondsIssued"
    apart = debts(Equity=9, LongtermBorrowings=2, **{bonds: 254})
    assert stated(apart, "borrowings_non_current") == [(f"LongtermBorrowings + {bonds}", 256)]
    included = debts(Equity=9, LongtermBorrowings=260, **{bonds: 254})
    assert stated(included, "borrowings_non_current") == [("LongtermBorrowings", 260)]


def test_a_total_that_is_less_than_one_kind_of_debt_is_marked() -> None:
    notes = "NoncurrentPortionOfNoncurrentNotesAndDebenturesIssued"
    for total, mark in ((8874, "borrowings_non_current"), (12345, None)):
        parsed = debts(Equity=9, Borrowings=total, **{notes: 10109})
        marked = {row["line_item"]: row.get("conflicts_with") for row in rows(parsed)}
        assert marked == {"total_equity": None, "equity_attributable": None} | {
            "total_borrowings": mark
        }


def test_a_loan_in_another_currency_is_not_all_debt() -> None:
    pesos = {"MXN": [fact(val=85, start="-"), fact(val=80, start="-", end="2017-12-31")]}
    elements = {"Equity": pesos, "Assets": pesos, "Borrowings": {**pesos, **usd(fact(start="-"))}}
    assert {row["unit"] for row in rows(read(elements))} == {"MXN"}
    elements["Borrowings"] = usd(fact(start="-"))
    assert stated(read(elements), "total_borrowings") == []


def test_a_sum_is_no_reason_to_leave_out_the_total_of_which_it_has_more_digits() -> None:
    elements = {
        "IncomeTaxExpenseBenefit": usd(fact(val=180_000)),
        "CurrentIncomeTaxExpenseBenefit": usd(fact(val=170_012)),
        "DeferredIncomeTaxExpenseBenefit": usd(fact(val=9_988)),
    }
    parsed = read(elements, "us-gaap")
    assert stated(parsed, "income_tax_expense") == [("IncomeTaxExpenseBenefit", 180_000)]
    elements.pop("IncomeTaxExpenseBenefit")
    names = "CurrentIncomeTaxExpenseBenefit + DeferredIncomeTaxExpenseBenefit"
    assert stated(read(elements, "us-gaap"), "income_tax_expense") == [(names, 180_000)]


DEBTS = sorted(
    name
    for (taxonomy, name), element in BY_ELEMENT.items()
    if taxonomy == "us-gaap" and "borrowings" in element.item.name and len(element.parts) == 1
)


@given(column=st.dictionaries(st.sampled_from(DEBTS), st.integers(-3, 9), max_size=6))
def test_a_sum_is_that_of_the_elements_it_names_each_once(column: dict[str, int]) -> None:
    for row in rows(debts(**column)):
        names = row["element"].partition(":")[2].split(" + ")
        assert len(names) == len(set(names)) and set(names) <= set(column)
        assert row["value_reported"] == sum(column[name] for name in names)
        assert len(names) == 1 or all(column[name] >= 0 for name in names)


def test_what_differs_from_a_wider_total_in_one_period_is_a_part_in_all_periods() -> None:
    before = {"start": "2017-01-01", "end": "2017-12-31"}
    elements = {
        "Revenues": usd(fact(val=120)),
        "RevenueFromContractWithCustomerExcludingAssessedTax": usd(
            fact(val=100), fact(val=90, **before)
        ),
    }
    assert stated(read(elements, "us-gaap"), "revenue") == [("Revenues", 120)]


def test_another_filing_does_not_decide_what_is_a_part() -> None:
    later = {"accn": ACCN_2, "filed": "2020-04-06"}
    narrow = "RevenueFromContractWithCustomerExcludingAssessedTax"
    elements = {"Revenues": usd(fact(val=120, **later)), narrow: usd(fact(val=100))}
    found = stated(read(elements, "us-gaap"), "revenue")
    assert sorted(found) == [(narrow, 100), ("Revenues", 120)]


def test_the_profit_of_the_owners_is_the_profit_of_a_filer_without_minorities() -> None:
    alone = read({"NetIncomeLoss": usd(fact(val=50))}, "us-gaap")
    assert (
        stated(alone, "profit") == stated(alone, "profit_attributable") == [("NetIncomeLoss", 50)]
    )
    share = "NetIncomeLossAttributableToNoncontrollingInterest"
    shared = read({"NetIncomeLoss": usd(fact(val=50)), share: usd(fact(val=7))}, "us-gaap")
    assert stated(shared, "profit") == []
    assert stated(shared, "profit_attributable") == [("NetIncomeLoss", 50)]
    assert stated(shared, "profit_minority") == [(share, 7)]


def test_a_zero_shows_nothing() -> None:
    share = "NetIncomeLossAttributableToNoncontrollingInterest"
    parsed = read({"NetIncomeLoss": usd(fact(val=50)), share: usd(fact(val=0))}, "us-gaap")
    assert stated(parsed, "profit") == [("NetIncomeLoss", 50)]


def test_no_element_is_evidence_against_itself() -> None:
    elements = {
        "RoyaltyRevenue": usd(fact(val=5), fact(val=4, start="2017-01-01", end="2017-12-31"))
    }
    assert len(stated(read(elements, "us-gaap"), "revenue")) == 2


def test_equity_of_the_owners_is_all_equity_beside_a_minority_in_temporary_equity() -> None:
    elements = {
        "StockholdersEquity": usd(fact(start="-", val=50)),
        "RedeemableNoncontrollingInterestEquityCarryingAmount": usd(fact(start="-", val=7)),
    }
    parsed = read(elements, "us-gaap")
    assert stated(parsed, "total_equity") == [("StockholdersEquity", 50)]
    elements["MinorityInterest"] = usd(fact(start="-", val=3))
    assert stated(read(elements, "us-gaap"), "total_equity") == []


def test_cash_flow_of_continuing_operations_is_all_of_it_if_nothing_was_discontinued() -> None:
    continuing = "NetCashProvidedByUsedInOperatingActivitiesContinuingOperations"
    elements = {continuing: usd(fact(val=30))}
    assert stated(read(elements, "us-gaap"), "cfo") == [(continuing, 30)]
    elements["CashProvidedByUsedInOperatingActivitiesDiscontinuedOperations"] = usd(fact(val=2))
    assert stated(read(elements, "us-gaap"), "cfo") == []


def test_depreciation_is_no_depreciation_and_amortisation_beside_amortisation() -> None:
    elements = {"Depreciation": usd(fact(val=9))}
    assert stated(read(elements, "us-gaap"), "depreciation_amortisation") == [("Depreciation", 9)]
    elements["AmortizationOfIntangibleAssets"] = usd(fact(val=2))
    parsed = read(elements, "us-gaap")
    assert stated(parsed, "depreciation_amortisation") == []
    assert stated(parsed, "depreciation") == [("Depreciation", 9)]


def test_a_sum_that_the_filing_states_decides_which_element_is_the_whole() -> None:
    narrow = "RevenueFromContractWithCustomerExcludingAssessedTax"
    elements = {
        # A note about one customer, under the element of the total.
        "Revenues": usd(fact(val=29)),
        narrow: usd(fact(val=270)),
        "CostsAndExpenses": usd(fact(val=280)),
        "OperatingIncomeLoss": usd(fact(val=-10)),
    }
    assert stated(read(elements, "us-gaap"), "revenue") == [(narrow, 270)]


def test_a_part_that_cannot_be_read_is_no_rejection() -> None:
    parsed = read({"AmortizationOfIntangibleAssets": usd({"rubbish": True})}, "us-gaap")
    assert rows(parsed) == [] and reasons(parsed) == []


def test_a_report_in_xbrl_json_follows_the_same_table() -> None:
    owners = report_fact("50", concept="ifrs-full:ProfitLossAttributableToOwnersOfParent")
    alone = report(owners)
    assert stated(alone, "profit") == [("ProfitLossAttributableToOwnersOfParent", 50)]
    share = report_fact("5", concept="ifrs-full:ProfitLossAttributableToNoncontrollingInterests")
    assert stated(report(owners, share), "profit") == []


ELEMENTS = sorted(
    name
    for (taxonomy, name), element in BY_ELEMENT.items()
    if taxonomy == "us-gaap"
    and element.kind == "duration"
    and element.item.name in ("revenue", "profit", "cfo", "depreciation_amortisation")
)
COLUMNS = st.dictionaries(st.sampled_from(ELEMENTS), st.integers(1, 9), max_size=6)


@given(first=COLUMNS, second=COLUMNS)
def test_what_a_filing_states_does_not_change_with_a_later_filing(
    first: dict[str, int], second: dict[str, int]
) -> None:
    later = {"accn": ACCN_2, "filed": "2020-04-06"}
    before = {name: usd(fact(val=value)) for name, value in first.items()}
    both: dict[str, dict[str, list[Any]]] = {name: usd() for name in first.keys() | second.keys()}
    for name, value in first.items():
        both[name]["USD"].append(fact(val=value))
    for name, value in second.items():
        both[name]["USD"].append(fact(val=value, **later))

    def of_first(parsed: Any) -> list[tuple[Any, ...]]:
        members = ("line_item", "element", "value_reported")
        return sorted(
            tuple(row[name] for name in members)
            for row in rows(parsed)
            if row["publication"] != ACCN_2
        )

    assert of_first(read(both, "us-gaap")) == of_first(read(before, "us-gaap"))


@given(column=COLUMNS)
def test_a_figure_is_always_a_value_that_its_filing_states_under_that_element(
    column: dict[str, int],
) -> None:
    parsed = read({name: usd(fact(val=value)) for name, value in column.items()}, "us-gaap")
    for row in rows(parsed):
        assert column[row["element"].partition(":")[2]] == row["value_reported"]
    figures = [(row["line_item"], row["period_end"]) for row in rows(parsed)]
    assert len(figures) == len(set(figures))
