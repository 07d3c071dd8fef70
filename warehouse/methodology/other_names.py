"""Names under which lines and metrics are asked for elsewhere, and the names that they have here.

Spelling does not lead from ``net_income`` to ``profit``; what is spelt alike is another line.
"""

from collections.abc import Mapping

OTHER_NAMES: Mapping[str, str] = {
    "assets": "total_assets",
    "capital_expenditure": "capex",
    "cash_from_operations": "cfo",
    "cogs": "cost_of_sales",
    "cost_of_revenue": "cost_of_sales",
    "dividends": "dividends_paid",
    "earnings": "profit",
    "ebit": "operating_profit",
    "ebit_margin": "operating_margin",
    "eps": "eps_basic",
    "equity": "total_equity",
    "interest_expense": "finance_costs",
    "inventory": "inventories",
    "liabilities": "total_liabilities",
    "net_earnings": "profit",
    "net_income": "profit",
    "net_profit": "profit",
    "net_profit_margin": "net_margin",
    "operating_cash_flow": "cfo",
    "operating_income": "operating_profit",
    "operating_income_margin": "operating_margin",
    "pretax_profit": "profit_before_tax",
    "profit_margin": "net_margin",
    "roa": "return_on_assets",
    "roce": "return_on_capital_employed",
    "roe": "return_on_equity",
    "sales": "revenue",
    "sales_growth": "revenue_growth",
    "shareholders_equity": "equity_attributable",
    "tax": "income_tax_expense",
    "turnover": "revenue",
}


def named_here(word: str) -> str | None:
    """Return the name that is meant by a word, in any case and with spaces or hyphens."""
    return OTHER_NAMES.get(word.strip().casefold().replace(" ", "_").replace("-", "_"))
