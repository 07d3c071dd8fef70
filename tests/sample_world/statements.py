"""Figures of one period that add up as accounts do: of an industrial issuer, a bank, an insurer."""

import random
from collections.abc import Mapping
from decimal import Decimal

from tests.sample_world.organisations import BANK, INSURER

Figures = dict[str, Decimal]

_CENT = Decimal("0.01")
_THOUSAND = 1000


def statement(rng: random.Random, revenue: int, shares: int) -> Figures:
    """Return the figures of one period, made from its revenue."""
    income = _income(rng, revenue)
    balance = _balance(rng, revenue)
    cash = {"cfo": _part(rng, revenue, 8, 22), "capex": _part(rng, revenue, 3, 9)}
    return _with_shares(income | balance | cash, shares)


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


def bank_statement(rng: random.Random, revenue: int, shares: int) -> Figures:
    """Return the figures of a bank: no revenue, no current assets."""
    interest = revenue
    net = interest - _part(rng, interest, 35, 45)
    income = net + _part(rng, interest, 15, 25)
    impairment = _part(rng, interest, 4, 10)
    costs = _part(rng, interest, 30, 40)
    assets = interest * rng.randrange(9, 12)
    equity = _part(rng, assets, 9, 14)
    lines = {
        "interest_income": interest,
        "net_interest_income": net,
        "total_operating_income": income,
        "operating_expenses": costs,
        "loan_impairment": impairment,
        **_taxed(income - impairment - costs),
        "total_assets": assets,
        "cash": _part(rng, assets, 6, 12),
        "loans": _part(rng, assets, 52, 64),
        "deposits": _part(rng, assets, 62, 74),
        **_owned(assets, equity),
        "cfo": _part(rng, interest, 10, 30),
    }
    return _with_shares(lines, shares)


def insurer_statement(rng: random.Random, revenue: int, shares: int) -> Figures:
    """Return the figures of an insurer: premiums and claims."""
    claims = _part(rng, revenue, 58, 70)
    before_tax = revenue - claims - _part(rng, revenue, 16, 24)
    assets = revenue * rng.randrange(3, 5)
    equity = _part(rng, assets, 16, 24)
    lines = {
        "premiums": revenue,
        "claims": claims,
        **_taxed(before_tax),
        "total_assets": assets,
        "cash": _part(rng, assets, 4, 9),
        **_owned(assets, equity),
        "cfo": _part(rng, revenue, 6, 18),
    }
    return _with_shares(lines, shares)


def _taxed(before_tax: int) -> dict[str, int]:
    tax = max(0, before_tax * 27 // 100 // 1000 * 1000)
    profit = before_tax - tax
    return {
        "profit_before_tax": before_tax,
        "income_tax_expense": tax,
        "profit": profit,
        "profit_attributable": profit - profit * 4 // 100 // 1000 * 1000,
    }


def _owned(assets: int, equity: int) -> dict[str, int]:
    return {
        "total_liabilities": assets - equity,
        "total_equity": equity,
        "equity_attributable": equity - equity * 5 // 100 // 1000 * 1000,
    }


def _with_shares(lines: Mapping[str, int], shares: int) -> Figures:
    dividends = max(0, lines["profit_attributable"] * 3 // 10 // 1000 * 1000)
    figures = {name: Decimal(value) for name, value in lines.items()}
    figures |= {"dividends_paid": Decimal(dividends)}
    return figures | _per_share(figures["profit_attributable"], shares)


def _income(rng: random.Random, revenue: int) -> dict[str, int]:
    cost = _part(rng, revenue, 50, 68)
    operating = revenue - cost - _part(rng, revenue, 12, 20)
    finance = _part(rng, revenue, 1, 4)
    before_tax = operating - finance
    return {
        "revenue": revenue,
        "cost_of_sales": cost,
        "gross_profit": revenue - cost,
        "operating_profit": operating,
        "finance_costs": finance,
        **_taxed(before_tax),
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
    return {
        "total_assets": assets,
        "current_assets": cash + stock + owed + _part(rng, assets, 1, 3),
        "cash": cash,
        "inventories": stock,
        "receivables": owed,
        "payables": payables,
        **_owned(assets, assets - liabilities),
        "current_liabilities": current_liabilities,
        "borrowings_current": short_debt,
        "borrowings_non_current": long_debt,
    }


def _per_share(profit: Decimal, shares: int) -> Figures:
    basic = (profit / shares).quantize(_CENT)
    return {"eps_basic": basic, "eps_diluted": (basic * 98 / 100).quantize(_CENT)}


def _part(rng: random.Random, whole: int, low: int, high: int) -> int:
    return whole * rng.randrange(low * 10, high * 10) // 1000 // _THOUSAND * _THOUSAND


STATEMENTS = {BANK: bank_statement, INSURER: insurer_statement}
