"""Which sign a figure should have, and whether one that turns another's sign corrects it.

The balance of an element (debit or credit) says what a positive value means: a cost, a payment, an
asset. Filers who copy the brackets of a printed statement state such figures as negative. Nothing
is turned by us: a figure of the wrong sign is marked, and no metric takes it. Earnings per
share have the sign of the profit that their filing states for the period.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from assets.filings.figures import FIGURE, Reading
from assets.filings.line_items import BY_ELEMENT

# Lines whose elements cannot be negative in any normal year: the name of each says what flows or is
# owned or owed. Profit, tax, cash flow and equity may have either sign.
ONE_SIDED = frozenset(
    {
        "borrowings_current",
        "borrowings_non_current",
        "capex",
        "cash",
        "claims",
        "cost_of_sales",
        "current_assets",
        "current_liabilities",
        "deposits",
        "depreciation_amortisation",
        "dividends_paid",
        "finance_costs",
        "interest_income",
        "inventories",
        "loans",
        "payables",
        "premiums",
        "receivables",
        "shares_outstanding",
        "temporary_equity",
        "total_assets",
        "total_liabilities",
    }
)


# Earnings per share, and the profits of which they are a share, the nearest first.
_PER_SHARE = frozenset({"eps_basic", "eps_diluted"})
_PROFITS = ("profit_attributable", "profit")
# A column of a statement: a period of a filing, on one basis and in one currency.
_COLUMN = (*(name for name in FIGURE if name not in ("line_item", "unit")), "currency_reported")


class Profits:
    """The profits that filings state, beside their earnings per share."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        """Keep the profits among the readings of an issuer."""
        self._lines: dict[tuple[Any, ...], Reading] = {}
        for reading in readings:
            if reading.row["line_item"] in _PROFITS and reading.value:
                self._lines[self._key(reading, reading.row["line_item"])] = reading

    @staticmethod
    def _key(reading: Reading, line_item: str) -> tuple[Any, ...]:
        return (line_item, *(reading.row[name] for name in _COLUMN))

    def contradicted_by(self, reading: Reading) -> Reading | None:
        """Return the profit or loss of the same filing and period that has another sign."""
        if reading.row["line_item"] not in _PER_SHARE:
            return None
        found = (self._lines.get(self._key(reading, name)) for name in _PROFITS)
        profit = next((line for line in found if line is not None), None)
        return profit if profit is not None and profit.value * reading.value < 0 else None


def contradicts_its_balance(reading: Reading) -> bool:
    """Return whether a figure is negative that its element states as a positive amount."""
    return reading.value < 0 and reading.row["line_item"] in ONE_SIDED


def mark_wrong_signs(readings: Iterable[Reading]) -> None:
    """Mark figures whose sign contradicts the balance of their element with their own line.

    Earnings per share beside a loss are marked with it. Of a profit, dividends of preference shares
    may leave a loss to the others, which is not marked.
    """
    all_readings = list(readings)
    profits = Profits(all_readings)
    for reading in all_readings:
        if contradicts_its_balance(reading):
            _mark(reading, reading.row["line_item"])
        loss = profits.contradicted_by(reading)
        if loss is not None and loss.value < 0:
            _mark(reading, loss.row["line_item"])


def _mark(reading: Reading, line_item: str) -> None:
    reading.row["conflicts_with"] = ",".join(sorted({*conflicts_of(reading), line_item}))


def conflicts_of(reading: Reading) -> frozenset[str]:
    """Return the line items that a figure is marked to contradict."""
    marked: str | None = reading.row.get("conflicts_with")
    return frozenset(marked.split(",")) if marked else frozenset()


def why_turned_away(
    standing: Reading, reading: Reading, stated: Counter[int], profits: Profits
) -> str | None:
    """Return why a value of the other sign is no correction of the one that stands; None if it is.

    ``stated`` counts by sign the filings that stated the figure until then, this one included. The
    balance of the element decides, and for earnings per share the profit of their filing; where
    they allow both signs, the filing that contradicts itself is wrong; where that does not tell,
    the sign of most filings is right, and of as many on both sides that of an expense.
    """
    wrong = contradicts_its_balance(reading)
    if wrong != contradicts_its_balance(standing):
        if not wrong:
            return None
        return f"its sign contradicts the balance of {reading.element}: {standing.value} stands"
    profit = profits.contradicted_by(reading)
    if (profit is None) != (profits.contradicted_by(standing) is None):
        if profit is None:
            return None
        named = f"{profit.row['line_item']} = {profit.value}"
        return f"its sign contradicts its own filing ({named}): {standing.value} stands"
    if bool(conflicts_of(reading)) != bool(conflicts_of(standing)):
        if conflicts_of(standing):
            return None
        others = ", ".join(sorted(conflicts_of(reading)))
        return f"its sign contradicts its own filing ({others}): {standing.value} stands"
    given, before = stated[_sign(reading)], stated[_sign(standing)]
    if given > before or (given == before and _is_usual(reading)):
        return None
    return f"its sign is turned, a convention and no restatement: {standing.value} stands"


def _is_usual(reading: Reading) -> bool:
    """Return whether a figure is an expense, as its element is named, and not the benefit."""
    taxonomy, _, name = reading.row["element"].partition(":")
    is_expense = BY_ELEMENT[taxonomy, name].balance == "debit"
    return is_expense and reading.row["statement"] == "income" and reading.value > 0


def count_signs(readings: Iterable[Reading]) -> Counter[int]:
    """Count the filings that state a figure with each sign."""
    filings = {(reading.row["publication"], _sign(reading)) for reading in readings}
    return Counter(sign for _, sign in filings)


def _sign(reading: Reading) -> int:
    return (reading.value > 0) - (reading.value < 0)
