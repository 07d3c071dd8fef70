"""Which addresses may stand in the record: those that anybody can open, and fictional ones."""

import ipaddress
from urllib.parse import urlsplit

# Base address of the fictional sources: ``.example`` is reserved, so no such host can exist.
FICTIONAL_URL = "https://fictional.example"

_LOCAL_DOMAINS = ("localhost", "local", "localdomain", "internal", "lan", "home.arpa", "intranet")


def is_fictional(url: str) -> bool:
    """Return whether an address is that of a fictional source."""
    return url.startswith(f"{FICTIONAL_URL}/")


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
        is_local = any(host == name or host.endswith(f".{name}") for name in _LOCAL_DOMAINS)
        return "it is an address of a local network" if is_local or "." not in host else None
    return None if address.is_global else "it is an address of a local network"
