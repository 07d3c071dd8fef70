"""The REST service as processes: the app of ``app.py`` on the server of ``server/``."""

import logging
import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api.app import create_app
from api.base_url import BaseUrlMiddleware
from api.server.proxies import parse_networks, trust_proxies
from api.server.waitress_loop import create_waitress, run
from api.server.workers import keep_freed_memory, run_workers
from warehouse.control.keys import KeyStore
from warehouse.exports.published import PublishedExports
from warehouse.mart.builds import mart_folder
from warehouse.mart.shared_builds import start_pulling
from warehouse.metrics.counts import start_counting, stop_counting
from warehouse.read.mart import Mart
from warehouse.server_log import lines_dropped, log_to_stderr
from warehouse.settings import PAGES_PER_MINUTE
from warehouse.tiers import TIERS, Tier, TierName
from warehouse.usage.store import Usage

_LOG = logging.getLogger("sankofa.serve")


@dataclass(frozen=True)
class ServeOptions:
    """Options of a server; see ``python -m api --help``."""

    # The object store from which builds are pulled; empty if they are made here.
    shared_marts: str = ""
    exports: str | None = None
    mcp_url: str = ""
    usage: str | None = None
    metrics: str | None = None
    base_urls: tuple[str, ...] = ()
    exports_url: str | None = None
    proxies: tuple[str, ...] = ()
    tiers: Mapping[TierName, Tier] = field(default_factory=lambda: TIERS)
    upgrade_url: str | None = None
    pages_per_minute: int = PAGES_PER_MINUTE
    workers: int = 1


def serve(
    marts: str | Path,
    control: str | Path,
    host: str = "127.0.0.1",
    port: int = 8080,
    options: ServeOptions = ServeOptions(),  # noqa: B008
) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first."""
    log_to_stderr()
    # Report invalid options once, before any worker starts.
    BaseUrlMiddleware(options.base_urls)
    parse_networks(options.proxies)
    keep_freed_memory()
    listening, stop = bind(host, port), stop_on_signal()
    _LOG.info("listening at port %d, processes: %d", listening.getsockname()[1], options.workers)

    # The app is created here, after the fork: its connections must not be shared by processes.
    def work(stop: threading.Event) -> None:
        start_counting(options.metrics, "rest", lines_dropped)
        run(listen_on(listening, marts, control, options), stop)
        stop_counting()

    if options.workers == 1:
        work(stop)
    else:
        run_workers(work, options.workers, stop)


def listen(
    marts: str | Path,
    control: str | Path,
    host: str,
    port: int,
    options: ServeOptions = ServeOptions(),  # noqa: B008
) -> Any:
    """Bind the address and return the server (``effective_port`` is its port)."""
    return listen_on(bind(host, port), marts, control, options)


def listen_on(
    listening: socket.socket, marts: str | Path, control: str | Path, options: ServeOptions
) -> Any:
    """Return a server on a socket that is bound already."""
    if options.shared_marts:
        start_pulling(options.shared_marts, mart_folder(marts))
    app = create_app(
        Mart(marts),
        KeyStore(control, options.tiers),
        options.upgrade_url,
        exports=None if options.exports is None else PublishedExports(options.exports),
        base_urls=options.base_urls,
        exports_url=options.exports_url,
        usage=None if options.usage is None else Usage(options.usage),
        mcp_url=options.mcp_url,
        pages_per_minute=options.pages_per_minute,
    )
    # Inline only if no store can block: one slow read would otherwise stop every connection. Keys
    # are in memory.
    stores = (options.exports, options.usage)
    behind_proxies = trust_proxies(parse_networks(options.proxies), app)
    return create_waitress(behind_proxies, listening, inline=all(map(_is_local, stores)))


def bind(host: str, port: int) -> socket.socket:
    """Bind the address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def stop_on_signal() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _is_local(location: str | Path | None) -> bool:
    """Return whether a store is read without network: a file or folder, or none at all."""
    return location is None or "://" not in str(location) or str(location).startswith("file://")
