"""Every metric: its name, kind, labels and meaning, declared once.

The exposition, the table in ``docs/operating.md`` and the test of the dashboard and the alert rules
read this table.
"""

from dataclasses import dataclass
from typing import Literal


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
METRICS = (
    REQUEST_SECONDS,
    RATE_LIMITED,
    STORE_FAILURES,
    LOG_LINES_DROPPED,
    PROCESS_STARTS,
    BUILD_INFO,
    BUILD_PUBLISHED,
    FETCHES,
    FETCHED_AT,
    INGEST_ROWS,
    INGESTS,
    INGEST_SECONDS,
    INGESTED_AT,
    DOCUMENTS_FAILED,
    PUBLICATIONS,
    ALERTS_SENT,
    PUBLICATION_SECONDS,
    STAGE_SECONDS,
    PUBLISHED_AT,
)
BY_NAME = {metric.name: metric for metric in METRICS}
