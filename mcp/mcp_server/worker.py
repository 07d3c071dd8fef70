"""What a worker process starts with: the app factory and the protocol class.

uvicorn unpickles both before the worker answers health checks, and kills a worker that is silent
for five seconds. On a busy machine the imports of the service alone can take longer, so this module
stays light: ``worker_app`` imports the service when it is called.
"""

import asyncio
import gc
import logging
from typing import TYPE_CHECKING, Any

import msgspec
from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

# Seconds in which the head of a request must arrive; uvicorn itself waits for ever.
HEAD_SECONDS = 20.0

_Protocol: Any = AutoHTTPProtocol


def worker_app(encoded_options: bytes) -> "ASGIApp":
    """Create the app in a worker process, from options as JSON."""
    from mcp_server.http import Options, create_app

    configure_logging()
    app = create_app(msgspec.json.decode(encoded_options, type=Options))
    # Modules and schemas live as long as the process: take them out of every later collection.
    gc.collect()
    gc.freeze()
    return app


def configure_logging() -> None:
    """Log to stderr, as JSON lines after the name of the logger; of the SDK only warnings."""
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    logging.getLogger("mcp").setLevel(logging.WARNING)


class TimedConnection(_Protocol):  # type: ignore[misc]
    """Protocol that closes a connection whose client starts a request and does not finish it."""

    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the time-out of the first request."""
        super().connection_made(transport)
        self._start_timeout()

    def data_received(self, data: bytes) -> None:
        """Handle data; start a time-out if the head of a request is incomplete."""
        super().data_received(data)
        if self._timeout is None and self._is_waiting():
            self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time-out."""
        if self._timeout is not None:
            self._timeout.cancel()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_timeout(self) -> None:
        self._timeout = self.loop.call_later(HEAD_SECONDS, self._close_if_idle, self.cycle)

    def _close_if_idle(self, cycle: object) -> None:
        self._timeout = None
        # A new cycle means that a whole head arrived since the time-out was set.
        if self.cycle is cycle and self._is_waiting() and not self.transport.is_closing():
            self.transport.close()
