"""What the record must return, computed in the slow and obvious way."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby

from warehouse.record.as_of import Vintages

Answer = set[tuple[str, Decimal | None, int, date]]


@dataclass(frozen=True)
class ModelSighting:
    """The value of a line item in one publication; None is a withdrawal."""

    item: str
    available_at: date
    publication: str
    value: str | None


def answer(history: list[ModelSighting], as_of: date | None, vintages: Vintages) -> Answer:
    """Return (item, value, vintage, available_at) of all that was known on ``as_of``."""
    published = [row for row in history if as_of is None or row.available_at <= as_of]
    expected: Answer = set()
    for _, group in groupby(sorted(published, key=lambda row: row.item), key=lambda row: row.item):
        ordered = sorted(group, key=lambda row: (row.available_at, row.publication))
        changes = [next(run) for _, run in groupby(ordered, key=lambda row: row.value)]
        rows = [(sighting, number) for number, sighting in enumerate(changes, 1)]
        if vintages == "latest":
            rows = rows[-1:]
        if vintages == "as_reported":
            rows = rows[:1]
        expected |= {
            (
                sighting.item,
                None if sighting.value is None else Decimal(sighting.value),
                number,
                sighting.available_at,
            )
            for sighting, number in rows
            if vintages == "all" or sighting.value is not None
        }
    return expected
