"""Ports: our defaults, whether one is free, and whether a server listens on it."""

import errno
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

from warehouse.shared.errors import SankofaError

REST, MCP, DAGSTER, METRICS = 8321, 8322, 8323, 8324
# Seconds in which servers end whose `sankofa up` was killed.
_LEAVING_SECONDS = 5.0
_LOOPBACK_OF_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


@dataclass(frozen=True)
class Address:
    """Where a server is to listen, and the option that chooses its port."""

    host: str
    port: int
    option: str = "--port"


def refuse_taken(addresses: Mapping[str, Address]) -> None:
    """Raise unless every port is free; name those in use.

    Servers whose supervisor was killed just before have some seconds to leave.
    """
    if len({address.port for address in addresses.values()}) < len(addresses):
        raise SankofaError(f"{', '.join(addresses)} need different ports")
    deadline = time.monotonic() + _LEAVING_SECONDS
    while taken := {
        what: address
        for what, address in addresses.items()
        if not is_free(address.host, address.port)
    }:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    if taken:
        ports = (f"port {address.port}, for {what}, is in use" for what, address in taken.items())
        options = ", ".join(address.option for address in taken.values())
        raise SankofaError(
            f"{'; '.join(ports)}. Stop what listens there, or choose another port with {options}; "
            "nothing was started"
        )


def is_free(host: str, port: int) -> bool:
    """Return whether a server could listen on a port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family):
            return True
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        if error.errno == errno.EACCES:
            raise SankofaError(
                f"port {port} needs the rights of the administrator; choose one from 1024 on"
            ) from error
        raise SankofaError(f"cannot listen on {host}: {error.strerror}; check --host") from error


def listens(host: str, port: int) -> bool:
    """Return whether a server listens on a port."""
    try:
        socket.create_connection((reachable(host), port), timeout=1).close()
    except OSError:
        return False
    return True


def reachable(host: str) -> str:
    """Return the address to connect to; for a wildcard address, the loopback address."""
    return _LOOPBACK_OF_WILDCARD.get(host, host)


def url(host: str, port: int) -> str:
    """Return the URL of a server."""
    name = reachable(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"
