"""Metrics of a few facts, derived as in production and looked up for a day by their intervals."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.derive.later_statements import mark_later_statements
from assets.derive.metrics import metrics
from tests.helpers.facts import facts
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES

Row = dict[str, Any]
Answer = tuple[str, date, Decimal | None]


def staged(record: Record, folder: Path) -> dict[str, pa.Table]:
    """Stage what a record holds, derive the metrics, and stage them too."""
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder, record, loads, "20990101.1") as snapshot:
        mark_later_statements(snapshot)
        snapshot.copy_record([FUNDAMENTALS])
        tables = metrics(snapshot)
        snapshot.add(tables)
    return tables


def derived(rows: Iterable[Row]) -> dict[str, pa.Table]:
    """Take facts the real way: into a record, staged, derived, staged again."""
    return derived_in_turn([rows])


def derived_in_turn(loads: Iterable[Iterable[Row]]) -> dict[str, pa.Table]:
    """Take facts the real way, in several loads."""
    with tempfile.TemporaryDirectory() as temporary:
        record = Record(str(Path(temporary, "record")))
        for number, rows in enumerate(loads):
            append(record, FUNDAMENTALS, facts(*rows), Load("test", (f"d{number}",)))
        return staged(record, Path(temporary, "stage"))


class Answers:
    """The two tables, looked up for a day by their intervals alone."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._intervals: dict[tuple[str, str], list[tuple[date, date, Answer]]] = {}
        for row in tables["metrics"].to_pylist():
            answer = ("value", row["period_end"], Decimal(row["value"]))
            self._add_interval(row, row["answers_from"], row["answers_until"], answer)
        for row in tables["metrics_absent"].to_pylist():
            absent = (row["reason"], row["period_end"], None)
            self._add_interval(row, row["holds_from"], row["holds_until"], absent)

    def _add_interval(self, row: Row, first: date, until: date | None, answer: Answer) -> None:
        intervals = self._intervals.setdefault((row["service_id"], row["metric"]), [])
        intervals.append((first, until or date.max, answer))

    def on(self, day: date, issuer: str, metric: str) -> Answer | None:
        """Return the one answer for a day; None before the first figure."""
        intervals = self._intervals.get((issuer, metric), [])
        answers = [answer for first, until, answer in intervals if first <= day < until]
        assert len(answers) <= 1, f"{issuer} {metric} {day}: {answers}"
        return answers[0] if answers else None


@dataclass(frozen=True)
class IssuerAnswers:
    """What is answered for one issuer, and the rows that have a value."""

    answers: Answers
    issuer: str
    values: list[Row]

    def on(self, metric: str, *days: date) -> list[Any]:
        """Return the answer for each day."""
        return [self.answers.on(day, self.issuer, metric) for day in days]


def derived_together(stories: list[list[list[Row]]]) -> list[list[IssuerAnswers]]:
    """Derive all metrics at once; each list of facts of each story is an issuer of its own."""
    numbers = count()
    named = [[(f"DCTEST{next(numbers)}", rows) for rows in story] for story in stories]
    tables = derived(
        row | {"service_id": issuer} for story in named for issuer, rows in story for row in rows
    )
    answers, values = Answers(tables), tables["metrics"].to_pylist()
    return [
        [
            IssuerAnswers(answers, issuer, [row for row in values if row["service_id"] == issuer])
            for issuer, _ in story
        ]
        for story in named
    ]
