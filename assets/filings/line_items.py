"""Which taxonomy elements state which line item, in the order of preference, as data.

Two elements of one line item that disagree in one filing leave the figure absent: so an
element stands here only if it means the whole of the line, never a part of it.
"""

from dataclasses import dataclass
from typing import Literal

IFRS, US_GAAP = "ifrs-full", "us-gaap"
STANDARDS = {IFRS: "ifrs", US_GAAP: "us-gaap"}
# The cover page of a filing, whatever standard its statements follow.
COVER = "dei"

Kind = Literal["instant", "duration"]
Measure = Literal["money", "money per share", "shares"]
Element = tuple[str, str]


@dataclass(frozen=True)
class LineItem:
    """One line of a statement, and the elements that state it."""

    name: str
    statement: str
    kind: Kind
    elements: tuple[Element, ...]
    measure: Measure = "money"


def _line(
    name: str,
    statement: str,
    ifrs: str,
    us_gaap: str,
    cover: str = "",
    measure: Measure = "money",
) -> LineItem:
    kind: Kind = "instant" if statement == "balance" else "duration"
    by_taxonomy = ((IFRS, ifrs), (US_GAAP, us_gaap), (COVER, cover))
    elements = tuple((taxonomy, name) for taxonomy, names in by_taxonomy for name in names.split())
    return LineItem(name, statement, kind, elements, measure)


_PRETAX = (
    "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest"
)
_ALL_EQUITY = "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"
_CURRENT_DEBT = "CurrentBorrowingsAndCurrentPortionOfNoncurrentBorrowings"

LINE_ITEMS: tuple[LineItem, ...] = (
    _line(
        "revenue",
        "income",
        "Revenue",
        # The element of ASC 606 first; SalesRevenueNet was retired with its introduction.
        "RevenueFromContractWithCustomerExcludingAssessedTax Revenues SalesRevenueNet",
    ),
    _line("cost_of_sales", "income", "CostOfSales", "CostOfRevenue CostOfGoodsAndServicesSold"),
    _line("gross_profit", "income", "GrossProfit", "GrossProfit"),
    _line("operating_profit", "income", "ProfitLossFromOperatingActivities", "OperatingIncomeLoss"),
    _line("finance_costs", "income", "FinanceCosts", "InterestExpense"),
    _line("profit_before_tax", "income", "ProfitLossBeforeTax", _PRETAX),
    _line(
        "income_tax_expense",
        "income",
        "IncomeTaxExpenseContinuingOperations",
        "IncomeTaxExpenseBenefit",
    ),
    _line("profit", "income", "ProfitLoss", "ProfitLoss"),
    _line(
        "profit_attributable", "income", "ProfitLossAttributableToOwnersOfParent", "NetIncomeLoss"
    ),
    _line(
        "depreciation_amortisation",
        "income",
        "DepreciationAndAmortisationExpense AdjustmentsForDepreciationAndAmortisationExpense",
        "DepreciationDepletionAndAmortization DepreciationAndAmortization",
    ),
    _line("total_assets", "balance", "Assets", "Assets"),
    _line("current_assets", "balance", "CurrentAssets", "AssetsCurrent"),
    _line("cash", "balance", "CashAndCashEquivalents", "CashAndCashEquivalentsAtCarryingValue"),
    _line("inventories", "balance", "Inventories", "InventoryNet"),
    _line(
        "receivables",
        "balance",
        "TradeAndOtherCurrentReceivables",
        "ReceivablesNetCurrent AccountsReceivableNetCurrent",
    ),
    _line("payables", "balance", "TradeAndOtherCurrentPayables", "AccountsPayableCurrent"),
    _line("total_liabilities", "balance", "Liabilities", "Liabilities"),
    _line("current_liabilities", "balance", "CurrentLiabilities", "LiabilitiesCurrent"),
    _line("borrowings_current", "balance", _CURRENT_DEBT, "DebtCurrent"),
    _line("borrowings_non_current", "balance", "LongtermBorrowings", "LongTermDebtNoncurrent"),
    _line("total_equity", "balance", "Equity", _ALL_EQUITY),
    _line(
        "equity_attributable", "balance", "EquityAttributableToOwnersOfParent", "StockholdersEquity"
    ),
    _line(
        "cfo",
        "cash_flow",
        "CashFlowsFromUsedInOperatingActivities",
        "NetCashProvidedByUsedInOperatingActivities",
    ),
    _line(
        "capex",
        "cash_flow",
        "PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities",
        "PaymentsToAcquirePropertyPlantAndEquipment",
    ),
    _line(
        "dividends_paid",
        "cash_flow",
        "DividendsPaidClassifiedAsFinancingActivities",
        "PaymentsOfDividends",
    ),
    _line(
        "eps_basic",
        "income",
        "BasicEarningsLossPerShare",
        "EarningsPerShareBasic",
        measure="money per share",
    ),
    _line(
        "eps_diluted",
        "income",
        "DilutedEarningsLossPerShare",
        "EarningsPerShareDiluted",
        measure="money per share",
    ),
    _line(
        "shares_outstanding",
        "balance",
        "NumberOfSharesOutstanding",
        "CommonStockSharesOutstanding",
        cover="EntityCommonStockSharesOutstanding",
        measure="shares",
    ),
)

# From an element to its line item and its place in the order of preference.
BY_ELEMENT: dict[Element, tuple[LineItem, int]] = {
    element: (item, rank) for item in LINE_ITEMS for rank, element in enumerate(item.elements)
}
