"""The append beside a plain DuckDB statement and beside pandas, over the same files."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.measure import measured
from tests.bench.world import facts
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

HELD, INCOMING = 1_000_000, 200_000
KEY = [*FUNDAMENTALS.identity, "publication"]
Work = Callable[[], object]


def fill(folder: Path, rows: int, step: int = 500_000) -> None:
    """Fill a record with a number of facts."""
    record = Record(str(folder))
    for start in range(0, rows, step):
        batch = facts(np.arange(start, min(rows, start + step)))
        append(record, FUNDAMENTALS, batch, Load("bench", ("b",)))


def incoming() -> pa.Table:
    """Bring a fifth of what is stored; one row in ten has another value."""
    rows = np.random.default_rng(1).choice(HELD, INCOMING, replace=False)
    return facts(rows, changed=np.arange(INCOMING) % 10 == 0)


def sankofa(folder: str, brought: str) -> Work:
    """Our writer, with its checks, its commit and its ledger."""
    record, rows = Record(folder), pq.read_table(brought)
    append(record, FUNDAMENTALS, rows.slice(0, 1), Load("bench", ("warm",)))
    return lambda: append(record, FUNDAMENTALS, rows, Load("bench", ("b",))).appended


def plain_duckdb(folder: str, brought: str) -> Work:
    """One statement: what is not stored, or has another value, into a Parquet file."""
    files, rows = Record(folder).table("fundamentals").file_uris(), pq.read_table(brought)
    same = " AND ".join(f"stored.{name} IS NOT DISTINCT FROM incoming.{name}" for name in KEY)
    sql = duckdb.connect()
    sql.register("incoming", rows)
    statement = (
        f"COPY (SELECT incoming.* FROM incoming "
        f"LEFT JOIN read_parquet({files}) AS stored ON {same} "
        "WHERE stored.value_reported IS NULL OR stored.value_reported <> incoming.value_reported) "
        f"TO '{folder}/plain.parquet' (COMPRESSION zstd)"
    )
    sql.execute("SELECT count(*) FROM incoming").fetchall()
    return lambda: sql.execute(statement).fetchall()


def pandas_merge(folder: str, brought: str) -> Work:
    """Merge on the key, keep what is new, with Arrow types throughout."""
    files = Record(folder).table("fundamentals").file_uris()

    def work() -> int:
        read = [
            pd.read_parquet(f, columns=[*KEY, "value_reported"], dtype_backend="pyarrow")
            for f in files
        ]
        rows = pd.read_parquet(brought, dtype_backend="pyarrow")
        both = rows.merge(pd.concat(read), on=KEY, how="left", suffixes=("", "_held"))
        new = both[
            both["value_reported_held"].isna()
            | (both["value_reported"] != both["value_reported_held"])
        ]
        new.drop(columns="value_reported_held").to_parquet(f"{folder}/pandas.parquet")
        return len(new)

    return work


def pandas_index(folder: str, brought: str) -> Work:
    """Look only for the keys that came in, with categories for the texts."""
    files = Record(folder).table("fundamentals").file_uris()

    def work() -> int:
        stored = pd.concat(
            [
                pd.read_parquet(f, columns=[*KEY, "value_reported"], dtype_backend="pyarrow")
                for f in files
            ]
        )
        rows = pd.read_parquet(brought, dtype_backend="pyarrow")
        stored_index = pd.MultiIndex.from_frame(stored[[*KEY, "value_reported"]])
        came = pd.MultiIndex.from_frame(rows[[*KEY, "value_reported"]])
        new = rows[~came.isin(stored_index)]
        new.to_parquet(f"{folder}/pandas.parquet")
        return len(new)

    return work


def cost_by_files(few: int, many: int, rows: int = 200) -> dict[int, float]:
    """Return the CPU seconds of an append to a table of few and of many files."""
    drawn = np.random.default_rng(1).permutation(2 * HELD)
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as temporary:
        record = Record(temporary)
        for number in range(many + 20):
            batch = facts(drawn[number * rows : (number + 1) * rows])
            start = process_time()
            append(record, FUNDAMENTALS, batch, Load("bench", (f"{number}",)))
            seconds.append(process_time() - start)
    return {files: median(seconds[files : files + 20]) for files in (few, many)}


def report() -> None:
    """Print the ratios of the issue's goals."""
    costs = cost_by_files(50, 500)
    for files, seconds in costs.items():
        print(f"  200 rows to {files} files   {1000 * seconds:.0f} ms of CPU")
    print(f"  500 / 50 files        {costs[500] / costs[50]:.2f}  (goal: 1)")
    with tempfile.TemporaryDirectory() as temporary:
        stored, brought = Path(temporary, "stored"), Path(temporary, "incoming.parquet")
        fill(stored, HELD)
        pq.write_table(incoming(), brought)
        ways = {}
        for way in ("sankofa", "plain_duckdb", "pandas_merge", "pandas_index"):
            ways[way] = _from_a_fresh_copy(stored, way, str(brought))
        for way, cost in ways.items():
            print(f"  {way:14} {cost.seconds:7.3f} s  {cost.peak_mb:5} MB  ({cost.output} new)")
        ours, plain = ways["sankofa"], ways["plain_duckdb"]
        best = min(ways["pandas_merge"].seconds, ways["pandas_index"].seconds)
        print(f"  ours / plain DuckDB   {ours.seconds / plain.seconds:.2f}  (goal: at most 1.5)")
        print(f"  best pandas / ours    {best / ours.seconds:.2f}  (goal: at least 2)")
        print(f"  our peak memory       {ours.peak_mb} MB  (goal: under 1024)")


def _from_a_fresh_copy(stored: Path, way: str, brought: str):  # type: ignore[no-untyped-def]
    results = []
    for turn in range(3):
        copy = stored.with_name(f"{way}-{turn}")
        shutil.copytree(stored, copy)
        results.append(measured("tests.bench.append", way, str(copy), brought, runs=1))
        shutil.rmtree(copy)
    return sorted(results, key=lambda result: result.seconds)[1]


if __name__ == "__main__":
    report()
