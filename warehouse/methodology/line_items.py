"""The lines of statements that figures are served under, as data: ``line_items.csv``."""

from dataclasses import dataclass
from typing import Literal, cast

from warehouse.shared.data_files import csv_rows

Kind = Literal["instant", "duration"]
Measure = Literal["money", "money per share", "shares"]


@dataclass(frozen=True)
class LineItem:
    """One line of a statement."""

    name: str
    statement: str
    measure: Measure
    meaning: str

    @property
    def kind(self) -> Kind:
        """Whether the line is a balance at an instant or an amount of a period."""
        return "instant" if self.statement == "balance" else "duration"


LINE_ITEMS = tuple(
    LineItem(row["line_item"], row["statement"], cast(Measure, row["measure"]), row["meaning"])
    for row in csv_rows(__name__, "line_items")
)
STATEMENTS = tuple(dict.fromkeys(item.statement for item in LINE_ITEMS))
# The line without which a publication only mentions a statement.
MAIN_LINES = {"income": "profit", "balance": "total_assets", "cash_flow": "cfo"}
