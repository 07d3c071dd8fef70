"""``python -m tests.helpers.spark_comparison HOME MASTER…``: one record, published everywhere.

Publishes copies of a home (``sankofa sample --scale 10``, ``sankofa ingest``) in this process, in
two processes, and on each master of Spark, and compares every table of each build with the first,
row for row: the files of the steps, the exports and the mart. Prints a line a table and how long
each publication took; exits with 1 if a row differs.
"""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import msgspec

from warehouse.settings import read_settings
from warehouse.steps.files import BuildManifest

# When a build was made, and what follows from that, differs between any two publications.
_MOMENTS = ("measured_at", "data_version")
_OF_A_MOMENT = ("about", "quality", "sqlite_stat1", "sqlite_stat4")
_FIRST = "local, 1"


def main(home: Path, masters: list[str]) -> int:
    """Publish and compare; return how many tables differ."""
    computes = {_FIRST: ("local", "1"), "local, 2": ("local", "2")}
    computes |= {master: (master, "1") for master in masters}
    wrong, homes = 0, dict[str, Path]()
    for name, (compute, processes) in computes.items():
        homes[name] = _published(home, name, compute, processes)
        if name != _FIRST:
            wrong += sum(_compared(homes[_FIRST], homes[name], name))
    return wrong


def _published(home: Path, name: str, compute: str, processes: str) -> Path:
    copy = home.with_name(f"{home.name}-{''.join(filter(str.isalnum, name))}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(home, copy)
    settings = {"HOME": str(copy), "COMPUTE": compute, "PROCESSES": processes}
    environment = {**os.environ, **{f"SANKOFA_{key}": value for key, value in settings.items()}}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [Path(sys.executable).with_name("sankofa"), "publish"], env=environment, check=True
    )
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name}: published in {wall:.1f} s, {cpu:.1f} CPU s of the command's own processes")
    return copy


def _compared(first: Path, second: Path, name: str) -> Iterator[bool]:
    """Print whether each table is the same; yield True for each that is not."""
    one, two = _tables(first), _tables(second)
    for table in sorted(one.keys() | two.keys()):
        rows, differing = _differing(table, one.get(table, []), two.get(table, []))
        verdict = f"{differing} DIFFER" if differing else "equal"
        print(f"  {name}: {table}: {rows:,} rows, {verdict}", flush=True)
        yield bool(differing)


def _tables(home: Path) -> dict[str, list[Path]]:
    """Return the files of every table of the current build."""
    work = read_settings({"SANKOFA_HOME": str(home)}).work
    (manifest,) = (work / "builds").glob("*.json")
    tables: dict[str, list[Path]] = {}
    for file in msgspec.json.decode(manifest.read_bytes(), type=BuildManifest).files:
        path = work / "steps" / file.path
        tables.setdefault(f"step {file.table}", []).append(path)
    for path in (home / "exports").rglob("*.parquet"):
        tables.setdefault(f"export {path.name}", []).append(path)
    for path in (home / "marts").rglob("*.sqlite"):
        for table in _sqlite_tables(path):
            tables.setdefault(f"mart {table}", []).append(path)
    return tables


def _sqlite_tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as mart:
        names = mart.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    return [name for (name,) in names if name not in _OF_A_MOMENT]


def _differing(table: str, one: list[Path], two: list[Path]) -> tuple[int, int]:
    """Return how many rows the first has, and how many rows are on one side only."""
    if not one or not two:
        return 0, 1
    if table.startswith("mart "):
        first, second = (Counter(_sqlite_rows(table, paths)) for paths in (one, two))
        return first.total(), (first - second).total() + (second - first).total()
    with closing(duckdb.connect()) as sql:
        first_rows, second_rows = (
            f"(SELECT COLUMNS(lambda name: name NOT IN {_MOMENTS}) "
            f"FROM read_parquet({list(map(str, each))}))"
            for each in (one, two)
        )
        (row,) = sql.execute(f"""
SELECT (SELECT count(*) FROM {first_rows}),
    (SELECT count(*) FROM (FROM {first_rows} EXCEPT ALL FROM {second_rows}))
    + (SELECT count(*) FROM (FROM {second_rows} EXCEPT ALL FROM {first_rows}))""").fetchall()
    return int(row[0]), int(row[1])


def _sqlite_rows(table: str, paths: list[Path]) -> Iterator[tuple[object, ...]]:
    name = table.removeprefix("mart ")
    for path in paths:
        with closing(sqlite3.connect(path)) as mart:
            yield from mart.execute(f'SELECT * FROM "{name}"')


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1]).resolve(), sys.argv[2:]) else 0)
