"""A record far larger than this disk, by its shape: what planning, appending and a night cost.

``python -m tests.bench.shape [figures] [releases]`` makes a record of so many rows (a hundred
million figures and ten million releases, unless told otherwise) out of what planning and appending
read: the Delta log with an entry and statistics for each data file, the index of each file, and the
sums of its keys. The rows themselves are nowhere. Appending is real, against indexes of zeros; so
is planning, against sums whose keys and loads are those that daily loads of this size would have.
"""

import json
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from deltalake.transaction import AddAction, RemoveAction

from tests.bench.world import facts
from warehouse.publish.partitions import Partitions, issuer_buckets
from warehouse.publish.stored_sums import StoredSums
from warehouse.record.append import Load, append
from warehouse.record.row_index import SUMS
from warehouse.record.store import Record
from warehouse.record.tables import (
    FUNDAMENTALS,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
    record_schema,
)
from warehouse.shared.files import check_of_file

FIGURES, RELEASES = 100_000_000, 10_000_000
# A merged data file, about, and the days of loads.
ROWS_OF_A_FILE, LOADS = 1_000_000, 1_000
# Of an organisation, and the loads in which they came; of a process, each in a load of its own.
FIGURES_OF_AN_ISSUER, FILINGS_OF_AN_ISSUER = 2_000, 20
RELEASES_OF_A_PROCESS, PARTIES_OF_A_RELEASE = 3, 3
# Files that wait to be merged.
SMALL_FILES = 32
CAME = 200

# Files are sorted by key, so that all rows of a key are in one; each of its loads has a sum.
_SUMS = """
SELECT
    file_names[1 + key * {files} // {keys}] AS file, {columns},
    1 + (number * 7919) % {loads} AS load_seq,
    CAST({rows} AS BIGINT) AS rows, CAST(hash(number) AS DECIMAL(38, 0)) AS total
FROM (SELECT number, number // {times} AS key FROM range({keys} * {times}) AS numbers(number)),
    (SELECT ? AS file_names)
"""
_KEYS = {
    FUNDAMENTALS: (("service_id",), "printf('DC%08d', key) AS service_id"),
    TENDER_RELEASES: (
        ("source", "ocid", "country"),
        "printf('portal-%d', key % 20) AS source, printf('ocds-%010d', key) AS ocid, "
        "printf('C%02d', key % 20) AS country",
    ),
}
_KEYS[TENDER_PARTIES] = _KEYS[TENDER_RELEASES]


def make(root: Path, figures: int, releases: int) -> Record:
    """Make the record."""
    record, issuers = Record(str(root)), figures // FIGURES_OF_AN_ISSUER
    _make_table(record, FUNDAMENTALS, figures, issuers, FILINGS_OF_AN_ISSUER)
    for table, rows in (
        (TENDER_RELEASES, releases),
        (TENDER_PARTIES, releases * PARTIES_OF_A_RELEASE),
    ):
        _make_table(record, table, rows, releases // RELEASES_OF_A_PROCESS, RELEASES_OF_A_PROCESS)
    return record


def _make_table(record: Record, table: RecordTable, rows: int, keys: int, times: int) -> None:
    count = max(rows // ROWS_OF_A_FILE, 1) + SMALL_FILES
    names = [f"part-{number:06}.parquet" for number in range(count)]
    per_file = rows // count
    form = "DC{:08d}" if table is FUNDAMENTALS else "ocds-{:010d}"
    actions: list[AddAction | RemoveAction] = []
    for number, name in enumerate(names):
        bounds = (number * keys // count, max((number + 1) * keys // count - 1, 0))
        low, high = ({table.cluster: form.format(bound)} for bound in bounds)
        nulls = dict.fromkeys((table.cluster, "load_seq"), 0)
        stats = {"numRecords": per_file, "minValues": low, "maxValues": high, "nullCount": nulls}
        actions.append(AddAction(name, per_file * 50, {}, 0, True, json.dumps(stats)))
        index = record.index_folder(table.name) / f"{name}.marks"
        index.parent.mkdir(parents=True, exist_ok=True)
        # A file of zeros takes no room on disk: it says of every sighting that it is not there.
        with index.open("wb") as file:
            file.truncate(per_file * 28)
    delta = record.table(table.name)
    delta.create_write_transaction(actions, "append", record_schema(table))
    sums = StoredSums(record.connection.cursor(), record, table, _KEYS[table][0])
    statement = _SUMS.format(
        files=count,
        keys=keys,
        columns=_KEYS[table][1],
        loads=LOADS,
        times=times,
        rows=max(rows // (keys * times), 1),
    )
    written = record.index_folder(table.name) / "sums.part"
    with closing(record.connection.cursor()) as sql:
        sql.execute(f"COPY ({statement}) TO '{written}' (FORMAT parquet)", [names])
    written.rename(written.with_name(f"{sums._version}.{check_of_file(written).xxh3}{SUMS}"))


@contextmanager
def _timed(what: str) -> Iterator[None]:
    started, used = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - started, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"  {what:46} {wall:7.2f} s, {cpu:7.2f} CPU s, peak so far {peak:,} MB")


def measure(record: Record, folder: Path, figures: int) -> None:
    """Measure what a night does before it touches its own rows, and an append."""
    with _timed("list the data files of three tables"):
        files = sum(
            len(record.files(table.name))
            for table in (FUNDAMENTALS, TENDER_RELEASES, TENDER_PARTIES)
        )
    print(f"    {files:,} files")
    loads = {table.name: LOADS for table in (FUNDAMENTALS, TENDER_RELEASES, TENDER_PARTIES)}
    same_as = folder / "same_as.parquet"
    with closing(record.connection.cursor()) as sql:
        empty = "SELECT '' AS service_id, '' AS same_as, '' AS match_method LIMIT 0"
        sql.execute(f"COPY ({empty}) TO '{same_as}' (FORMAT parquet)")
        partitions = Partitions(
            sql, record, loads, folder / "stored", same_as, issuer_buckets(figures)
        )
        for table in (FUNDAMENTALS, TENDER_RELEASES, TENDER_PARTIES):
            with _timed(f"which partitions of {table.name} changed"):
                split = partitions.stored(table)
            largest = max(split.rows.values())
            print(f"    {len(split.rows):,} partitions, the largest of {largest:,} rows")
    for turn in range(3):
        rows = facts(np.arange(turn * CAME, (turn + 1) * CAME))
        with _timed(f"append {CAME} figures"):
            append(record, FUNDAMENTALS, rows, Load("bench", (str(turn),)))


def report(figures: int = FIGURES, releases: int = RELEASES) -> None:
    """Make the record, and print what is measured."""
    folder = Path(tempfile.mkdtemp(prefix="sankofa-shape-"))
    try:
        print(f"  {figures:,} figures, {releases:,} releases, by their shape")
        record = make(folder / "record", figures, releases)
        measure(record, folder, figures)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    report(*map(int, sys.argv[1:]))
