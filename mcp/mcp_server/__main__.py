"""``python -m mcp_server``: serve the published builds to agents."""

import logging
import os
import socket
import sys
import threading
from functools import partial

import msgspec
import uvicorn
from uvicorn.supervisors import Multiprocess

from mcp_server import http
from mcp_server.app import create_server
from mcp_server.service import Call
from mcp_server.stdio_bridge import Bridge
from mcp_server.worker import TimedConnection, configure_logging, worker_app
from warehouse.contract.agent_discovery import MCP_PATH
from warehouse.contract.problems import PRICING, Problem
from warehouse.shared.errors import SankofaError
from warehouse.shared.server_log import server_options
from warehouse.shared.settings import read_settings

_LOG = logging.getLogger("sankofa.mcp")
_KEY, _HERE = "SANKOFA_API_KEY", "127.0.0.1"
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
        settings = read_settings()
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    chosen = server_options(
        settings,
        port=8322,
        exports_url=settings.exports_url,
        upgrade_url=f"{settings.base_url}{PRICING}",
        signing_key=str(settings.signing_key),
        stdio=False,
    )
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
    """Serve one agent of this machine, by a server of its own on the loopback address."""
    # No child process needs the key.
    os.environ.pop(_KEY, None)
    if not key:
        raise SankofaError(f"no API key; set {_KEY}")
    logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s", stream=sys.stderr)
    service = options.service()
    try:
        # Fail at the start if the key is unknown, rather than on every call.
        service.admit(Call(), key, _HERE)
    except Problem as problem:
        raise SankofaError(f"{problem.detail} See {_KEY}.") from problem
    # For the protocol alone: what anything else prints goes to stderr.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    app = http.guarded(create_server(service), service, options)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"))
    with socket.create_server((_HERE, 0)) as bound:
        running = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        running.start()
        try:
            Bridge(f"http://{_HERE}:{bound.getsockname()[1]}{MCP_PATH}", key, out).run(sys.stdin)
        finally:
            server.should_exit = True
            running.join()


if __name__ == "__main__":
    main()
