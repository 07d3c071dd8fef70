"""The client's address behind proxies: only trusted proxies are believed."""

from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from warehouse.errors import SankofaError

Network = IPv4Network | IPv6Network
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_FORWARDED_HEADERS = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_FORWARDED",
)


def parse_networks(texts: Sequence[str]) -> list[Network]:
    """Parse networks such as 10.0.0.0/8, or single addresses."""
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        raise SankofaError(f"invalid trusted proxy: {error}") from error


def trust_proxies(trusted: Sequence[Network], app: Wsgi) -> Wsgi:
    """Return the app with client address, host and scheme as a trusted proxy forwarded them."""

    def strip_headers(
        environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        for name in _FORWARDED_HEADERS:
            environ.pop(name, None)
        return app(environ, start_response)

    def apply_headers(
        environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        chain = environ.pop("HTTP_X_FORWARDED_FOR", "")
        host = environ.pop("HTTP_X_FORWARDED_HOST", "")
        scheme = environ.pop("HTTP_X_FORWARDED_PROTO", "").rpartition(",")[2].strip().lower()
        environ.pop("HTTP_FORWARDED", None)
        if _is_trusted(environ.get("REMOTE_ADDR", ""), trusted):
            environ["REMOTE_ADDR"] = client_address(environ["REMOTE_ADDR"], chain, trusted)
            if host:
                # The last entry is that of the proxy next to us; the others may be invented.
                environ["HTTP_HOST"] = host.rpartition(",")[2].strip()
            if scheme in ("http", "https"):
                environ["wsgi.url_scheme"] = scheme
        return app(environ, start_response)

    return apply_headers if trusted else strip_headers


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
