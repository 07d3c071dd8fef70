"""The lines of an annual report, by their IFRS and US-GAAP elements."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Line:
    """One line: its name here, its element in each taxonomy, and how it is measured."""

    name: str
    ifrs: str
    us_gaap: str
    measure: Literal["flow", "stock", "per_share"]


LINES = (
    Line("revenue", "Revenue", "Revenues", "flow"),
    Line("cost_of_sales", "CostOfSales", "CostOfRevenue", "flow"),
    Line("gross_profit", "GrossProfit", "GrossProfit", "flow"),
    Line("operating_profit", "ProfitLossFromOperatingActivities", "OperatingIncomeLoss", "flow"),
    Line("finance_costs", "FinanceCosts", "InterestExpense", "flow"),
    Line(
        "profit_before_tax",
        "ProfitLossBeforeTax",
        "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItems"
        "NoncontrollingInterest",
        "flow",
    ),
    Line(
        "income_tax_expense",
        "IncomeTaxExpenseContinuingOperations",
        "IncomeTaxExpenseBenefit",
        "flow",
    ),
    Line("profit", "ProfitLoss", "ProfitLoss", "flow"),
    Line("profit_attributable", "ProfitLossAttributableToOwnersOfParent", "NetIncomeLoss", "flow"),
    Line(
        "depreciation_amortisation",
        "DepreciationAndAmortisationExpense",
        "DepreciationDepletionAndAmortization",
        "flow",
    ),
    Line("total_assets", "Assets", "Assets", "stock"),
    Line("current_assets", "CurrentAssets", "AssetsCurrent", "stock"),
    Line("cash", "CashAndCashEquivalents", "CashAndCashEquivalentsAtCarryingValue", "stock"),
    Line("inventories", "Inventories", "InventoryNet", "stock"),
    Line("receivables", "TradeAndOtherCurrentReceivables", "AccountsReceivableNetCurrent", "stock"),
    Line("payables", "TradeAndOtherCurrentPayables", "AccountsPayableCurrent", "stock"),
    Line("total_liabilities", "Liabilities", "Liabilities", "stock"),
    Line("current_liabilities", "CurrentLiabilities", "LiabilitiesCurrent", "stock"),
    Line(
        "borrowings_current",
        "CurrentBorrowingsAndCurrentPortionOfNoncurrentBorrowings",
        "DebtCurrent",
        "stock",
    ),
    Line(
        "borrowings_non_current",
        "LongtermBorrowings",
        "LongTermDebtNoncurrent",
        "stock",
    ),
    Line(
        "total_equity",
        "Equity",
        "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest",
        "stock",
    ),
    Line(
        "equity_attributable", "EquityAttributableToOwnersOfParent", "StockholdersEquity", "stock"
    ),
    Line(
        "cfo",
        "CashFlowsFromUsedInOperatingActivities",
        "NetCashProvidedByUsedInOperatingActivities",
        "flow",
    ),
    Line(
        "capex",
        "PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities",
        "PaymentsToAcquirePropertyPlantAndEquipment",
        "flow",
    ),
    Line(
        "dividends_paid",
        "DividendsPaidClassifiedAsFinancingActivities",
        "PaymentsOfDividends",
        "flow",
    ),
    Line("eps_basic", "BasicEarningsLossPerShare", "EarningsPerShareBasic", "per_share"),
    Line("eps_diluted", "DilutedEarningsLossPerShare", "EarningsPerShareDiluted", "per_share"),
)

BY_NAME = {line.name: line for line in LINES}
