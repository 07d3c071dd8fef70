"""GLEIF's file of LEIs and ISINs at its full size, beside a bare ``csv.reader`` over the same file.

1, 3 and 9 million rows: to typed rows, and through the landing to the record, then a second
day's file with a thousandth more. Some LEIs have 600,000 ISINs. Memory must not grow with the file.
"""

import csv
import io
import json
import os
import resource
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from stdnum.iso7064 import mod_97_10

from assets.entities.mappings import ISINS, stream
from assets.ingest.land import land_all
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from assets.parsing.parsed import to_table
from tests.bench.measure import measured
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import IDENTIFIERS

SIZES = (1_000_000, 3_000_000, 9_000_000)
URL = "https://mapping.gleif.org/api/v2/isin-lei/latest/download"
# In every million rows there is one issuer of structured products, others have a few securities.
_MILLION, _MANY, _FEW = 1_000_000, 600_000, 40
_DAYS = tuple(datetime(2026, 11, day, 7, 15, tzinfo=UTC) for day in (12, 13))
Work = Callable[[], object]


def write(path: Path, rows: int) -> None:
    """Write a zip with one file of so many pairs, each ISIN once."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        name = "lei-isin-20261112T071500.csv"
        with io.TextIOWrapper(archive.open(name, "w"), "ascii") as out:
            out.write("LEI,ISIN\n")
            for start in range(0, rows, _MILLION):
                isins = _isins(start, min(start + _MILLION, rows))
                pairs = zip(_leis(start), isins, strict=False)
                out.writelines(f"{lei},{isin}\n" for lei, isin in pairs)


def _leis(start: int) -> Iterator[str]:
    """Yield the LEI of each row from a row on."""
    number = start
    while True:
        body = f"5299{number:014d}"
        lei = body + mod_97_10.calc_check_digits(body)
        for _ in range(_MANY if number % _MILLION == 0 else _FEW):
            yield lei
        number += 1


def _isins(start: int, stop: int) -> list[str]:
    """Return ISINs whose check digits are computed for all of them at once."""
    numbers = np.arange(start, stop)
    digits: list[npt.NDArray[np.int64]] = [
        *(np.full(len(numbers), digit) for digit in (1, 3, 1, 4)),  # DE is 13 14
        *(numbers // 10**power % 10 for power in range(8, -1, -1)),
    ]
    doubled = [2 * digit for digit in reversed(digits)][::2]
    single = [*reversed(digits)][1::2]
    terms = [*(value // 10 + value % 10 for value in doubled), *single]
    checks = (10 - np.sum(terms, axis=0) % 10) % 10
    return [f"DE{number:09d}{check}" for number, check in zip(numbers, checks, strict=True)]


def bare_loop(path: str) -> Work:
    """Read every line with the csv module, and do nothing with it."""

    def work() -> str:
        rows, before = 0, _cpu_seconds()
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            for _ in csv.reader(io.TextIOWrapper(member, "utf-8", newline="")):
                rows += 1
        return _costs(rows - 1, before)

    return work


def to_rows(path: str) -> Work:
    """Our reader, to the typed rows that the append takes."""
    document = Document("0" * 64, "isin-lei", URL, "cc0", _DAYS[0], 200, {}, 0)
    # Arrow imports pandas when it first sees a list.
    pa.array([""])

    def work() -> str:
        rows, before = 0, _cpu_seconds()
        with Path(path).open("rb") as body:
            for part in stream(document, body, mapping=ISINS):
                typed, rejected = to_table(IDENTIFIERS, [part])
                rows += typed.num_rows
                assert not rejected
        return _costs(rows, before)

    return work


def to_record(path: str) -> Work:
    """Land the file, load it, and do the same with the file of the next day."""
    (source,) = (source for source in SOURCES if source.key == "isin-lei")

    def work() -> str:
        children = _Children()
        with tempfile.TemporaryDirectory() as folder, children:
            landing, record = Landing(f"{folder}/landing"), Record(f"{folder}/record")
            costs = []
            for day, file in zip(_DAYS, (path, f"{path}.next"), strict=True):
                with Path(file).open("rb") as body:
                    response = FetchedResponse("isin-lei", URL, body, source.license_class, day)
                    land_all(landing, [response])
                before = _cpu_seconds()
                entries = load_source(record, landing, source)
                appended = sum(entry.appended for entry in entries)
                costs.append((appended, round(_cpu_seconds() - before, 1)))
        return json.dumps({"days": costs, "children_mb": children.peak_mb})

    return work


def _costs(rows: int, before: float) -> str:
    return json.dumps({"days": [(rows, _cpu_seconds() - before)], "children_mb": 0})


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all that it has started."""
    running = (_status(child) for child in _children())
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + sum(cpu for cpu, _ in running)


def _children() -> list[str]:
    children: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        # A thread may end at any moment.
        with suppress(OSError):
            children += (task / "children").read_text().split()
    return children


def _status(process: str) -> tuple[float, int]:
    """Return CPU seconds and peak memory of a process; zeros if it has ended."""
    try:
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    peak = [int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:")]
    ticks = int(times[11]) + int(times[12])
    return ticks / os.sysconf("SC_CLK_TCK"), max(peak, default=0)


class _Children:
    """Watches the peak memory of the processes that this one starts."""

    def __init__(self) -> None:
        self.peak_mb = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.2):
            peaks = [_status(child)[1] for child in _children()]
            self.peak_mb = max([self.peak_mb, *peaks])


def report(sizes: tuple[int, ...] = SIZES) -> None:
    """Print memory and CPU time of each size, as multiples of the bare loop."""
    for rows in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary, "isin-lei.zip")
            write(path, rows)
            write(path.with_name(f"{path.name}.next"), rows + rows // 1000)
            bare = None
            for way in ("bare_loop", "to_rows", "to_record"):
                cost = measured("tests.bench.isin", way, str(path), runs=1)
                output = json.loads(cost.output)
                for day, (count, seconds) in enumerate(output["days"], 1):
                    bare = bare or seconds
                    print(
                        f"  {rows:>9,} rows  {way:10} day {day}  {count:>9,} new  {seconds:6.1f} s"
                        f"  {seconds / bare:5.1f} x bare  {cost.peak_mb:5} MB,"
                        f" reader {output['children_mb']} MB",
                        flush=True,
                    )
