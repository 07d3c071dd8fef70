"""``sankofa metrics``: what Prometheus reads."""

import logging
import signal
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import accumulate
from pathlib import Path

import click
import msgspec
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from pipelines import ports
from pipelines.commands.serving import HOST, PORT
from pipelines.commands.serving import METRICS as METRICS_SERVER
from warehouse.serve.build import Mart
from warehouse.serve.catalogue import export_manifest
from warehouse.shared.errors import SankofaError
from warehouse.shared.metrics import (
    BUCKETS,
    BUILD_INFO,
    BUILD_PUBLISHED,
    METRICS,
    REQUEST_SECONDS,
    Gauge,
    read_all,
)
from warehouse.shared.server_log import log_to_stderr
from warehouse.shared.settings import read_settings
from warehouse.shared.stop import Stop

# The metrics of all processes of a machine, as Prometheus reads them: ``GET /metrics``.

_log = logging.getLogger("sankofa.metrics")
_BOUNDS = (*map(str, BUCKETS), "+Inf")


class _Manifest(msgspec.Struct):
    generated_at: datetime | None = None


class FileCollector(Collector):
    """Adds up the files of all processes, and reads which build is current."""

    def __init__(self, folder: Path, mart: Mart) -> None:
        self._folder, self._mart = folder, mart

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that has a value."""
        files = read_all(self._folder)
        for metric in METRICS:
            summed, newest = dict[str, float](), dict[str, Gauge]()
            for file in files:
                for labels, value in file.counters.get(metric.name, {}).items():
                    summed[labels] = summed.get(labels, 0) + value
                for labels, gauge in file.gauges.get(metric.name, {}).items():
                    if labels not in newest or newest[labels].set_at < gauge.set_at:
                        newest[labels] = gauge
            if summed:
                counter = CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
                for labels, value in summed.items():
                    counter.add_metric(_split(labels), value)
                yield counter
            if newest:
                family = GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
                for labels, gauge in newest.items():
                    family.add_metric(_split(labels), gauge.value)
                yield family
        yield _requests((file.surface, file.requests) for file in files)
        yield from self._build()

    def _build(self) -> Iterator[Metric]:
        try:
            build, manifest = self._mart.build(), export_manifest(self._mart)
        except SankofaError as error:
            # No build, or its store is down: the absent metric is what the alert looks at.
            _log.warning("the build cannot be read: %s", error)
            return
        info = GaugeMetricFamily(BUILD_INFO.name, BUILD_INFO.meaning, labels=BUILD_INFO.labels)
        info.add_metric([build.data_version], 1)
        yield info
        published = msgspec.json.decode(manifest or b"{}", type=_Manifest).generated_at
        if published is not None:
            yield GaugeMetricFamily(
                BUILD_PUBLISHED.name, BUILD_PUBLISHED.meaning, published.timestamp()
            )


def _requests(files: Iterable[tuple[str, dict[str, list[float]]]]) -> Metric:
    summed: dict[tuple[str, str], list[float]] = {}
    for surface, requests in files:
        for labels, numbers in requests.items():
            before = summed.get((surface, labels), [0] * len(numbers))
            summed[surface, labels] = [a + b for a, b in zip(before, numbers, strict=True)]
    family = HistogramMetricFamily(
        REQUEST_SECONDS.name, REQUEST_SECONDS.meaning, labels=REQUEST_SECONDS.labels
    )
    for (surface, labels), (*counts, seconds) in summed.items():
        buckets = list(zip(_BOUNDS, accumulate(counts), strict=True))
        family.add_metric([surface, *_split(labels)], buckets, seconds)
    return family


def serve_metrics(folder: Path, mart: Mart, host: str, port: int, stop: Stop) -> None:
    """Serve ``/metrics`` until ``stop`` is set."""
    registry = CollectorRegistry()
    registry.register(FileCollector(folder, mart))
    # A thread for each client: one that connects and sends nothing keeps no other waiting.
    server, _ = start_http_server(port, host, registry)
    _log.info("listening at port %d, metrics only", server.server_port)
    while not stop.wait(0.2):
        pass
    server.shutdown()
    server.server_close()


def _split(labels: str) -> list[str]:
    return labels.split("\n") if labels else []


@click.command()
@HOST
@click.option("--port", default=ports.METRICS, show_default=True, type=PORT)
def metrics(host: str, port: int) -> None:
    """Serve the metrics of this machine to Prometheus.

    REST, MCP, ingest and publish write them to the home. There is no password: leave the address
    a loopback one, or one that only Prometheus reaches.
    """
    settings = read_settings()
    ports.refuse_taken({METRICS_SERVER: ports.Address(host, port)})
    stop = Stop().on_signals(signal.SIGTERM, signal.SIGINT)
    log_to_stderr()
    try:
        serve_metrics(Path(settings.metrics), Mart(settings.marts), host, port, stop)
    except OSError as error:
        raise SankofaError(
            f"cannot serve at {host}:{port}: {error.strerror or error}; choose another --port"
        ) from error
