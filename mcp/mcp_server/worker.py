"""What a worker process starts with: the app factory and the protocol class.

uvicorn unpickles both before the worker answers health checks, and kills a worker that is silent
for five seconds. On a busy machine the imports of the service alone can take longer, so this module
stays light: ``worker_app`` imports the service when it is called.

``TimedConnection`` is the one thing here that knows the inside of uvicorn (``cycle``): no setting
of it limits the time in which the head of a request must arrive, so uvicorn is bounded below 0.55.
``tests/contract/test_mcp_running.py`` fails if its inside changes.
"""

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from mcp_server.app import create_server
from mcp_server.exchange import Exchange
from mcp_server.guard import MAX_BODY_BYTES, Guard
from mcp_server.service import EXPORTS_URL, UPGRADE_URL, Service
from warehouse.contract.agent_discovery import MCP_PATH
from warehouse.control.keys import KeyStore
from warehouse.publish.builds import mart_folder
from warehouse.publish.shared_builds import start_pulling
from warehouse.serve.build import Mart
from warehouse.serve.counters import SCHEMES
from warehouse.serve.usage import Usage
from warehouse.shared.errors import SankofaError
from warehouse.shared.metrics import start_counting
from warehouse.shared.server_log import lines_dropped, log_to_stderr
from warehouse.shared.tiers import configured_tiers

if TYPE_CHECKING:
    from starlette.types import ASGIApp


# The ASGI app: streamable HTTP at one path, for both generations of the protocol, sessionless.

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_EXPOSED_HEADERS = (
    "X-Request-Id",
    "X-Service-Tier",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
)


class Options(msgspec.Struct, frozen=True):
    """Which stores are served, and how; see ``python -m mcp_server --help``."""

    marts: str
    control: str
    shared_marts: str = ""
    usage: str | None = None
    metrics: str | None = None
    tiers_file: str | None = None
    upgrade_url: str = UPGRADE_URL
    exports_url: str = EXPORTS_URL
    bases: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    workers: int = 1

    def service(self) -> Service:
        """Open the stores, and pull builds if they are made elsewhere."""
        if self.shared_marts:
            start_pulling(self.shared_marts, mart_folder(self.marts))
        tiers = configured_tiers(None if self.tiers_file is None else Path(self.tiers_file))
        usage = None if self.usage is None else Usage(self.usage)
        mart, keys = Mart(self.marts), KeyStore(self.control, tiers)
        return Service(mart, keys, usage, self.upgrade_url, self.exports_url)


def create_app(options: Options) -> ASGIApp:
    """Create the ASGI app over the stores."""
    service = options.service()
    return guarded(create_server(service), service, options)


def guarded(server: Server[Any], service: Service, options: Options) -> ASGIApp:
    """Return the ASGI app of a server: keys are required, every response is one JSON body."""
    checked = security(options)
    sessions = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        max_request_body_size=MAX_BODY_BYTES,
        security_settings=checked,
    )
    # Redis is reached over a network; a local file is read faster than a thread starts.
    is_remote = (options.usage or "").startswith(SCHEMES)
    base_url = options.bases[0].rstrip("/") if options.bases else None
    exchange = Exchange(server, checked)
    app: ASGIApp = Guard(sessions, exchange, service, MCP_PATH, is_remote, base_url)
    if not options.origins:
        return app
    # Preflight requests carry no key, so CORS is outside the guard.
    return CORSMiddleware(
        app,
        allow_origins=options.origins,
        allow_methods=["POST"],
        allow_headers=["*"],
        expose_headers=_EXPOSED_HEADERS,
    )


def security(options: Options) -> TransportSecuritySettings:
    """Return the accepted hosts and origins: loopback names and those configured."""
    bases = [_scheme_and_host(base) for base in options.bases]
    local = [f"{host}{port}" for host in _LOCAL for port in ("", ":*")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*local, *options.hosts, *(host for _, host in bases)],
        allowed_origins=[
            *(f"http://{host_pattern}" for host_pattern in local),
            *options.origins,
            *(f"{scheme}://{host}" for scheme, host in bases),
        ],
    )


def _scheme_and_host(base: str) -> tuple[str, str]:
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SankofaError(f"{base!r} is not the URL of a service; write it as https://host")
    return parts.scheme, parts.netloc.lower()


# Seconds in which the head of a request must arrive; uvicorn itself waits for ever.
HEAD_SECONDS = 20.0

_Protocol: Any = AutoHTTPProtocol


def worker_app(encoded_options: bytes) -> "ASGIApp":
    """Create the app in a worker process, from options as JSON."""
    configure_logging()
    threading.Thread(target=stop_with_parent, daemon=True).start()
    options = msgspec.json.decode(encoded_options, type=Options)
    start_counting(options.metrics, "mcp", lines_dropped)
    app = create_app(options)
    # Modules and schemas live as long as the process: take them out of every later collection.
    gc.collect()
    gc.freeze()
    return app


def configure_logging() -> None:
    """Log to stderr, as JSON lines; of the SDK only warnings."""
    log_to_stderr()
    logging.getLogger("mcp").setLevel(logging.WARNING)


def stop_with_parent() -> None:
    """End this worker, as by SIGTERM, when the process that started it was killed."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class TimedConnection(_Protocol):  # type: ignore[misc]
    """Protocol that closes a connection whose client starts a request and does not finish it."""

    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the time-out of the first request."""
        super().connection_made(transport)
        self._start_timeout()

    def data_received(self, data: bytes) -> None:
        """Handle data; the time-out runs while the head of a request is incomplete."""
        super().data_received(data)
        if not self._is_waiting():
            self._cancel_timeout()
        elif self._timeout is None:
            self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time-out."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_timeout(self) -> None:
        self._timeout = self.loop.call_later(HEAD_SECONDS, self._close)

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
