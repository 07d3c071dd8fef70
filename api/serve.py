"""The REST service on waitress: one process, stopped without cutting an answer short."""

import logging
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

from waitress.server import create_server

from api.app import UPGRADE_URL, create_app
from warehouse.keys import KeyStore
from warehouse.read.mart import Mart

_THREADS = 4
_LONGEST_HEADER = 32_768
_PATIENCE = 10.0


def serve(
    marts: str | Path,
    keys_path: Path,
    host: str = "127.0.0.1",
    port: int = 8080,
    upgrade_url: str = UPGRADE_URL,
) -> None:
    """Serve until SIGTERM or SIGINT; requests that are under way are answered first."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    run(listen(marts, keys_path, host, port, upgrade_url), stop)


def listen(
    marts: str | Path, keys_path: Path, host: str, port: int, upgrade_url: str = UPGRADE_URL
) -> Any:
    """Bind the address and give the server; port 0 takes a free one (``effective_port``)."""
    app = create_app(Mart(marts), KeyStore(keys_path), upgrade_url)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, port), family=family, backlog=1024)
    return create_server(
        app,
        sockets=[bound],
        threads=_THREADS,
        ident=None,
        max_request_header_size=_LONGEST_HEADER,
        asyncore_use_poll=True,
    )


def run(server: Any, stop: threading.Event) -> None:
    """Answer until ``stop``, then close the door and finish what is under way."""
    while not stop.is_set():
        _step(server, 0.2)
    server.accepting = False
    server.del_channel()
    server.socket.close()
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and any(map(_busy, list(server.active_channels.values()))):
        _step(server, 0.05)
    server.task_dispatcher.shutdown()
    server.asyncore.close_all(server._map, ignore_all=True)


def _step(server: Any, seconds: float) -> None:
    server.asyncore.loop(timeout=seconds, map=server._map, use_poll=True, count=1)


def _busy(channel: Any) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)
