"""Which addresses may stand in the record: those that anybody can open, and fictional ones."""

import ipaddress
import re
from urllib.parse import urlsplit

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
