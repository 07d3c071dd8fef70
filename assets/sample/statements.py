"""The lines of an annual report, and figures of one period that add up as accounts do."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Figures = dict[str, Decimal]

_CENT = Decimal("0.01")
_THOUSAND = 1000


def statement(rng: random.Random, revenue: int, shares: int) -> Figures:
    """Return the figures of one period, made from its revenue."""
    income = _income(rng, revenue)
    balance = _balance(rng, revenue)
    cash = {
        "cfo": _part(rng, revenue, 8, 22),
        "capex": _part(rng, revenue, 3, 9),
        "dividends_paid": max(0, income["profit_attributable"] * 3 // 10 // 1000 * 1000),
    }
    figures = {name: Decimal(value) for name, value in (income | balance | cash).items()}
    return figures | _per_share(figures["profit_attributable"], shares)


def restated(figures: Mapping[str, Decimal], percent: int) -> Figures:
    """Return the figures with revenue changed by some percent, and all that depends on it."""
    change = (figures["revenue"] * percent / 100 / _THOUSAND).quantize(Decimal(1)) * _THOUSAND
    affected = ("revenue", "gross_profit", "operating_profit", "profit_before_tax", "profit")
    changed = {name: figures[name] + change for name in (*affected, "profit_attributable")}
    ratio = changed["profit_attributable"] / figures["profit_attributable"]
    per_share = {n: (figures[n] * ratio).quantize(_CENT) for n in ("eps_basic", "eps_diluted")}
    return dict(figures) | changed | per_share


def regrossed(figures: Mapping[str, Decimal], change: int) -> Figures:
    """Return the figures with assets and liabilities raised by the same amount."""
    affected = ("total_assets", "total_liabilities", "current_assets", "receivables")
    return dict(figures) | {name: figures[name] + change for name in affected}


def translated(figures: Mapping[str, Decimal], rate: Decimal) -> Figures:
    """Return every amount divided by a rate, in whole units; per share to the cent."""
    return {
        name: (value / rate).quantize(_CENT if name.startswith("eps") else Decimal(1))
        for name, value in figures.items()
    }


def _income(rng: random.Random, revenue: int) -> dict[str, int]:
    cost = _part(rng, revenue, 50, 68)
    operating = revenue - cost - _part(rng, revenue, 12, 20)
    finance = _part(rng, revenue, 1, 4)
    before_tax = operating - finance
    tax = max(0, before_tax * 27 // 100 // 1000 * 1000)
    profit = before_tax - tax
    return {
        "revenue": revenue,
        "cost_of_sales": cost,
        "gross_profit": revenue - cost,
        "operating_profit": operating,
        "finance_costs": finance,
        "profit_before_tax": before_tax,
        "income_tax_expense": tax,
        "profit": profit,
        "profit_attributable": profit - profit * 4 // 100 // 1000 * 1000,
        "depreciation_amortisation": _part(rng, revenue, 4, 8),
    }


def _balance(rng: random.Random, revenue: int) -> dict[str, int]:
    assets = _part(rng, revenue, 110, 160)
    cash, stock, owed = (_part(rng, assets, low, low + 6) for low in (4, 7, 9))
    payables, short_debt = _part(rng, assets, 5, 10), _part(rng, assets, 2, 6)
    current_liabilities = payables + short_debt + _part(rng, assets, 2, 5)
    long_debt = _part(rng, assets, 12, 22)
    liabilities = current_liabilities + long_debt + _part(rng, assets, 3, 8)
    # The accounting identity holds exactly, so that any deviation found later is an error.
    equity = assets - liabilities
    return {
        "total_assets": assets,
        "current_assets": cash + stock + owed + _part(rng, assets, 1, 3),
        "cash": cash,
        "inventories": stock,
        "receivables": owed,
        "payables": payables,
        "total_liabilities": liabilities,
        "current_liabilities": current_liabilities,
        "borrowings_current": short_debt,
        "borrowings_non_current": long_debt,
        "total_equity": equity,
        "equity_attributable": equity - equity * 5 // 100 // 1000 * 1000,
    }


def _per_share(profit: Decimal, shares: int) -> Figures:
    basic = (profit / shares).quantize(_CENT)
    return {"eps_basic": basic, "eps_diluted": (basic * 98 / 100).quantize(_CENT)}


def _part(rng: random.Random, whole: int, low: int, high: int) -> int:
    return whole * rng.randrange(low * 10, high * 10) // 1000 // _THOUSAND * _THOUSAND


@dataclass(frozen=True)
class StatementLine:
    """One line: its name here, its IFRS and US-GAAP elements, and how it is measured."""

    name: str
    ifrs: str
    us_gaap: str
    measure: Literal["flow", "stock", "per_share"]


LINES = (
    StatementLine("revenue", "Revenue", "Revenues", "flow"),
    StatementLine("cost_of_sales", "CostOfSales", "CostOfRevenue", "flow"),
    StatementLine("gross_profit", "GrossProfit", "GrossProfit", "flow"),
    StatementLine(
        "operating_profit", "ProfitLossFromOperatingActivities", "OperatingIncomeLoss", "flow"
    ),
    StatementLine("finance_costs", "FinanceCosts", "InterestExpense", "flow"),
    StatementLine(
        "profit_before_tax",
        "ProfitLossBeforeTax",
        "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItems"
        "NoncontrollingInterest",
        "flow",
    ),
    StatementLine(
        "income_tax_expense",
        "IncomeTaxExpenseContinuingOperations",
        "IncomeTaxExpenseBenefit",
        "flow",
    ),
    StatementLine("profit", "ProfitLoss", "ProfitLoss", "flow"),
    StatementLine(
        "profit_attributable", "ProfitLossAttributableToOwnersOfParent", "NetIncomeLoss", "flow"
    ),
    StatementLine(
        "depreciation_amortisation",
        "DepreciationAndAmortisationExpense",
        "DepreciationDepletionAndAmortization",
        "flow",
    ),
    StatementLine("total_assets", "Assets", "Assets", "stock"),
    StatementLine("current_assets", "CurrentAssets", "AssetsCurrent", "stock"),
    StatementLine(
        "cash", "CashAndCashEquivalents", "CashAndCashEquivalentsAtCarryingValue", "stock"
    ),
    StatementLine("inventories", "Inventories", "InventoryNet", "stock"),
    StatementLine(
        "receivables", "TradeAndOtherCurrentReceivables", "AccountsReceivableNetCurrent", "stock"
    ),
    StatementLine("payables", "TradeAndOtherCurrentPayables", "AccountsPayableCurrent", "stock"),
    StatementLine("total_liabilities", "Liabilities", "Liabilities", "stock"),
    StatementLine("current_liabilities", "CurrentLiabilities", "LiabilitiesCurrent", "stock"),
    StatementLine(
        "borrowings_current",
        "CurrentBorrowingsAndCurrentPortionOfNoncurrentBorrowings",
        "DebtCurrent",
        "stock",
    ),
    StatementLine(
        "borrowings_non_current",
        "LongtermBorrowings",
        "LongTermDebtNoncurrent",
        "stock",
    ),
    StatementLine(
        "total_equity",
        "Equity",
        "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest",
        "stock",
    ),
    StatementLine(
        "equity_attributable", "EquityAttributableToOwnersOfParent", "StockholdersEquity", "stock"
    ),
    StatementLine(
        "cfo",
        "CashFlowsFromUsedInOperatingActivities",
        "NetCashProvidedByUsedInOperatingActivities",
        "flow",
    ),
    StatementLine(
        "capex",
        "PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities",
        "PaymentsToAcquirePropertyPlantAndEquipment",
        "flow",
    ),
    StatementLine(
        "dividends_paid",
        "DividendsPaidClassifiedAsFinancingActivities",
        "PaymentsOfDividends",
        "flow",
    ),
    StatementLine("eps_basic", "BasicEarningsLossPerShare", "EarningsPerShareBasic", "per_share"),
    StatementLine(
        "eps_diluted", "DilutedEarningsLossPerShare", "EarningsPerShareDiluted", "per_share"
    ),
)

LINES_BY_NAME = {line.name: line for line in LINES}
