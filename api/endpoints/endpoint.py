"""What an endpoint declares of itself: one object gives validation, description and headers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cached_property
from typing import Literal

from warehouse.contract.kinds import Parameter

NOTICE = timedelta(days=180)


@dataclass(frozen=True)
class Deprecation:
    """An endpoint that will be removed: since when that is said, when it goes, what follows."""

    since: datetime
    sunset: datetime
    successor: str

    def __post_init__(self) -> None:
        """Refuse less notice than was promised."""
        if self.sunset - self.since < NOTICE:
            raise ValueError(f"an endpoint is removed after {NOTICE.days} days' notice at least")

    def headers(self) -> dict[str, str]:
        """Give what every answer of the endpoint carries (RFC 9745, 8594, 8288)."""
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.sunset.astimezone(UTC), usegmt=True),
            "Link": f'<{self.successor}>; rel="successor-version"',
        }


@dataclass(frozen=True)
class Endpoint:
    """One endpoint. ``body`` names the shape of its answer, ``statuses`` its errors.

    A path identifier off its pattern is 400, or 404 where ``misfit`` says so.
    """

    name: str
    path: str
    summary: str
    about: str
    body: str
    tag: str
    parameters: tuple[Parameter, ...] = ()
    statuses: tuple[int, ...] = ()
    needs_key: bool = True
    misfit: Literal[400, 404] = 400
    deprecation: Deprecation | None = None

    @cached_property
    def query(self) -> Mapping[str, Parameter]:
        """Give the parameters of the query by their names."""
        return {each.name: each for each in self.parameters if each.place == "query"}

    @cached_property
    def in_path(self) -> Mapping[str, Parameter]:
        """Give the parameters of the path by their names."""
        return {each.name: each for each in self.parameters if each.place == "path"}
