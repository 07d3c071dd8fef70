"""The REST service as processes: the app of ``app.py`` on the server of ``server/``."""

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkProcess
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
from typing import Any

from api.app import create_app
from api.middleware import url_finder
from api.server.proxies import parse_networks, sharing_network, trust_proxies
from api.server.waitress_loop import MOST_CONNECTIONS, create_waitress, run
from warehouse.control.keys import KeyStore
from warehouse.publish.builds import mart_folder
from warehouse.publish.shared_builds import start_pulling
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.serve.usage import Usage
from warehouse.shared.metrics import start_counting, stop_counting
from warehouse.shared.server_log import flush_log, lines_dropped, log_to_stderr
from warehouse.shared.settings import PAGES_PER_MINUTE, available_cores
from warehouse.shared.stop import Stop
from warehouse.shared.tiers import TIERS, Tier, TierName

# Worker processes on one port, each pinned to a core where the system allows it.
#
# All accept from the socket that the parent bound: a waiting connection is taken by whichever
# worker is free, and none is lost when a worker ends.

_LOG = logging.getLogger("sankofa.serve")
_POLL_SECONDS = 0.1
# A worker that dies at start would die again: wait before starting another.
_RESTART_DELAY = 1.0
# Longer than a worker waits for the requests under way: see ``waitress_loop.run``.
_SHUTDOWN_SECONDS = 15.0
# Files of a process other than connections: those of builds, sockets, the log.
_OTHER_FILES = 1_000


def allow_connections() -> None:
    """Let a process open the files that its connections need; log it if the system refuses."""
    needed, (soft, hard) = MOST_CONNECTIONS + _OTHER_FILES, getrlimit(RLIMIT_NOFILE)
    if soft == RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == RLIM_INFINITY else min(needed, hard)
    setrlimit(RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        text = "a process may open %d files; %d connections need %d: raise its limit (ulimit -n)"
        _LOG.warning(text, allowed, MOST_CONNECTIONS, needed)


def run_workers(work: Callable[[Stop], None], number: int, stop: Stop) -> None:
    """Run ``work`` in ``number`` processes until ``stop`` is set; replace one that dies.

    The signal handlers that set ``stop`` are inherited by every worker.
    """
    cores, parent, fork = available_cores(), os.getpid(), multiprocessing.get_context("fork")

    def started(slot: int) -> ForkProcess:
        worker = fork.Process(target=_work, args=(work, cores[slot % len(cores)], stop, parent))
        worker.start()
        return worker

    workers = [started(slot) for slot in range(number)]
    while not stop.wait(_POLL_SECONDS):
        for slot, worker in enumerate(workers):
            if not worker.is_alive():
                _LOG.error("worker process %d ended; starting another", worker.pid)
                stop.wait(_RESTART_DELAY)
                workers[slot] = started(slot)
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
        worker.kill()


def _work(work: Callable[[Stop], None], core: int, stop: Stop, parent: int) -> None:
    """Do the work of a worker process, pinned to its core; this never returns."""
    status = 1
    try:
        threading.Thread(target=_stop_when_orphaned, args=(parent, stop), daemon=True).start()
        # Without CPU affinity (macOS) it is left to the scheduler.
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core})
        work(stop)
        status = 0
    except Exception:
        _LOG.exception("a worker process failed")
    finally:
        flush_log()
        # Not sys.exit: a thread that waits for a store that is down must not delay the end.
        os._exit(status)


def _stop_when_orphaned(parent: int, stop: Stop) -> None:
    # A parent that was killed outright could not signal its workers; they get another parent.
    while os.getppid() == parent:
        time.sleep(_RESTART_DELAY)
    stop.set()


@dataclass(frozen=True)
class ServeOptions:
    """Options of a server; see ``sankofa serve --help``."""

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
    pricing_contact: str = ""
    pages_per_minute: int = PAGES_PER_MINUTE
    signing_key: str | Path | None = None
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
    url_finder(options.base_urls)
    parse_networks(options.proxies)
    allow_connections()
    listening, stop = bind(host, port), Stop().on_signals(signal.SIGTERM, signal.SIGINT)
    _LOG.info("listening at port %d, processes: %d", listening.getsockname()[1], options.workers)

    # The app is created here, after the fork: its connections must not be shared by processes.
    def work(stop: Stop) -> None:
        start_counting(options.metrics, "rest", lines_dropped)
        run(listen_on(listening, marts, control, options), stop)
        stop_counting()

    if options.workers == 1:
        work(stop)
    else:
        run_workers(work, options.workers, stop)


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
        pricing_contact=options.pricing_contact,
        signing_key=options.signing_key,
    )
    # Inline only if no store can block: one slow read would otherwise stop every connection. Keys
    # are in memory.
    stores = (options.exports, options.usage)
    trusted = parse_networks(options.proxies)
    return create_waitress(
        trust_proxies(trusted, app),
        listening,
        inline=all(map(_is_local, stores)),
        network_of=partial(sharing_network, trusted),
    )


def bind(host: str, port: int) -> socket.socket:
    """Bind the address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def _is_local(location: str | Path | None) -> bool:
    """Return whether a store is read without network: a file or folder, or none at all."""
    return location is None or "://" not in str(location) or str(location).startswith("file://")
