"""Which sign a figure should have, and whether one that turns another's sign corrects it.

The balance of an element (debit or credit) says what a positive value means: a cost, a payment, an
asset. Filers who copy the brackets of a printed statement state such figures as negative. Nothing
is turned by us: a figure of the wrong sign is marked, and no metric takes it.
"""

from collections import Counter
from collections.abc import Iterable

from assets.filings.figures import Reading
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


def contradicts_its_balance(reading: Reading) -> bool:
    """Return whether a figure is negative that its element states as a positive amount."""
    return reading.value < 0 and reading.row["line_item"] in ONE_SIDED


def mark_wrong_signs(readings: Iterable[Reading]) -> None:
    """Mark figures whose sign contradicts the balance of their element with their own line."""
    for reading in readings:
        if contradicts_its_balance(reading):
            marked = {*conflicts_of(reading), reading.row["line_item"]}
            reading.row["conflicts_with"] = ",".join(sorted(marked))


def conflicts_of(reading: Reading) -> frozenset[str]:
    """Return the line items that a figure is marked to contradict."""
    marked: str | None = reading.row.get("conflicts_with")
    return frozenset(marked.split(",")) if marked else frozenset()


def why_turned_away(standing: Reading, reading: Reading, stated: Counter[int]) -> str | None:
    """Return why a value of the other sign is no correction of the one that stands; None if it is.

    ``stated`` counts by sign the filings that stated the figure until then, this one included. The
    balance of the element decides; where it allows both signs, the filing that contradicts itself
    is wrong; where that does not tell, the sign of most filings is right, and of as many on both
    sides that of an expense.
    """
    wrong = contradicts_its_balance(reading)
    if wrong != contradicts_its_balance(standing):
        if not wrong:
            return None
        return f"its sign contradicts the balance of {reading.element}: {standing.value} stands"
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
