"""The vintages of a record table, computed from its sightings in plain Python."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import groupby
from typing import Any

from warehouse.record.store import Record
from warehouse.record.tables import RecordTable
from warehouse.tables.sighting import AS_SHOWN

Row = dict[str, Any]


@dataclass(frozen=True)
class FigureHistory:
    """The sightings of one figure that changed its content, oldest first."""

    vintages: list[Row] = field(default_factory=list)

    def latest_on(self, day: date) -> tuple[int, Row] | None:
        """Return the number and row of the newest vintage of a day; None if it was withdrawn."""
        published = [row for row in self.vintages if row["available_at"] <= day]
        if not published or published[-1]["withdrawn"]:
            return None
        return len(published), published[-1]


def histories_of(record: Record, table: RecordTable) -> list[FigureHistory]:
    """Return the history of every figure of a table that has publication days."""
    rows = record.query(f"FROM {record.relation(table.name)}").to_pylist()
    by_figure: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        # What only looks like a restatement is no vintage.
        if row["available_at"] is not None and row.get("apparent_restatement") is None:
            by_figure.setdefault(tuple(row[name] for name in table.identity), []).append(row)
    return [FigureHistory(_changes(sightings, table)) for sightings in by_figure.values()]


def _changes(sightings: list[Row], table: RecordTable) -> list[Row]:
    def order_of_knowledge(row: Row) -> tuple[Any, ...]:
        return row["available_at"], row["publication"], row["load_seq"]

    def content(row: Row) -> tuple[Any, ...]:
        return row["withdrawn"], *(row[name] for name in table.content)

    ordered = sorted(_without_echoes(sightings), key=order_of_knowledge)
    return [next(run) for _, run in groupby(ordered, key=content)]


def _without_echoes(sightings: list[Row]) -> list[Row]:
    """Return sightings without a table that only shows what a dated publication says.

    Of such a table the day on which it was read is known, once the figure has a day.
    """
    dated = sorted(
        (row for row in sightings if row["publication"] != AS_SHOWN),
        key=lambda row: (row["available_at"], row["publication"]),
    )
    ends = [*(row["available_at"] for row in dated), date.max][1:]
    spans = list(zip(dated, ends, strict=True))
    counted: list[Row] = []
    for row in sightings:
        if row["publication"] != AS_SHOWN or not any(
            other["available_at"] <= row["available_at"] for other in dated
        ):
            counted.append(row)
            continue
        read = row["observed_at"].date()
        if not any(
            other["value"] == row["value"] and other["available_at"] <= read <= end
            for other, end in spans
        ):
            counted.append({**row, "available_at": read})
    return counted


def boundary_days(histories: Iterable[FigureHistory]) -> list[date]:
    """Return the day before, the day of and the day after every vintage but the first."""
    days = {
        vintage["available_at"] + timedelta(shift)
        for history in histories
        for vintage in history.vintages[1:]
        for shift in (-1, 0, 1)
    }
    return sorted(days)


def with_ends(histories: Iterable[FigureHistory]) -> list[Row]:
    """Return every vintage with the day on which the next one replaced it."""
    return [
        {**vintage, "superseded_at": following and following["available_at"]}
        for history in histories
        for vintage, following in zip(history.vintages, [*history.vintages[1:], None], strict=True)
    ]
