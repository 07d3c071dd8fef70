"""The declaration of an endpoint: validation, description and headers follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cached_property
from typing import Literal

from warehouse.contract.listing import Listing
from warehouse.contract.parameter_types import Parameter

DEPRECATION_NOTICE = timedelta(days=180)


@dataclass(frozen=True)
class Deprecation:
    """An endpoint that will be removed: announced since, removed on, replaced by."""

    since: datetime
    sunset: datetime
    successor: str

    def __post_init__(self) -> None:
        """Refuse less notice than was promised."""
        if self.sunset - self.since < DEPRECATION_NOTICE:
            days = DEPRECATION_NOTICE.days
            raise ValueError(f"an endpoint is removed after at least {days} days' notice")

    def headers(self) -> dict[str, str]:
        """Return the headers of every response of the endpoint (RFC 9745, 8594, 8288)."""
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.sunset.astimezone(UTC), usegmt=True),
            "Link": f'<{self.successor}>; rel="successor-version"',
        }


@dataclass(frozen=True)
class Endpoint:
    """One endpoint. ``body`` names the schema of its response, ``statuses`` its errors.

    A path identifier that does not match its pattern is answered with ``invalid_id_status``.
    An endpoint with a ``listing`` sends its rows, page by page.
    """

    name: str
    path: str
    summary: str
    description: str
    body: str
    tag: str
    parameters: tuple[Parameter, ...] = ()
    statuses: tuple[int, ...] = ()
    needs_key: bool = True
    invalid_id_status: Literal[400, 404] = 400
    deprecation: Deprecation | None = None
    listing: Listing | None = None

    @property
    def route(self) -> str:
        """The path as Falcon has it; an id of a process may contain slashes."""
        return self.path.replace("{ocid}", "{ocid:path}")

    @cached_property
    def query(self) -> Mapping[str, Parameter]:
        """Return the query parameters by name."""
        return self._located("query")

    @cached_property
    def in_path(self) -> Mapping[str, Parameter]:
        """Return the path parameters by name."""
        return self._located("path")

    @property
    def required(self) -> list[str]:
        """The names of the parameters that a request must have."""
        return [parameter.name for parameter in self.parameters if parameter.required]

    def _located(self, location: str) -> dict[str, Parameter]:
        return {
            parameter.name: parameter
            for parameter in self.parameters
            if parameter.location == location
        }
