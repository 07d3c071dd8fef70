"""The lines of statements that figures are served under, as data: ``line_items.csv``."""

import csv
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, cast

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


def _lines() -> tuple[LineItem, ...]:
    with files(__package__).joinpath("line_items.csv").open(encoding="utf-8") as lines:
        return tuple(
            LineItem(
                row["line_item"], row["statement"], cast(Measure, row["measure"]), row["meaning"]
            )
            for row in csv.DictReader(lines)
        )


LINE_ITEMS = _lines()
STATEMENTS = tuple(dict.fromkeys(item.statement for item in LINE_ITEMS))
