"""The REST service on waitress: one process a core on one port, stopped without cutting short."""

import logging
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waitress.server import create_server

from api.app import UPGRADE_URL, create_app
from api.base_url import Hosts
from api.server.access_log import log_to_stderr, write_log
from api.server.channel import Channel
from api.server.memory import keep_memory
from api.server.proxies import behind, networks
from api.server.task import AtOnce
from api.server.workers import keep_working
from warehouse.exports.published import Published
from warehouse.keys import KeyStore
from warehouse.read.mart import Mart
from warehouse.usage import Usage

_LOG = logging.getLogger("sankofa.serve")
_THREADS = 4
_LONGEST_HEADER = 32_768
_LONGEST_BODY = 65_536
_CONNECTIONS = 2_000
_IDLE = 75
_PATIENCE = 10.0
_HIGH_WATERMARK = 16 << 20
_FILES = ("sqlite:///", "file://")


@dataclass(frozen=True)
class Options:
    """What a server can be told beside its places; see ``python -m api --help``."""

    exports: str | None = None
    docs: Path | None = None
    mcp_url: str = ""
    usage: str | None = None
    bases: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    upgrade_url: str = UPGRADE_URL
    workers: int = 1


def serve(
    marts: str | Path,
    keys_path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8080,
    options: Options = Options(),  # noqa: B008
) -> None:
    """Serve until SIGTERM or SIGINT; requests that are under way are answered first."""
    log_to_stderr()
    # What is written wrong is said now, and not by every process that starts.
    Hosts(options.bases)
    networks(options.proxies)
    keep_memory()
    bound, stop = bind(host, port), stopped_by_signal()
    _LOG.info("listening at port %d, processes: %d", bound.getsockname()[1], options.workers)
    write_log()

    def work(stop: threading.Event) -> None:
        run(listen_on(bound, marts, keys_path, options), stop)

    if options.workers == 1:
        work(stop)
    else:
        keep_working(work, options.workers, stop)


def stopped_by_signal() -> threading.Event:
    """Give what SIGTERM and SIGINT set."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def bind(host: str, port: int) -> socket.socket:
    """Take the address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def listen(
    marts: str | Path,
    keys_path: str | Path,
    host: str,
    port: int,
    options: Options = Options(),  # noqa: B008
) -> Any:
    """Bind the address and give the server (``effective_port`` says where it is)."""
    return listen_on(bind(host, port), marts, keys_path, options)


def listen_on(
    bound: socket.socket, marts: str | Path, keys_path: str | Path, options: Options
) -> Any:
    """Give the server at an address that is taken already."""
    app = create_app(
        Mart(marts),
        KeyStore(keys_path),
        options.upgrade_url,
        exports=None if options.exports is None else Published(options.exports),
        bases=options.bases,
        usage=None if options.usage is None else Usage(options.usage),
        docs=options.docs,
        mcp_url=options.mcp_url,
    )
    at_once = all(map(_is_here, (marts, keys_path, options.exports, options.usage)))
    server: Any = create_server(
        behind(networks(options.proxies), app),
        _dispatcher=AtOnce() if at_once else None,
        sockets=[bound],
        threads=_THREADS,
        # The main loop must not wait for itself; ``Channel.work`` bounds what is kept.
        outbuf_high_watermark=sys.maxsize if at_once else _HIGH_WATERMARK,
        ident=None,
        max_request_header_size=_LONGEST_HEADER,
        max_request_body_size=_LONGEST_BODY,
        connection_limit=_CONNECTIONS,
        channel_timeout=_IDLE,
        clear_untrusted_proxy_headers=False,
        asyncore_use_poll=True,
    )
    server.channel_class = Channel
    if at_once:
        server.pull_trigger = lambda: None
    return server


def _is_here(place: str | Path | None) -> bool:
    """Say whether a store is read without waiting for anyone: a file or folder, or none."""
    return place is None or "://" not in str(place) or str(place).startswith(_FILES)


def run(server: Any, stop: threading.Event) -> None:
    """Answer until ``stop``, then close the door and finish what is under way."""
    looked = time.monotonic()
    while not stop.is_set():
        _step(server, 0.2)
        if (now := time.monotonic()) - looked > 1:
            looked = now
            let_go(server, now)
    server.accepting = False
    server.del_channel()
    server.socket.close()
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and any(map(_busy, list(server.active_channels.values()))):
        _step(server, 0.05)
    server.task_dispatcher.shutdown()
    server.asyncore.close_all(server._map, ignore_all=True)
    write_log()


def let_go(server: Any, now: float) -> None:
    """Close connections whose clients only hold on to them."""
    for channel in list(server.active_channels.values()):
        if channel.holds_on(now):
            channel.let_go()


def _step(server: Any, seconds: float) -> None:
    server.asyncore.loop(timeout=seconds, map=server._map, use_poll=True, count=1)
    write_log()


def _busy(channel: Any) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)
