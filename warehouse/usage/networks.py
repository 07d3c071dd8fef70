"""The network a client is in: what the public sandbox key is counted by."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network


@lru_cache(maxsize=4096)
def network_of(address: str | None) -> str:
    """Give the /24 of an IPv4 address or the /48 of an IPv6 one."""
    try:
        client = ip_address((address or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(client, IPv6Address):
        client = client.ipv4_mapped or client
    return str(ip_network((client, 24 if client.version == 4 else 48), strict=False))
