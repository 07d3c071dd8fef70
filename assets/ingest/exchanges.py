"""An exchange of a web archive: a recorded response with its address, moment and request."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from warehouse.errors import SankofaError

OnProblem = Callable[[str], None]


class ArchiveError(SankofaError):
    """A web archive, or a response in it, cannot be read."""


@dataclass(frozen=True)
class Exchange:
    """A recorded response and its request; ``open`` reads its body, before the next is asked for.

    ``open`` raises ArchiveError or ContainerError for a body that is damaged or incomplete.
    """

    url: str
    observed_at: datetime
    status: int
    headers: tuple[tuple[str, str], ...]
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    method: str = "GET"
    request_body: bytes = b""
    redirects_to: str | None = None


def header_of(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return a header by its lower-case name; empty if there is none."""
    return next((value.strip() for key, value in headers if key.lower() == name), "")


def read_moment(text: str | None) -> datetime:
    """Read the moment of an exchange; UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        raise ArchiveError(f"{text!r:.60} is not a moment") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
