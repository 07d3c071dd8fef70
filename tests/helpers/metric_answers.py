"""Metrics of a few facts, taken the real way, and asked for a day by their intervals alone."""

import tempfile
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.metrics.derive import metrics
from tests.helpers.facts import facts
from warehouse.mart.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES

Row = dict[str, Any]
Told = tuple[str, date, Decimal | None]


def staged(record: Record, folder: Path) -> dict[str, pa.Table]:
    """Stage what a record holds, derive the metrics, and stage them too."""
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder, record, loads, "20990101.1") as snapshot:
        snapshot.copy_record()
        tables = metrics(snapshot)
        snapshot.add(tables)
    return tables


def derived(rows: Iterable[Row]) -> dict[str, pa.Table]:
    """Take facts the real way: into a record, staged, derived, staged again."""
    with tempfile.TemporaryDirectory() as temporary:
        record = Record(str(Path(temporary, "record")))
        append(record, FUNDAMENTALS, facts(*rows), Load("test", ("d",)))
        return staged(record, Path(temporary, "stage"))


class Answers:
    """The two tables, asked for a day by their intervals alone."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._held: dict[tuple[str, str], list[tuple[date, date, Told]]] = {}
        for row in tables["metrics"].to_pylist():
            said = ("value", row["period_end"], Decimal(row["value"]))
            self._hold(row, row["answers_from"], row["answers_until"], said)
        for row in tables["metrics_absent"].to_pylist():
            absent = (row["reason"], row["period_end"], None)
            self._hold(row, row["holds_from"], row["holds_until"], absent)

    def _hold(self, row: Row, first: date, until: date | None, said: Told) -> None:
        held = self._held.setdefault((row["service_id"], row["metric"]), [])
        held.append((first, until or date.max, said))

    def on(self, day: date, issuer: str, metric: str) -> Told | None:
        """Give the one thing that is told for a day; nothing before the first figure."""
        held = self._held.get((issuer, metric), [])
        found = [said for first, until, said in held if first <= day < until]
        assert len(found) <= 1, f"{issuer} {metric} {day}: {found}"
        return found[0] if found else None
