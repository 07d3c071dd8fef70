"""One connection: a client that only holds on to it is let go."""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

# Seconds in which the head of a request must have come.
TO_BEGIN = 20.0

_Protocol: Any = AutoHTTPProtocol


class Connection(_Protocol):  # type: ignore[misc]
    """Closes when a client begins a request, or the connection, and does not go on."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for a first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came; where it is but a part of a head, wait for the rest."""
        super().data_received(data)
        if self._late is None and self._waits():
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no longer."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _waits(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _watch(self) -> None:
        self._late = self.loop.call_later(TO_BEGIN, self._let_go, self.cycle)

    def _let_go(self, cycle: object) -> None:
        self._late = None
        if self.cycle is cycle and self._waits() and not self.transport.is_closing():
            self.transport.close()
