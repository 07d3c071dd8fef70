"""The lines of an annual report, with the elements that state them."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class StatementLine:
    """One line: its name here, its IFRS and US-GAAP elements, and how it is measured."""

    name: str
    ifrs: str
    us_gaap: str
    measure: Literal["flow", "stock", "per_share"]


LINES = (
    StatementLine("revenue", "Revenue", "Revenues", "flow"),
    StatementLine(
        "revenue_from_contracts",
        "RevenueFromContractsWithCustomers",
        "RevenueFromContractWithCustomerExcludingAssessedTax",
        "flow",
    ),
    StatementLine(
        "interest_income", "RevenueFromInterest", "InterestAndDividendIncomeOperating", "flow"
    ),
    StatementLine(
        "net_interest_income", "InterestRevenueExpense", "InterestIncomeExpenseNet", "flow"
    ),
    StatementLine(
        "total_operating_income",
        "RevenueAndOperatingIncome",
        "RevenuesNetOfInterestExpense",
        "flow",
    ),
    StatementLine("operating_expenses", "OperatingExpense", "NoninterestExpense", "flow"),
    StatementLine(
        "loan_impairment",
        "ImpairmentLossImpairmentGainAndReversalOfImpairmentLossDeterminedInAccordanceWithIFRS9",
        "ProvisionForLoanLeaseAndOtherLosses",
        "flow",
    ),
    StatementLine("premiums", "InsuranceRevenue", "PremiumsEarnedNet", "flow"),
    StatementLine(
        "claims",
        "ClaimsAndBenefitsPaidNetOfReinsuranceRecoveries",
        "PolicyholderBenefitsAndClaimsIncurredNet",
        "flow",
    ),
    StatementLine(
        "loans",
        "LoansAndAdvancesToCustomers",
        "LoansAndLeasesReceivableNetReportedAmount",
        "stock",
    ),
    StatementLine("deposits", "DepositsFromCustomers", "Deposits", "stock"),
    StatementLine(
        "profit_minority",
        "ProfitLossAttributableToNoncontrollingInterests",
        "NetIncomeLossAttributableToNoncontrollingInterest",
        "flow",
    ),
    StatementLine("equity_minority", "NoncontrollingInterests", "MinorityInterest", "stock"),
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
