"""Which addresses a source may lead us to: its own hosts, and none inside of a private network."""

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from assets.fetching.http_bodies import AttemptFailed
from assets.fetching.rate_limit import LOOPBACK


def host_of(address: str) -> str:
    """Return the host of a URL, or of a host with a port or a path; without ``www``."""
    netloc = urlsplit(address if "://" in address else f"//{address}").hostname or ""
    return netloc.lower().removeprefix("www.")


def refuse_other_host(url: str, requested: str, hosts: Iterable[str]) -> None:
    """Refuse a redirect to a host that is neither the one that was asked nor a declared one."""
    allowed = {host_of(requested), *map(host_of, hosts)}
    if host_of(url) not in allowed:
        raise AttemptFailed(
            f"it redirects to another host, {host_of(url)}",
            "if that is the publisher's, declare it with the source (other_hosts, or hosts in a "
            "file of portals or lists)",
        )


def refuse_private(url: str) -> None:
    """Refuse a host that is inside of a private network, whatever its name is.

    A name that cannot be resolved here is left to whoever connects, which may be a proxy.
    """
    host = urlsplit(url).hostname or ""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return
    for *_, address in found:
        if not _is_public(str(address[0])):
            raise AttemptFailed(
                f"{host} is not on the internet, but at {address[0]}",
                "check the address; a mirror in your own network is set with SANKOFA_BASE_<SOURCE>",
            )


def is_on_this_machine(url: str) -> bool:
    """Return whether a URL names this machine itself, as test servers do."""
    return (urlsplit(url).hostname or "") in LOOPBACK


def _is_public(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_global
