"""Which addresses a source may lead us to, and how often a host may get a request.

A source leads to its own hosts, and to none inside of a private network.
"""

import ipaddress
import logging
import os
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote_plus, urlsplit, urlunsplit

import httpx2

from assets.fetching.http_bodies import AttemptFailed
from warehouse.shared.errors import SankofaError
from warehouse.shared.locks import file_lock

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

# Removal of API keys and credentials from URLs, before one is stored, logged or shown.

# Names of query parameters, in lower case and with hyphens as underscores.
SECRET_PARAMETERS = frozenset(
    (
        *("access_token", "api_key", "apikey", "app_token", "$$app_token", "auth_token"),
        *("client_secret", "key", "ocp_apim_subscription_key", "password", "sig", "signature"),
        *("subscription_key", "token", "x_amz_credential", "x_amz_security_token"),
        *("x_amz_signature", "x_api_key", "x_goog_signature"),
    )
)


def without_secrets(url: str) -> str:
    """Return a URL without its credentials and API keys, otherwise unchanged."""
    parts = urlsplit(url)
    query = "&".join(parameter for parameter in parts.query.split("&") if not _is_secret(parameter))
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))


def secrets_in(url: str) -> list[str]:
    """Return the values of the API keys in a URL, as written there."""
    parameters = [item for item in urlsplit(url).query.split("&") if _is_secret(item)]
    return [key for item in parameters if (key := item.partition("=")[2])]


def log_without_secrets(record: logging.LogRecord) -> bool:
    """Logging filter: remove API keys from the URLs that the HTTP library logs."""
    # httpx2 passes the URL as an argument; its message is a constant.
    if isinstance(record.args, tuple):
        record.args = tuple(
            without_secrets(str(value)) if isinstance(value, httpx2.URL) else value
            for value in record.args
        )
    return True


def _is_secret(parameter: str) -> bool:
    name = unquote_plus(parameter.partition("=")[0]).lower()
    return name.replace("-", "_") in SECRET_PARAMETERS


def host_of(address: str) -> str:
    """Return the host of a URL, or of a host with a port or a path; without ``www``."""
    netloc = urlsplit(address if "://" in address else f"//{address}").hostname or ""
    return netloc.lower().removeprefix("www.")


def refuse_other_host(url: str, requested: str, hosts: Iterable[str]) -> None:
    """Refuse a redirect to a host that is neither the requested one nor a declared one."""
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
    for *_, (text, *_) in found:
        address = ipaddress.ip_address(str(text).partition("%")[0])
        if not (getattr(address, "ipv4_mapped", None) or address).is_global:
            raise AttemptFailed(
                f"{host} is not on the internet, but at {text}",
                "check the address; a mirror in your own network is set with SANKOFA_BASE_<SOURCE>",
            )


# Rate limits per host, shared by all processes of this machine.

# Most requests per second to a domain that no source declares; a longer suffix goes before.
DEFAULT_RATES: dict[str, float] = {"localhost": 1000.0, "127.0.0.1": 1000.0, "": 2.0}


class RateLimiter:
    """The rate limits of all hosts; hosts with the same domain suffix share one.

    Its file contains the time of the last request. The next process sleeps while it has the
    file lock, which the kernel releases when that process dies. Nothing sleeps longer than one
    interval, whatever a stale file or a changed clock says.
    """

    def __init__(
        self,
        rates: Mapping[str, float],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        folder: Path,
    ) -> None:
        self._rates, self._clock, self._sleep = {**DEFAULT_RATES, **rates}, clock, sleep
        self._folder = _owned(folder)

    def wait(self, host: str) -> None:
        """Sleep until the next request to a host is allowed."""
        suffixes = [
            suffix
            for suffix in self._rates
            if not suffix or host == suffix or host.endswith(f".{suffix}")
        ]
        name = max(suffixes, key=len)
        interval = 1 / self._rates[name]
        # Hosts without a rate of their own share the default rate, but do not wait for each other.
        with file_lock(self._folder / re.sub(r"[^a-z0-9.-]", "_", (name or host).lower())) as file:
            try:
                last = float(file.read())
            except ValueError:
                last = float("-inf")
            # After a reboot the monotonic clock starts again, below the time in the file.
            seconds = min(interval, last + interval - self._clock())
            if seconds > 0:
                self._sleep(seconds)
            file.seek(0)
            file.truncate()
            file.write(repr(self._clock()))


def _owned(folder: Path) -> Path:
    """Create the folder if needed; refuse one that another user owns."""
    # Usually below /tmp, where another user could have created it with files that make us wait.
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise SankofaError(
            f"{folder} belongs to another user: set SANKOFA_TURNS to a folder of your own"
        )
    return folder
