"""What the record must answer, worked out the slow and obvious way."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby

from warehouse.record.as_of import Vintages

Answer = set[tuple[str, Decimal | None, int, date]]


@dataclass(frozen=True)
class Said:
    """One publication said that a line item had a value; None is a withdrawal."""

    item: str
    available_at: date
    publication: str
    value: str | None


def answer(history: list[Said], as_of: date | None, vintages: Vintages) -> Answer:
    """Give (item, value, vintage, available_at) of all that is known on ``as_of``."""
    known = [said for said in history if as_of is None or said.available_at <= as_of]
    found: Answer = set()
    for _, group in groupby(sorted(known, key=lambda s: s.item), key=lambda s: s.item):
        ordered = sorted(group, key=lambda s: (s.available_at, s.publication))
        runs = [next(run) for _, run in groupby(ordered, key=lambda s: s.value)]
        rows = [(said, number) for number, said in enumerate(runs, 1)]
        if vintages == "latest":
            rows = rows[-1:]
        if vintages == "as_reported":
            rows = rows[:1]
        found |= {
            (
                said.item,
                None if said.value is None else Decimal(said.value),
                number,
                said.available_at,
            )
            for said, number in rows
            if vintages == "all" or said.value is not None
        }
    return found
