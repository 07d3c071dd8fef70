"""``python -m mcp_server``: serve the published builds to agents."""

import logging
import os
import socket
import sys
from functools import partial

import anyio
import msgspec
import uvicorn
from uvicorn.supervisors import Multiprocess

from mcp_server import http, stdio
from mcp_server.worker import TimedConnection, configure_logging, worker_app
from warehouse.contract.problems import PRICING, Problem
from warehouse.shared.errors import SankofaError
from warehouse.shared.server_log import server_options
from warehouse.shared.settings import read_settings

_LOG = logging.getLogger("sankofa.mcp")
_KEY = "SANKOFA_API_KEY"
# Seconds that an idle connection stays open: longer than proxies keep theirs (usually 60), so that
# none sends a request on a connection that is just being closed.
_KEEP_ALIVE_SECONDS = 75
# Seconds that requests under way have to finish after SIGTERM.
_SHUTDOWN_SECONDS = 10
# Connections and requests in one process; above that it answers 503 instead of growing.
_MAX_CONCURRENCY = 2_000


def main() -> None:
    """Read the settings and options, and serve."""
    try:
        settings = read_settings(os.environ)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    values = {
        "exports-url": settings.exports_url,
        "upgrade-url": f"{settings.base_url}{PRICING}",
    }
    lists = {"base-url": "bases", "allowed-host": "hosts"}
    lists |= {"allowed-origin": "origins", "trusted-proxy": "proxies"}
    chosen = server_options(settings, 8322, values, lists, ["stdio"])
    host, port, stdio_only = (chosen.pop(name) for name in ("host", "port", "stdio"))
    options = http.Options(
        shared_marts=settings.shared_marts,
        tiers_file=None if settings.tiers_file is None else str(settings.tiers_file),
        **chosen,
    )
    try:
        if stdio_only:
            _serve_stdio(options, settings.api_key)
        else:
            _serve_http(options, host, port)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    except OSError as error:
        sys.exit(f"cannot serve at {host}:{port}: {error.strerror or error}; choose another --port")


def _serve_http(options: http.Options, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are answered first."""
    configure_logging()
    # A wrong --base-url is refused here, once, instead of by every worker in turn.
    http.security(options)
    config = uvicorn.Config(
        # Pickled for the workers; only ``worker.py`` is imported to unpickle it.
        partial(worker_app, msgspec.json.encode(options)),
        factory=True,
        workers=options.workers,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        http=TimedConnection,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        limit_concurrency=_MAX_CONCURRENCY,
        proxy_headers=bool(options.proxies),
        forwarded_allow_ips=list(options.proxies),
    )
    # Bound here rather than by uvicorn: a port in use is then an OSError with our own message,
    # and all workers accept from the one socket that they inherit.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, port), family=family, backlog=1024)
    bound.set_inheritable(True)
    _LOG.info("listening at port %d, processes: %d", bound.getsockname()[1], options.workers)
    if options.workers == 1:
        uvicorn.Server(config).run(sockets=[bound])
    else:
        Multiprocess(config, sockets=[bound]).run()


def _serve_stdio(options: http.Options, key: str) -> None:
    # No child process needs the key.
    os.environ.pop(_KEY, None)
    if not key:
        raise SankofaError(f"no API key; set {_KEY}")
    try:
        anyio.run(stdio.serve, options.service(), key)
    except Problem as problem:
        raise SankofaError(f"{problem.detail} See {_KEY}.") from problem


if __name__ == "__main__":
    main()
