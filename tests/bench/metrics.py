"""Every metric of 1,000,000 facts, beside a bare DuckDB pivot of the same facts."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assets.derive.metrics import metrics
from tests.bench.measure import measured
from tests.bench.world import ITEMS, YEARS, Numbers, facts
from warehouse.methodology.metrics import BALANCES, FORMULAS
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES, incoming_schema

FACTS = 1_000_000
LINES = sorted({input_item.line_item for formula in FORMULAS for input_item in formula.inputs})
Work = Callable[[], object]


def fill(folder: Path) -> None:
    """Fill a snapshot with the line items that formulas need; a tenth is restated later."""
    issuers = FACTS // (len(LINES) * YEARS) + 1
    rows = np.arange(issuers * ITEMS * YEARS)
    rows = rows[_item(rows) < len(LINES)][:FACTS]
    record = Record(str(folder))
    for start in range(0, FACTS, 500_000):
        part = rows[start : start + 500_000]
        append(record, FUNDAMENTALS, _reported(part), Load("bench", ("b",)))
    again = rows[::10]
    restated = _reported(again, np.ones(len(again), bool))
    append(record, FUNDAMENTALS, restated, Load("bench", ("c",)))
    _stage(record, folder).copy_record()


def _item(rows: Numbers) -> Numbers:
    return rows % (ITEMS * YEARS) // YEARS


def _reported(rows: Numbers, changed: npt.NDArray[np.bool_] | None = None) -> pa.Table:
    table = facts(rows, changed=changed)
    line_item = pa.array(LINES).take(pa.array(_item(rows)))
    balance = pc.is_in(line_item, pa.array(sorted(BALANCES)))
    start = pc.if_else(balance, pa.scalar(None, pa.date32()), table["period_start"])
    named = {"line_item": line_item, "period_start": start}
    columns = {name: named.get(name, table[name]) for name in table.column_names}
    return pa.table(columns).cast(incoming_schema(FUNDAMENTALS))


def _stage(record: Record, folder: Path) -> Snapshot:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    return Snapshot(folder / "stage", record, loads, "20990101.1")


def _staged(folder: str) -> Snapshot:
    snapshot = _stage(Record(folder), Path(folder))
    for name in ("fundamentals", "statements"):
        snapshot.create_view(name)
    return snapshot


def sankofa(folder: str) -> Work:
    """Every value with its inputs, its days and the reasons for what is absent."""
    snapshot = _staged(folder)

    def work() -> str:
        made = metrics(snapshot)
        return f"{len(made['metrics']):,} values, {len(made['metrics_absent']):,} absences"

    return work


def bare_pivot(folder: str) -> Work:
    """Less: the current figures of each year side by side, and one ratio for each metric."""
    snapshot = _staged(folder)
    lines = ", ".join(
        f"max(value_reported) FILTER (line_item = '{line}') AS {line}" for line in LINES
    )
    ratios = ", ".join(
        f"{over.line_item}::DOUBLE / nullif({under.line_item}, 0) AS {formula.slug}"
        for formula in FORMULAS
        for over, under in [(formula.numerator[0][1], formula.denominator[0][1])]
    )
    statement = f"""
        SELECT service_id, period_end, {ratios} FROM (
            SELECT service_id, period_end, {lines} FROM fundamentals WHERE latest
            GROUP BY service_id, period_end)
    """
    return lambda: f"{len(snapshot.read(statement)) * len(FORMULAS):,} ratios"


def report() -> None:
    """Print what both cost."""
    with tempfile.TemporaryDirectory() as temporary:
        fill(Path(temporary))
        ways = {
            way: measured("tests.bench.metrics", way, temporary)
            for way in ("sankofa", "bare_pivot")
        }
    for way, cost in ways.items():
        print(f"  {way:10} {cost.seconds:7.3f} s  {cost.peak_mb:5} MB  ({cost.output})")
    print(f"  ours / bare pivot     {ways['sankofa'].seconds / ways['bare_pivot'].seconds:.1f}")


if __name__ == "__main__":
    report()
