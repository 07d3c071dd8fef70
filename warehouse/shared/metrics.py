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
from typing import IO, Literal

import msgspec

from warehouse.shared.files import private_folder

# Every metric: its name, kind, labels and meaning, declared once.
#
# The exposition, the table in ``/guides/metrics`` and the test of the dashboard and the alert
# rules read this table.


@dataclass(frozen=True)
class Metric:
    """A metric. A gauge has the value that was set last, whichever process set it."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    meaning: str


REQUEST_SECONDS = Metric(
    "sankofa_request_duration_seconds",
    "histogram",
    ("surface", "endpoint", "status"),
    "Requests that were answered, by the time until the answer was ready. `surface` is `rest` or "
    "`mcp`, `endpoint` the path template or the tool, `status` the class, such as `2xx`.",
)
# Upper bounds of the histogram, in seconds.
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
RATE_LIMITED = Metric(
    "sankofa_rate_limited_total",
    "counter",
    ("surface", "limit"),
    "Requests refused because a limit was reached: `burst` (per minute) or `monthly`.",
)
STORE_FAILURES = Metric(
    "sankofa_store_failures_total",
    "counter",
    ("surface", "store"),
    "Times that a store did not answer: `key_store`, `usage_store` or `datastore`.",
)
LOG_LINES_DROPPED = Metric(
    "sankofa_log_lines_dropped_total",
    "counter",
    ("surface",),
    "Lines of the log that could not be written, or that a slow reader left no room for.",
)
PROCESS_STARTS = Metric(
    "sankofa_process_starts_total",
    "counter",
    ("surface",),
    "Times that a process that answers requests was started.",
)
BUILD_INFO = Metric(
    "sankofa_build_info", "gauge", ("data_version",), "1 for the build that is served."
)
BUILD_PUBLISHED = Metric(
    "sankofa_build_published_timestamp_seconds",
    "gauge",
    (),
    "When the build that is served was published, in seconds since 1970.",
)
FETCHES = Metric(
    "sankofa_fetches_total",
    "counter",
    ("source", "outcome"),
    "Fetches of a source: `ok` or `failed`.",
)
FETCHED_AT = Metric(
    "sankofa_fetch_last_success_timestamp_seconds",
    "gauge",
    ("source",),
    "When a source was last fetched without an error.",
)
INGEST_ROWS = Metric(
    "sankofa_ingest_rows_total",
    "counter",
    ("source", "outcome"),
    "Rows that were read, and what became of them: `read`, `appended`, `held` (already stored), "
    "`quarantined`, `withdrawn`, `retracted`.",
)
INGESTS = Metric(
    "sankofa_ingests_total",
    "counter",
    ("source", "outcome"),
    "Loads of a source: `ok` or `failed`.",
)
INGEST_SECONDS = Metric(
    "sankofa_ingest_seconds_total", "counter", ("source",), "Seconds that loads of a source took."
)
INGESTED_AT = Metric(
    "sankofa_ingest_last_success_timestamp_seconds",
    "gauge",
    ("source",),
    "When a source was last loaded without an error.",
)
DOCUMENTS_FAILED = Metric(
    "sankofa_documents_failed",
    "gauge",
    ("source",),
    "Documents that are unread because the parser fails on them, as of the last load.",
)
PUBLICATIONS = Metric(
    "sankofa_publications_total",
    "counter",
    ("outcome",),
    "Publications: `published`, `unchanged` (there was nothing to do), `refused` by the audit, or "
    "`failed`.",
)
ALERTS_SENT = Metric(
    "sankofa_alerts_total",
    "counter",
    ("channel", "outcome"),
    "Alerts on failure, by `command` or `webhook`: `ok` or `failed`.",
)
PUBLICATION_SECONDS = Metric(
    "sankofa_publication_duration_seconds",
    "gauge",
    (),
    "Seconds from the snapshot of the last publication to its switch.",
)
STAGE_SECONDS = Metric(
    "sankofa_publication_stage_seconds_total",
    "counter",
    ("stage",),
    "Seconds that each stage of publications took.",
)
PUBLISHED_AT = Metric(
    "sankofa_publication_last_success_timestamp_seconds",
    "gauge",
    (),
    "When a publication last ended with a build, or found that nothing had changed.",
)
METRICS = tuple(declared for declared in list(globals().values()) if isinstance(declared, Metric))


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


def _taken(folder: Path, process: str) -> _File:
    """Take the first file of a kind of process that no living process has."""
    private_folder(folder)
    number = 0
    while True:
        lock = (folder / f"{process}-{number}.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            number += 1
            continue
        return _File(folder / f"{process}-{number}.json", lock, process)


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
    """Count what a piece of work does; without a folder the numbers go nowhere.

    Metrics never stop the work: if the folder cannot be written, that is logged.
    """
    file: _File | None = None
    if folder is not None:
        try:
            file = _taken(Path(folder), process)
        except OSError as error:
            _log.warning("no metrics are kept: %s", error)
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
    if folder is None:
        return
    try:
        _file = _taken(Path(folder), surface)
    except OSError as error:
        _log.warning("no metrics are kept: %s", error)
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
