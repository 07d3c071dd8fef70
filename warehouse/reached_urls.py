"""Addresses of our own servers, as the client that asks can reach them."""

import re
from urllib.parse import urlsplit, urlunsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# A name or an address, IPv6 in brackets, and perhaps a port. It becomes a part of links.
_HOST = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?")


def valid_host(host: str | None) -> str | None:
    """Return a Host header in lower case; None if it cannot be one."""
    return host.lower() if host and _HOST.fullmatch(host) else None


def as_reached(url: str, host: str | None) -> str:
    """Return the URL of a server of ours for a client that reached another at ``host``.

    Only a loopback address is replaced, which is right for nobody but this machine: the port
    stays, the name is the one that led the client here.
    """
    parts, reached = urlsplit(url), valid_host(host)
    if reached is None or parts.hostname not in _LOOPBACK:
        return url
    name = reached if reached.endswith("]") else re.sub(r":[0-9]+$", "", reached)
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=f"{name}{port}"))
