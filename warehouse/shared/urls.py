"""Addresses: which may be in the record, and how a client reaches our own servers."""

import ipaddress
import re
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

# Which addresses the record may contain: those that anybody can open, and fictional ones.

# Base address of the fictional sources: ``.example`` is reserved, so no such host can exist.
FICTIONAL_URL = "https://fictional.example"

# Reserved or in private use: none of them can be opened from elsewhere.
_LOCAL_DOMAINS = (
    *("localhost", "local", "localdomain", "internal", "intranet", "private"),
    *("lan", "home", "home.arpa", "corp", "test", "invalid"),
)
# No domain ends in a number: 127.1 and 0x7f.0.0.1 are other ways to write an IP address.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def is_fictional(url: str) -> bool:
    """Return whether an address is that of a fictional source."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    return host == urlsplit(FICTIONAL_URL).hostname


def why_not_public(url: str) -> str | None:
    """Return why an address is not one that anybody can open; None if it may be."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError as error:
        return f"it is not an address ({error})"
    if parts.scheme not in ("http", "https") or not host:
        return "it is not a web address"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if _NUMBER.fullmatch(host.rpartition(".")[2]):
            return "its host is a number, and no IP address as it is usually written"
        is_local = any(host == name or host.endswith(f".{name}") for name in _LOCAL_DOMAINS)
        return "it is an address of a local network" if is_local or "." not in host else None
    return None if address.is_global else "it is an address of a local network"


# Addresses of our own servers, as the client that asks can reach them.

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# A name or an address, IPv6 in brackets, and perhaps a port. It becomes a part of links.
_HOST = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?")


def valid_host(host: str | None) -> str | None:
    """Return a Host header in lower case; None if it cannot be one."""
    return host.lower() if host and _HOST.fullmatch(host) else None


@lru_cache(256)
def as_reached(url: str, host: str | None) -> str:
    """Return the URL of a server of ours for a client that reached another at ``host``.

    Only a loopback address is replaced, which is right on this machine only: the port stays, the
    name is the one that led the client here.
    """
    parts, reached = urlsplit(url), valid_host(host)
    if reached is None or parts.hostname not in _LOOPBACK:
        return url
    name = reached if reached.endswith("]") else re.sub(r":[0-9]+$", "", reached)
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=f"{name}{port}"))
