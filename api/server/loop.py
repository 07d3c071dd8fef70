"""One waitress server: binding its socket, running its loop, stopping without cutting off."""

import signal
import socket
import sys
import threading
import time
from typing import Any

from waitress.server import create_server

from api.server.access_log import flush_log
from api.server.channel import Channel, InlineDispatcher
from api.server.proxies import Wsgi

_THREADS = 4
_LONGEST_HEADERS = 32_768
_LONGEST_BODY = 65_536
_MOST_CONNECTIONS = 2_000
_IDLE_SECONDS = 75
_SHUTDOWN_SECONDS = 10.0
_HIGH_WATERMARK = 16 << 20


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


def create_waitress(app: Wsgi, listening: socket.socket, inline: bool) -> Any:
    """Return a waitress server; ``inline`` runs requests in its main loop, without threads."""
    server: Any = create_server(
        app,
        _dispatcher=InlineDispatcher() if inline else None,
        sockets=[listening],
        threads=_THREADS,
        # The main loop must not wait for itself; ``Channel.run_pending`` bounds the buffer.
        outbuf_high_watermark=sys.maxsize if inline else _HIGH_WATERMARK,
        # No Server header: it would only name a version to attack.
        ident=None,
        max_request_header_size=_LONGEST_HEADERS,
        max_request_body_size=_LONGEST_BODY,
        connection_limit=_MOST_CONNECTIONS,
        channel_timeout=_IDLE_SECONDS,
        # ``trust_proxies`` does it: waitress knows one trusted proxy, not networks.
        clear_untrusted_proxy_headers=False,
        # select() cannot watch descriptors above 1023.
        asyncore_use_poll=True,
    )
    server.channel_class = Channel
    if inline:
        # The trigger wakes the loop for a thread; there is none.
        server.pull_trigger = lambda: None
    return server


def run(server: Any, stop: threading.Event) -> None:
    """Serve until ``stop`` is set, then accept no more and finish the requests under way."""
    last_check = time.monotonic()
    while not stop.is_set():
        _turn(server, 0.2)
        if (now := time.monotonic()) - last_check > 1:
            last_check = now
            close_stalled(server, now)
    # Leave the listening socket first, so that another worker takes what arrives from now on.
    server.accepting = False
    server.del_channel()
    server.socket.close()
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    while time.monotonic() < deadline and any(map(_busy, list(server.active_channels.values()))):
        _turn(server, 0.05)
    server.task_dispatcher.shutdown()
    server.asyncore.close_all(server._map, ignore_all=True)
    flush_log()


def close_stalled(server: Any, now: float) -> None:
    """Close connections whose clients neither send nor read."""
    for channel in list(server.active_channels.values()):
        if channel.is_stalled(now):
            channel.abort()


def _turn(server: Any, seconds: float) -> None:
    server.asyncore.loop(timeout=seconds, map=server._map, use_poll=True, count=1)
    flush_log()


def _busy(channel: Any) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)
