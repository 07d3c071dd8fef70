"""What was known on a day, out of 5,000,000 sightings, beside DuckDB by hand and pandas."""

import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from tests.bench.measure import measured
from tests.bench.world import facts
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

FIGURES, VINTAGES = 1_000_000, 5
AS_OF = date(2014, 6, 30)
KEY = list(FUNDAMENTALS.identity)
SHOWN = [*KEY, "value_reported", "available_at"]
Work = Callable[[], object]


def fill(folder: Path) -> None:
    """Fill a record with five vintages of each figure; a fifth of them repeat."""
    record = Record(str(folder))
    for vintage in range(1, VINTAGES + 1):
        for start in range(0, FIGURES, 500_000):
            rows = facts(np.arange(start, start + 500_000), vintage)
            append(record, FUNDAMENTALS, rows, Load("bench", (f"{vintage}",)))


def sankofa(folder: str) -> Work:
    """The one definition of as_of, as everything else uses it."""
    record = Record(folder)
    statement = vintages_query(
        FUNDAMENTALS, record.relation("fundamentals"), as_of=AS_OF, columns=SHOWN
    )
    record.query("SELECT 1")
    return lambda: len(record.query(statement))


def plain_duckdb(folder: str) -> Work:
    """The same answer, written by hand for DuckDB over the figure's own columns."""
    files = Record(folder).table("fundamentals").file_uris()
    sql = duckdb.connect()
    sql.execute("SELECT 1").fetchall()
    statement = f"""
        WITH changes AS (
            SELECT {", ".join(SHOWN)}, publication FROM read_parquet({files})
            WHERE available_at <= DATE '{AS_OF}'
            WINDOW figure AS (PARTITION BY {", ".join(KEY)} ORDER BY available_at, publication)
            QUALIFY lag(value_reported) OVER figure IS DISTINCT FROM value_reported
        )
        SELECT {", ".join(SHOWN)}, row_number() OVER figure AS vintage FROM changes
        WINDOW figure AS (PARTITION BY {", ".join(KEY)} ORDER BY available_at, publication)
        QUALIFY lead(available_at) OVER figure IS NULL
    """
    return lambda: len(sql.sql(statement).to_arrow_table())


def simple_duckdb(folder: str) -> Work:
    """Less than the answer: the last row of each figure, repeats not recognised."""
    files = Record(folder).table("fundamentals").file_uris()
    sql = duckdb.connect()
    sql.execute("SELECT 1").fetchall()
    statement = f"""
        SELECT {", ".join(SHOWN)} FROM read_parquet({files})
        WHERE available_at <= DATE '{AS_OF}'
        QUALIFY row_number() OVER (
            PARTITION BY {", ".join(KEY)} ORDER BY available_at DESC, publication DESC) = 1
    """
    return lambda: len(sql.sql(statement).to_arrow_table())


def pandas_sorted(folder: str) -> Work:
    """Sort, drop repeats, keep the last of each figure."""
    files = Record(folder).table("fundamentals").file_uris()

    def work() -> int:
        columns = [*SHOWN, "publication"]
        read = [pd.read_parquet(f, columns=columns, dtype_backend="pyarrow") for f in files]
        rows = pd.concat(read)
        rows = rows[rows["available_at"] <= AS_OF]
        for name in ("service_id", "line_item", "unit", "basis"):
            rows[name] = rows[name].astype("category")
        rows = rows.sort_values([*KEY, "available_at", "publication"])
        same = rows[KEY].eq(rows[KEY].shift()).all(axis=1)
        changed = rows[~(same & rows["value_reported"].eq(rows["value_reported"].shift()))]
        return len(changed.drop_duplicates(KEY, keep="last"))

    return work


def report() -> None:
    """Print the ratios of the issue's goals."""
    with tempfile.TemporaryDirectory() as temporary:
        fill(Path(temporary))
        ways = {
            way: measured("tests.bench.snapshot", way, temporary)
            for way in ("sankofa", "plain_duckdb", "simple_duckdb", "pandas_sorted")
        }
    for way, cost in ways.items():
        print(f"  {way:14} {cost.seconds:7.3f} s  {cost.peak_mb:5} MB  ({cost.output} rows)")
    ours = ways["sankofa"].seconds
    print(f"  ours / plain DuckDB   {ours / ways['plain_duckdb'].seconds:.2f}  (goal: at most 1.2)")
    print(f"  ours / simple DuckDB  {ours / ways['simple_duckdb'].seconds:.2f}")
    print(f"  pandas / ours         {ways['pandas_sorted'].seconds / ours:.2f}")


if __name__ == "__main__":
    report()
