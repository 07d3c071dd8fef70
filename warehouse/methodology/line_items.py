"""The lines of statements that figures are served under, as data: ``line_items.csv``."""

from dataclasses import dataclass
from typing import Literal, cast

from warehouse.shared.data_files import csv_rows

Kind = Literal["instant", "duration"]
Measure = Literal["money", "money per share", "shares"]


@dataclass(frozen=True)
class LineItem:
    """One line of a statement.

    A line is one-sided if its elements cannot be negative in any normal year: its name says what
    flows, or is owned or owed. Profit, tax, cash flow and equity may have either sign.
    """

    name: str
    statement: str
    measure: Measure
    is_one_sided: bool
    meaning: str

    @property
    def kind(self) -> Kind:
        """Whether the line is a balance at an instant or an amount of a period."""
        return "instant" if self.statement == "balance" else "duration"


LINE_ITEMS = tuple(
    LineItem(
        row["line_item"],
        row["statement"],
        cast(Measure, row["measure"]),
        row["one_sided"] == "yes",
        row["meaning"],
    )
    for row in csv_rows(__name__, "line_items")
)
STATEMENTS = tuple(dict.fromkeys(item.statement for item in LINE_ITEMS))
# The line without which a publication only mentions a statement.
MAIN_LINES = {"income": "profit", "balance": "total_assets", "cash_flow": "cfo"}
