"""Metrics of the service: each declared once, the numbers of a process, and their file.

Counting is adding to Python numbers, about half a microsecond a request. A thread writes them to a
file once a second: a full disk then costs figures, where a memory-mapped file, as the Prometheus
client shares one among processes, would end the process. A process takes over the file of one that
has ended, and goes on from its numbers: there are never more files than there were processes at
the same time, and counters never fall. One that is killed loses its last second.
"""

import fcntl
import logging
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from warehouse.shared.data_files import csv_rows
from warehouse.shared.files import private_folder

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class Metric:
    """A metric. A gauge has the value that was set last, whichever process set it."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str


# Every metric is declared once, in ``metrics.csv``: the exposition, the table in
# ``/guides/metrics`` and the test of the dashboard and the alert rules read it.
METRICS = tuple(
    Metric(row["name"], cast(Kind, row["kind"]), tuple(row["labels"].split()), row["meaning"])
    for row in csv_rows(__name__, "metrics")
)


def _metric(name: str) -> Metric:
    return next(metric for metric in METRICS if metric.name == name)


REQUEST_SECONDS = _metric("sankofa_request_duration_seconds")
RATE_LIMITED = _metric("sankofa_rate_limited_total")
STORE_FAILURES = _metric("sankofa_store_failures_total")
LOG_LINES_DROPPED = _metric("sankofa_log_lines_dropped_total")
PROCESS_STARTS = _metric("sankofa_process_starts_total")
BUILD_INFO = _metric("sankofa_build_info")
BUILD_PUBLISHED = _metric("sankofa_build_published_timestamp_seconds")
FETCHES = _metric("sankofa_fetches_total")
FETCHED_AT = _metric("sankofa_fetch_last_success_timestamp_seconds")
INGEST_ROWS = _metric("sankofa_ingest_rows_total")
INGESTS = _metric("sankofa_ingests_total")
INGEST_SECONDS = _metric("sankofa_ingest_seconds_total")
INGESTED_AT = _metric("sankofa_ingest_last_success_timestamp_seconds")
DOCUMENTS_FAILED = _metric("sankofa_documents_failed")
PUBLICATIONS = _metric("sankofa_publications_total")
ALERTS_SENT = _metric("sankofa_alerts_total")
PUBLICATION_SECONDS = _metric("sankofa_publication_duration_seconds")
STAGE_SECONDS = _metric("sankofa_publication_stage_seconds_total")
PUBLISHED_AT = _metric("sankofa_publication_last_success_timestamp_seconds")
# Upper bounds of the histogram, in seconds.
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WRITE_SECONDS = 1.0
# Requests by bucket, those above the last, and the sum of seconds.
_SERIES = len(BUCKETS) + 2
_STATUS_CLASSES = ("0xx", "1xx", "2xx", "3xx", "4xx", "5xx")
_STORES = {"key_store_unavailable": "key_store", "datastore_unavailable": "datastore"}
_log = logging.getLogger("sankofa.metrics")


class Gauge(msgspec.Struct):
    """A value and when it was set: of several processes the last one counts."""

    value: float
    set_at: float


class Stored(msgspec.Struct):
    """What a file holds; labels of a series are joined by newlines, which no label contains."""

    counters: dict[str, dict[str, float]] = {}
    gauges: dict[str, dict[str, Gauge]] = {}
    # By endpoint and status: requests by bucket, then the sum of seconds.
    requests: dict[str, list[float]] = {}
    surface: str = ""


class Counts:
    """Counters, gauges and the histogram of requests of one process."""

    def __init__(self, stored: Stored) -> None:
        self._stored, self._requests = stored, stored.requests

    def add(self, metric: Metric, *labels: str, value: float = 1) -> None:
        """Add to a counter."""
        series = self._stored.counters.setdefault(metric.name, {})
        key = _joined(labels)
        series[key] = series.get(key, 0) + value

    def set(self, metric: Metric, *labels: str, value: float) -> None:
        """Set a gauge."""
        gauge = Gauge(value, time.time())
        self._stored.gauges.setdefault(metric.name, {})[_joined(labels)] = gauge

    def observe(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = f"{endpoint}\n{_STATUS_CLASSES[status // 100]}"
        series = self._requests.get(key)
        if series is None:
            series = self._requests[key] = [0] * _SERIES
        series[bisect_left(BUCKETS, seconds)] += 1
        series[-1] += seconds

    def encoded(self) -> bytes:
        """Return the numbers as they are stored."""
        return msgspec.json.encode(self._stored)


class _File:
    """A file of numbers that belongs to this process as long as it holds its lock."""

    def __init__(self, path: Path, lock: IO[str], surface: str) -> None:
        self._path, self._lock = path, lock
        self._last, self._is_failing = b"", False
        # The thread of a server writes, and at its end the server itself.
        self._writing = threading.Lock()
        stored = _read(path)
        stored.surface = surface
        self.counts = Counts(stored)

    def write(self) -> None:
        """Write the numbers if they changed; a failure is logged once and tried again later."""
        with self._writing:
            encoded = self.counts.encoded()
            if encoded == self._last:
                return
            try:
                # Not synced to the disk: after a power cut the numbers may begin again at 0.
                partial = self._path.with_suffix(".part")
                partial.write_bytes(encoded)
                partial.replace(self._path)
            except OSError as error:
                if not self._is_failing:
                    _log.warning("the metrics cannot be written to %s: %s", self._path, error)
                self._is_failing = True
                return
            self._last, self._is_failing = encoded, False

    def close(self) -> None:
        self.write()
        self._lock.close()


def _taken(place: Path | str | None, process: str) -> _File | None:
    """Take the first file of a kind of process that no living process has.

    Metrics never stop the work: if the folder cannot be written, that is logged.
    """
    if place is None:
        return None
    try:
        folder, number = private_folder(Path(place)), 0
        while True:
            lock = (folder / f"{process}-{number}.lock").open("a")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return _File(folder / f"{process}-{number}.json", lock, process)
            except BlockingIOError:
                lock.close()
                number += 1
    except OSError as error:
        _log.warning("no metrics are kept: %s", error)
        return None


def read_all(folder: Path) -> list[Stored]:
    """Return what every process has counted, those that have ended included."""
    return [_read(path) for path in sorted(folder.glob("*.json"))]


def _read(path: Path) -> Stored:
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=Stored)
    except (OSError, msgspec.DecodeError):
        return Stored()
    # Of a version with other buckets.
    for key in [key for key, series in stored.requests.items() if len(series) != _SERIES]:
        del stored.requests[key]
    return stored


@contextmanager
def counting(folder: Path | str | None, process: str) -> Iterator[Counts]:
    """Count what a piece of work does; without a folder the numbers go nowhere."""
    file = _taken(folder, process)
    try:
        yield Counts(Stored()) if file is None else file.counts
    finally:
        if file is not None:
            file.close()


# The numbers of a process that answers requests; None if it keeps none.
_surface: str = ""
_counts: Counts | None = None
_file: _File | None = None


def start_counting(folder: str | None, surface: str, dropped: Callable[[], int]) -> None:
    """Begin to count in a process that answers requests; ``dropped``: log lines it has lost."""
    global _surface, _counts, _file
    _file = _taken(folder, surface)
    if _file is None:
        return
    _surface, _counts = surface, _file.counts
    _counts.add(PROCESS_STARTS, surface)
    threading.Thread(target=_write_for_ever, args=(_file, dropped), daemon=True).start()


def stop_counting() -> None:
    """Write the numbers for the last time."""
    if _file is not None:
        _file.write()


def observe_request(endpoint: str, status: int, seconds: float) -> None:
    """Count a request that was answered."""
    if _counts is not None:
        _counts.observe(endpoint, status, seconds)


def count_problem(code: str, violated: Sequence[str] = ()) -> None:
    """Count a problem that says something of the service: a limit, or a store that is down."""
    if _counts is None:
        return
    if code in _STORES:
        count_store_failure(_STORES[code])
    for limit in violated:
        _counts.add(RATE_LIMITED, _surface, limit)


def count_store_failure(store: str) -> None:
    """Count that a store did not answer."""
    if _counts is not None:
        _counts.add(STORE_FAILURES, _surface, store)


def _write_for_ever(file: _File, dropped: Callable[[], int]) -> None:
    counted = 0
    while True:
        if (now := dropped()) != counted:
            file.counts.add(LOG_LINES_DROPPED, _surface, value=now - counted)
            counted = now
        file.write()
        time.sleep(_WRITE_SECONDS)


def _joined(labels: tuple[str, ...]) -> str:
    return "\n".join(labels)
