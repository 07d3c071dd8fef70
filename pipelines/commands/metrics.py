"""``sankofa metrics``: what Prometheus reads."""

import os
import signal
from pathlib import Path
from threading import Event

import click

from pipelines import ports
from pipelines.commands.serving import HOST, METRICS, PORT
from warehouse.errors import SankofaError
from warehouse.metrics.exposition import serve_metrics
from warehouse.read.mart import Mart
from warehouse.server_log import log_to_stderr
from warehouse.settings import read_settings


@click.command()
@HOST
@click.option("--port", default=ports.METRICS, show_default=True, type=PORT)
def metrics(host: str, port: int) -> None:
    """Serve the metrics of this machine to Prometheus.

    REST, MCP, ingest and publish write them to the home. There is no password: leave the address
    a loopback one, or one that only Prometheus reaches.
    """
    settings = read_settings(os.environ)
    ports.refuse_taken({METRICS: ports.Address(host, port)})
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    log_to_stderr()
    try:
        serve_metrics(Path(settings.metrics), Mart(settings.marts), host, port, stop)
    except OSError as error:
        raise SankofaError(
            f"cannot serve at {host}:{port}: {error.strerror or error}; choose another --port"
        ) from error
