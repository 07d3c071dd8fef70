"""The world of ``random_world`` with more countries and sources, in files of any size."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.helpers.made_once import made_once
from tests.helpers.random_world import derived_of, publish_world
from tests.helpers.record_rows import load, release_row, series_row
from warehouse.publish import write
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.tables import MART_TABLES, MartTable
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES, TENDER_RELEASES, arrow_schema
from warehouse.serve.build import Mart
from warehouse.tables.derived import Metric, Signal


def more_countries_and_sources(root: Path) -> None:
    """Load releases of another country and of no day, and one series from two sources."""
    record, first = Record(str(root)), date(2018, 1, 1)
    days = [first + timedelta(37 * number) for number in range(12)]
    kenyan = [
        release_row(
            n,
            country="KE",
            ocid=f"ke-{n}",
            released_on=day,
            available_at=day,
            tender_status="active",
            tender_value=Decimal(100 + n % 5),
            tender_currency="KES",
        )
        for n, day in enumerate(days)
    ]
    # Half of the processes end later: their last release lies in another file, if files are small.
    ended = [
        {
            **release,
            "release_id": "r2",
            "tender_status": "complete",
            "tender_value": None,
            "released_on": day + timedelta(200),
            "available_at": day + timedelta(210),
            "publication": "ended",
        }
        for release, day in zip(kenyan[::2], days[::2], strict=True)
    ]
    undated = release_row(98, ocid="undated", released_on=None)
    load(record, TENDER_RELEASES, *kenyan, *ended, undated)
    for source in ("other", "test"):
        rows = [
            series_row(
                str(n), day, source=source, country_iso3=country, available_at=day, unit=source
            )
            for n, day in enumerate(days)
            for country in ("KEN", None, "ZAF")
        ]
        load(record, MACRO_SERIES, *rows)
    # Of the rows of a series, those of one base follow each other, however long ago they were.
    rebased_after = {"LONG": 0, "REBASED": 6}
    rows = [
        series_row(
            str(n),
            day,
            source="long",
            series=series,
            available_at=day,
            base_period="2010" if n < rebased else "2005",
        )
        for series, rebased in rebased_after.items()
        for n, day in enumerate(days)
    ]
    load(record, MACRO_SERIES, *rows)


def more_derived(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return metrics that share inputs and values, and two panels of two countries."""
    tables = derived_of(Random(1), snapshot.data_version)
    rows = tables["metrics"].to_pylist()
    pair = '{"fact_id":"a","value":1},{"fact_id":"b","source_ref":"},{\\"fact_id\\":","value":2.50}'
    rows = [row | {"inputs": f"[{pair}]", "value": "0.5"} for row in rows[:4]] + rows[4:]
    signals = tables["signals"].to_pylist()
    signals += [row | {"country": "KE"} for row in signals]
    signals += [row | {"signal_key": "single-bid-rate"} for row in signals]
    return {
        **tables,
        "metrics": pa.Table.from_pylist(rows, arrow_schema(Metric)),
        "signals": pa.Table.from_pylist(signals, arrow_schema(Signal)),
    }


def _in_files(table: MartTable, larger: float) -> MartTable:
    """Return a table whose files have so many times as many rows."""
    files = table.files
    if files is None:
        return table
    return replace(table, files=replace(files, max_rows=max(1, int(files.max_rows * larger))))


def publish_split(root: Path, marts: str | Path, larger: float, seed: int = 7) -> Mart:
    """Publish the larger world in files of another size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "MART_TABLES", [_in_files(table, larger) for table in MART_TABLES])
        more_countries_and_sources(root / "record")
        publish_world(root / "record", marts, seed, None, more_derived)
    return Mart(marts)


def split_home(factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the larger world in many small files: shared, so copy it."""

    def make(root: Path) -> None:
        publish_split(root, root / "marts", 1 / 4096).close()

    return made_once(factory, "split", make)
