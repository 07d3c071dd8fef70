"""Who is asking, where proxies stand before the service: only the named ones are believed."""

from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from warehouse.errors import SankofaError

Network = IPv4Network | IPv6Network
_HEARSAY = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED")
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def networks(texts: Sequence[str]) -> list[Network]:
    """Read networks such as 10.0.0.0/8 or a single address."""
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        raise SankofaError(f"a trusted proxy is not written right: {error}") from error


def behind(trusted: Sequence[Network], app: Wsgi) -> Wsgi:
    """Give the app the client's own address and host where a trusted proxy names them."""

    def unnamed(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        for name in _HEARSAY:
            environ.pop(name, None)
        return app(environ, start_response)

    def named(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        chain = environ.pop("HTTP_X_FORWARDED_FOR", "")
        host = environ.pop("HTTP_X_FORWARDED_HOST", "")
        environ.pop("HTTP_FORWARDED", None)
        if _among(environ.get("REMOTE_ADDR", ""), trusted):
            environ["REMOTE_ADDR"] = client(environ["REMOTE_ADDR"], chain, trusted)
            if host:
                environ["HTTP_HOST"] = host.rpartition(",")[2].strip()
        return app(environ, start_response)

    return named if trusted else unnamed


def client(nearest: str, chain: str, trusted: Sequence[Network]) -> str:
    """Give the last address of the chain that is no proxy of ours; any before it is hearsay."""
    found = nearest
    for each in reversed([each.strip() for each in chain.split(",")]):
        if not _is_address(each):
            break
        found = each
        if not _among(each, trusted):
            break
    return found


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _among(text: str, trusted: Sequence[Network]) -> bool:
    return _is_address(text) and any(ip_address(text) in each for each in trusted)
