"""The client's address behind proxies: only trusted proxies are believed."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from api.endpoints.declarations import ENDPOINTS
from warehouse.serve.usage import network_of
from warehouse.shared.errors import SankofaError
from warehouse.shared.metrics import observe_request
from warehouse.shared.server_log import AccessLine, log_access, logged_path

# The access log: one JSON line for each request, without its key or the values of its parameters.
#
# Of the client only the network is logged, of the query only the names of its parameters: an
# address is personal data, and so may be what somebody searches for.

# Whatever else a query names is no parameter of ours, and may be a secret.
_PARAMETERS = frozenset(name for endpoint in ENDPOINTS for name in endpoint.query)
# The endpoint of requests to paths that do not exist: their number has no bound.
_NO_ROUTE = "none"


def log_request(
    env: Mapping[str, Any],
    endpoint: str | None,
    started: float,
    path: str,
    parameters: Iterable[str],
    status: int,
    **answered: Any,
) -> None:
    """Log and count one request that was ``answered``."""
    seconds = time.perf_counter() - started
    line = AccessLine(
        time=datetime.now(UTC),
        surface="rest",
        client=network_of(env.get("REMOTE_ADDR")),
        method=env["REQUEST_METHOD"],
        path=logged_path(path),
        parameters=[name for name in parameters if name in _PARAMETERS],
        status=status,
        milliseconds=int(seconds * 1e6) / 1e3,
        **answered,
    )
    log_access(line)
    observe_request(endpoint or _NO_ROUTE, status, seconds)


def log_refusal(address: str, status: int, size: int, request_id: str) -> None:
    """Log and count a request that could not be parsed, and of which nothing else is certain."""
    line = AccessLine(
        time=datetime.now(UTC),
        surface="rest",
        client=network_of(address),
        parameters=[],
        status=status,
        bytes=size,
        request_id=request_id,
    )
    log_access(line)
    observe_request(_NO_ROUTE, status, 0.0)


Network = IPv4Network | IPv6Network
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def parse_networks(texts: Sequence[str]) -> list[Network]:
    """Parse networks such as 10.0.0.0/8, or single addresses."""
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        raise SankofaError(f"invalid trusted proxy: {error}") from error


def sharing_network(trusted: Sequence[Network], address: str) -> str | None:
    """Return the network that shares connections with an address; None for a trusted proxy."""
    return None if _is_trusted(address, trusted) else network_of(address)


def trust_proxies(trusted: Sequence[Network], app: Wsgi) -> Wsgi:
    """Return the app with client address, host and scheme as a trusted proxy forwarded them."""

    def apply_headers(
        environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        chain = environ.pop("HTTP_X_FORWARDED_FOR", "")
        host = environ.pop("HTTP_X_FORWARDED_HOST", "")
        scheme = environ.pop("HTTP_X_FORWARDED_PROTO", "").rpartition(",")[2].strip().lower()
        environ.pop("HTTP_FORWARDED", None)
        if trusted and _is_trusted(environ.get("REMOTE_ADDR", ""), trusted):
            environ["REMOTE_ADDR"] = client_address(environ["REMOTE_ADDR"], chain, trusted)
            if host:
                # The last entry is that of the proxy next to us; the others may be invented.
                environ["HTTP_HOST"] = host.rpartition(",")[2].strip()
            if scheme in ("http", "https"):
                environ["wsgi.url_scheme"] = scheme
        return app(environ, start_response)

    return apply_headers


def client_address(peer: str, chain: str, trusted: Sequence[Network]) -> str:
    """Return the last address in X-Forwarded-For that is not a trusted proxy.

    Anyone can write the entries before it.
    """
    client = peer
    for address in reversed([_without_port(entry.strip()) for entry in chain.split(",")]):
        if not _is_address(address):
            break
        client = address
        if not _is_trusted(address, trusted):
            break
    return client


def _without_port(entry: str) -> str:
    """Return the address of an entry such as 192.0.2.1:5555 or [2001:db8::1]:443."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    # An IPv6 address without brackets has several colons, and no port.
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_trusted(text: str, trusted: Sequence[Network]) -> bool:
    return _is_address(text) and any(ip_address(text) in network for network in trusted)
