"""A client that knows nothing after a day which somebody else's clock says.

Frameworks for backtests and agents leak where a caller may leave out the day, or choose it: a
strategy that forgets ``as_of`` gets today's figures, and a model that may set it sets it wrong.
Here the day comes from the clock, and a later one is refused.
"""

from collections.abc import Callable
from datetime import date
from typing import Any, Literal

import pandas as pd

from sankofa_client.client import Sankofa
from sankofa_client.errors import SankofaError

# The verbs that answer as of a day. Files and today's identifiers have none, and are not offered.
Verb = Literal[
    "facts",
    "elements",
    "filings",
    "universe",
    "metrics",
    "screen",
    "series",
    "tenders",
    "suppliers",
    "awards",
    "signal",
]


class LookAhead(SankofaError):
    """The day of a question is after that of the clock."""


class KnownThen:
    """Answers as of the day of a clock, or of an earlier one."""

    def __init__(self, client: Sankofa, day: Callable[[], date]) -> None:
        """Make it of a client and of a function that returns the last day that may be known."""
        self._client, self._day = client, day

    @property
    def as_of(self) -> date:
        """The last day whose knowledge can be had now."""
        return self._day()

    def ask(
        self, verb: Verb, *arguments: Any, as_of: str | date | None = None, **filters: Any
    ) -> pd.DataFrame:
        """Call a method of the client as of the day of the clock; a later ``as_of`` is refused.

        Identifiers are looked up as they are mapped today: prefer a ``service_id`` or an LEI to a
        ticker that may have been handed on.
        """
        limit = self.as_of
        wanted = limit if as_of is None else pd.Timestamp(as_of).date()
        if wanted > limit:
            raise LookAhead(
                f"{verb} as of {wanted} is in the future of this run, which knows what was public "
                f"by {limit}. Leave out as_of, or name an earlier day."
            )
        frame: pd.DataFrame = getattr(self._client, verb)(
            *arguments, as_of=wanted.isoformat(), **filters
        )
        return frame
