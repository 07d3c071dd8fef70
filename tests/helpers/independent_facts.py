"""What filings state, read from companyfacts without any code of the product.

An accountant's reading of twelve lines for each fiscal year and each filing: which element is the
total is judged line by line, from the definitions of the taxonomies and the other figures of the
same column. It shares nothing with ``assets``: agreement of both is evidence.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

BALANCES = ("total_assets", "total_equity", "total_liabilities", "cash")


@dataclass
class Filing:
    """One filing: its columns by unit and period, and the elements with a value other than 0."""

    accession: str
    filed: str
    columns: dict[tuple[str, str, str], dict[str, Decimal]] = field(default_factory=dict)
    nonzero: set[str] = field(default_factory=set)

    def has(self, *elements: str) -> bool:
        return not self.nonzero.isdisjoint(elements)


@dataclass(frozen=True)
class Stated:
    """A figure of a fiscal year as one filing states it."""

    line: str
    unit: str
    start: str
    end: str
    accession: str
    filed: str
    value: Decimal


def load(path: Path) -> dict[str, Any]:
    body = path.read_bytes()
    text = gzip.decompress(body) if path.suffix == ".gz" else body
    company: dict[str, Any] = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    return company


def filings(company: dict[str, Any], taxonomy: str) -> list[Filing]:
    """Return the filings that use a taxonomy, oldest first."""
    found: dict[str, Filing] = {}
    seen: dict[tuple[str, tuple[str, str, str], str], set[Decimal]] = defaultdict(set)
    for element, about in company["facts"].get(taxonomy, {}).items():
        for unit, facts in about["units"].items():
            if len(unit) != 3 or not unit.isupper():
                continue
            for fact in facts:
                if fact["val"] is None or fact["end"] > fact["filed"]:
                    continue
                filing = found.setdefault(fact["accn"], Filing(fact["accn"], fact["filed"]))
                column = unit, fact.get("start") or "", fact["end"]
                seen[fact["accn"], column, element].add(fact["val"])
                if fact["val"]:
                    filing.nonzero.add(element)
    for (accession, column, element), values in seen.items():
        # A filing that contradicts itself about an element states nothing by it.
        if len(values) == 1:
            found[accession].columns.setdefault(column, {})[element] = next(iter(values))
    return sorted(found.values(), key=lambda filing: (filing.filed, filing.accession))


def is_year(start: str, end: str) -> bool:
    days = (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    return 350 <= days <= 380


Column = dict[str, Decimal]
Judge = Callable[[Filing, Column], Decimal | None]


def first(column: Column, *elements: str) -> Decimal | None:
    return next((column[name] for name in elements if name in column), None)


def us_revenue(filing: Filing, column: Column) -> Decimal | None:
    totals = (
        "Revenues",
        "RevenuesNetOfInterestExpense",
        "SalesRevenueNet",
        "RevenueFromContractWithCustomerExcludingAssessedTax",
        "RevenueFromContractWithCustomerIncludingAssessedTax",
        "RegulatedAndUnregulatedOperatingRevenue",
        "HealthCareOrganizationRevenue",
        "RealEstateRevenueNet",
    )
    stated = [column[name] for name in totals if name in column]
    cost = first(column, "CostOfRevenue", "CostOfGoodsAndServicesSold")
    if cost is not None and "GrossProfit" in column and column["GrossProfit"] + cost in stated:
        return column["GrossProfit"] + cost
    if stated:
        # The first is the total, unless it is so small that it must be a figure of a note. Others
        # may be larger by the sales taxes that the total leaves out.
        return (
            stated[0] if 2 * abs(stated[0]) >= abs(max(stated, key=abs)) else max(stated, key=abs)
        )
    kinds = {
        name
        for name in filing.nonzero
        if name.startswith("SalesRevenue")
        or name in ("OtherSalesRevenueNet", "RoyaltyRevenue", "LicensesRevenue")
    }
    if len(kinds) == 1:
        return column.get(next(iter(kinds)))
    return None


def us_profit(filing: Filing, column: Column) -> Decimal | None:
    if "ProfitLoss" in column:
        return column["ProfitLoss"]
    # What belongs to minorities is deducted, and stated, before the owners' share; a balance of
    # minorities without a share of the profit is none.
    shares = {
        name
        for name in filing.nonzero
        if name == "ProfitLoss"
        or name.startswith("MinorityInterestInNetIncomeLoss")
        or (name.startswith("NetIncomeLossAttributableTo") and "ontrollingInterest" in name)
    }
    if shares:
        return None
    return column.get("NetIncomeLoss")


def us_equity(filing: Filing, column: Column) -> Decimal | None:
    with_minorities = "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"
    if with_minorities in column:
        return column[with_minorities]
    if filing.has("MinorityInterest"):
        return None
    return first(column, "StockholdersEquity", "PartnersCapital", "MembersEquity")


def us_cfo(filing: Filing, column: Column) -> Decimal | None:
    total, continuing = (
        "NetCashProvidedByUsedInOperatingActivities",
        "NetCashProvidedByUsedInOperatingActivitiesContinuingOperations",
    )
    if total in column:
        return column[total]
    if filing.has("CashProvidedByUsedInOperatingActivitiesDiscontinuedOperations"):
        return None
    return column.get(continuing)


def us_capex(_: Filing, column: Column) -> Decimal | None:
    return first(
        column, "PaymentsToAcquirePropertyPlantAndEquipment", "PaymentsToAcquireProductiveAssets"
    )


def us_pretax(_: Filing, column: Column) -> Decimal | None:
    before = "IncomeLossFromContinuingOperationsBeforeIncomeTaxes"
    return first(
        column,
        f"{before}ExtraordinaryItemsNoncontrollingInterest",
        f"{before}MinorityInterestAndIncomeLossFromEquityMethodInvestments",
    )


def us_depreciation(filing: Filing, column: Column) -> Decimal | None:
    whole = first(
        column,
        "DepreciationDepletionAndAmortization",
        "DepreciationAmortizationAndAccretionNet",
        "DepreciationAndAmortization",
    )
    if whole is not None:
        return whole
    amortised = {
        name
        for name in filing.nonzero
        if name in ("AmortizationOfIntangibleAssets", "AdjustmentForAmortization")
        or name.startswith("CapitalizedComputerSoftwareAmortization")
        or (name.startswith("Depreciation") and "mortization" in name)
        or name == "OtherDepreciationAndAmortization"
    }
    return None if amortised else column.get("Depreciation")


def us_cash(filing: Filing, column: Column) -> Decimal | None:
    own = first(column, "CashAndCashEquivalentsAtCarryingValue", "CashAndDueFromBanks")
    if own is not None:
        return own
    if "Cash" in column and not filing.has(
        "CashEquivalentsAtCarryingValue", "CashAndCashEquivalentsAtCarryingValue"
    ):
        return column["Cash"]
    restricted = any(name.startswith("RestrictedCash") for name in filing.nonzero)
    if restricted or filing.has("CashAndCashEquivalentsAtCarryingValue"):
        return None
    return column.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")


def element(*names: str) -> Judge:
    return lambda _, column: first(column, *names)


def ifrs_revenue(filing: Filing, column: Column) -> Decimal | None:
    totals = ("Revenue", "RevenueFromContractsWithCustomers", "InsuranceRevenue")
    stated = [column[name] for name in totals if name in column]
    if "GrossProfit" in column and "CostOfSales" in column:
        total = column["GrossProfit"] + column["CostOfSales"]
        if total in stated:
            return total
    if stated:
        return stated[0]
    if filing.has("Revenue", "RevenueFromContractsWithCustomers"):
        return None
    kinds = {
        name
        for name in filing.nonzero
        if name in ("RevenueFromSaleOfGoods", "RevenueFromRenderingOfServices")
        or name in ("RevenueFromRoyalties", "RevenueFromConstructionContracts")
    }
    return column.get(next(iter(kinds))) if len(kinds) == 1 else None


def ifrs_capex(_: Filing, column: Column) -> Decimal | None:
    bought = "PurchaseOfPropertyPlantAndEquipment"
    own = column.get(f"{bought}ClassifiedAsInvestingActivities")
    others = "IntangibleAssetsOtherThanGoodwillInvestmentPropertyAndOtherNoncurrentAssets"
    whole = column.get(f"{bought}{others}")
    # Next to a total that intangible assets do not explain, it must be a figure of a note.
    intangible = column.get("PurchaseOfIntangibleAssetsClassifiedAsInvestingActivities", Decimal(0))
    if own is not None and whole is not None and 10 * (own + intangible) < whole:
        return whole
    return own


def ifrs_profit(filing: Filing, column: Column) -> Decimal | None:
    if "ProfitLoss" in column:
        return column["ProfitLoss"]
    if filing.has("ProfitLossAttributableToNoncontrollingInterests", "NoncontrollingInterests"):
        return None
    return column.get("ProfitLossAttributableToOwnersOfParent")


def ifrs_equity(filing: Filing, column: Column) -> Decimal | None:
    if "Equity" in column:
        return column["Equity"]
    if filing.has("NoncontrollingInterests"):
        return None
    return column.get("EquityAttributableToOwnersOfParent")


def ifrs_cfo(filing: Filing, column: Column) -> Decimal | None:
    total = "CashFlowsFromUsedInOperatingActivities"
    if total in column:
        return column[total]
    if filing.has(f"{total}DiscontinuedOperations", total):
        return None
    return column.get(f"{total}ContinuingOperations")


def ifrs_depreciation(filing: Filing, column: Column) -> Decimal | None:
    # The reconciliation of the cash flow has all of it; a line of expenses may be a part.
    whole = first(
        column,
        "AdjustmentsForDepreciationAndAmortisationExpense",
        "DepreciationAndAmortisationExpense",
    )
    if whole is not None:
        return whole
    amortised = any(
        name.startswith(("Amortisation", "AdjustmentsForAmortisation")) for name in filing.nonzero
    )
    if amortised or filing.has("DepreciationAndAmortisationExpense"):
        return None
    return first(column, "AdjustmentsForDepreciationExpense", "DepreciationExpense")


def ifrs_cash(_: Filing, column: Column) -> Decimal | None:
    return column.get("CashAndCashEquivalents")


JUDGES: dict[str, dict[str, Judge]] = {
    "us-gaap": {
        "revenue": us_revenue,
        "profit": us_profit,
        "total_assets": element("Assets"),
        "total_equity": us_equity,
        "total_liabilities": element("Liabilities"),
        "cfo": us_cfo,
        "capex": us_capex,
        "operating_profit": element("OperatingIncomeLoss"),
        "profit_before_tax": us_pretax,
        "income_tax_expense": element(
            "IncomeTaxExpenseBenefit", "IncomeTaxExpenseBenefitContinuingOperations"
        ),
        "cash": us_cash,
        "depreciation_amortisation": us_depreciation,
    },
    "ifrs-full": {
        "revenue": ifrs_revenue,
        "profit": ifrs_profit,
        "total_assets": element("Assets"),
        "total_equity": ifrs_equity,
        "total_liabilities": element("Liabilities"),
        "cfo": ifrs_cfo,
        "capex": ifrs_capex,
        "operating_profit": element("ProfitLossFromOperatingActivities"),
        "profit_before_tax": element("ProfitLossBeforeTax"),
        "income_tax_expense": element("IncomeTaxExpenseContinuingOperations"),
        "cash": ifrs_cash,
        "depreciation_amortisation": ifrs_depreciation,
    },
}
LINES = tuple(JUDGES["us-gaap"])


def stated_figures(company: dict[str, Any], taxonomy: str) -> Iterator[Stated]:
    """Yield what each filing states of each line for each fiscal year, oldest filing first."""
    of_issuer = filings(company, taxonomy)
    years = {
        column[1:]
        for filing in of_issuer
        for column in filing.columns
        if column[1] and is_year(*column[1:])
    }
    year_ends = {end for _, end in years}
    for filing in of_issuer:
        for (unit, start, end), column in filing.columns.items():
            wanted = (start, end) in years if start else end in year_ends
            for line, judge in JUDGES[taxonomy].items():
                value = judge(filing, column) if wanted and _fits(line, start) else None
                if value is not None:
                    yield Stated(line, unit, start, end, filing.accession, filing.filed, value)


def _fits(line: str, start: str) -> bool:
    return (line in BALANCES) == (start == "")


def is_financial(company: dict[str, Any]) -> bool:
    """Return whether an issuer is a bank, a broker or an insurer, by what it states."""
    used = {name for elements in company["facts"].values() for name in elements}
    return not used.isdisjoint(
        {
            "InterestAndDividendIncomeOperating",
            "Deposits",
            "PremiumsEarnedNet",
            "LoansAndAdvancesToCustomers",
            "DepositsFromCustomers",
            "InterestIncomeExpenseNet",
            "AssetsHeldInTrustNoncurrent",
        }
    )


def kind_of(company: dict[str, Any]) -> str:
    """Return ``bank``, ``insurer`` or ``non-financial``, by the elements that an issuer uses."""
    used = {name for elements in company["facts"].values() for name in elements}
    takes_deposits = used & {"Deposits", "DepositsFromCustomers", "DepositsFromBanks"}
    if takes_deposits and any("Loans" in name and "Payable" not in name for name in used):
        return "bank"
    insures = used & {"PremiumsEarnedNet", "InsuranceRevenue", "NetEarnedPremium"}
    return "insurer" if insures else "non-financial"
