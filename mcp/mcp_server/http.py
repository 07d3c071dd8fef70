"""The ASGI app: streamable HTTP at one path, for both generations of the protocol, sessionless."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

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
from warehouse.shared.tiers import configured_tiers

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_EXPOSED_HEADERS = (
    "X-Request-Id",
    "X-Service-Tier",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
)


class Options(msgspec.Struct, frozen=True):
    """Which stores are served, and how; see ``sankofa mcp --help``."""

    marts: str
    control: str
    shared_marts: str = ""
    usage: str | None = None
    metrics: str | None = None
    tiers_file: str | None = None
    signing_key: str | None = None
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
        signing_key = None if self.signing_key is None else Path(self.signing_key)
        return Service(mart, keys, usage, self.upgrade_url, self.exports_url, signing_key)


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
