"""Ports: our defaults, whether one is free, and which process listens on it."""

import errno
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from warehouse.shared.errors import SankofaError

REST, MCP, DAGSTER, METRICS = 8321, 8322, 8323, 8324
# Seconds in which servers end whose `sankofa up` was killed.
_LEAVING_SECONDS = 5.0
_LOOPBACK_OF_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


@dataclass(frozen=True)
class Holder:
    """The process that listens at a port."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command[:60]})"


@dataclass(frozen=True)
class Address:
    """Where a server is to listen, and the option that chooses its port."""

    host: str
    port: int
    option: str = "--port"


def refuse_taken(addresses: Mapping[str, Address]) -> None:
    """Raise unless every port is free; name those in use and the process that uses them.

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
        ports = (
            f"port {address.port}, for {what}, is in use{_by(address.port)}"
            for what, address in taken.items()
        )
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


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def reachable(host: str) -> str:
    """Return the address to connect to; for a wildcard address, the loopback address."""
    return _LOOPBACK_OF_WILDCARD.get(host, host)


def url(host: str, port: int) -> str:
    """Return the URL of a server."""
    name = reachable(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def holder(port: int) -> Holder | None:
    """Return the process that listens on a port; None where there is no ``/proc`` (macOS)."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    processes = {
        process.name: process
        for process in (Path("/proc").glob("[0-9]*") if sockets else ())
        if not sockets.isdisjoint(_opened(process))
    }
    for process in processes.values():
        with suppress(OSError):
            # Workers inherit the socket. The server is the one that no other of them started: the
            # lowest id may be a worker's, since ids start again once the highest is used.
            if _parent(process) not in processes:
                words = (process / "cmdline").read_bytes().split(b"\0")
                command = b" ".join(words).decode("utf-8", "replace")
                return Holder(int(process.name), " ".join(command.split()))
    return None


def _parent(process: Path) -> str:
    # The name, in parentheses, may contain spaces and parentheses; after it: state, parent's id.
    return (process / "stat").read_text().rpartition(")")[2].split()[1]


def _opened(process: Path) -> Iterator[str]:
    """Yield the open files of a process, except those it closes meanwhile or hides from us."""
    with suppress(OSError):
        for file in list((process / "fd").iterdir()):
            with suppress(OSError):
                yield str(file.readlink())


def _inodes(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on a port, from Linux's ``/proc/net``."""
    for name in ("tcp", "tcp6"):
        table = Path("/proc/net", name)
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            words = line.split()
            if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                yield words[9]


def _by(port: int) -> str:
    process = holder(port)
    return f" by {process}" if process is not None and process.pid != os.getpid() else ""
