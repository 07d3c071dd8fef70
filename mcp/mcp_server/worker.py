"""What a worker process starts with: the app factory and the protocol class.

uvicorn unpickles both before the worker answers health checks, and kills a worker that is silent
for five seconds. On a busy machine the imports of the service alone can take longer, so this module
stays light: ``worker_app`` imports the service when it is called.

``TimedConnection`` is the one thing here that knows the inside of uvicorn (``cycle``): no setting
of it limits the time in which the head of a request must arrive, so uvicorn is bounded below 0.55.
``tests/contract/test_mcp_running.py`` fails if its inside changes.
"""

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import threading
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
    from warehouse.shared.metrics import start_counting
    from warehouse.shared.server_log import lines_dropped

    configure_logging()
    threading.Thread(target=stop_with_parent, daemon=True).start()
    options = msgspec.json.decode(encoded_options, type=Options)
    start_counting(options.metrics, "mcp", lines_dropped)
    app = create_app(options)
    # Modules and schemas live as long as the process: take them out of every later collection.
    gc.collect()
    gc.freeze()
    return app


def configure_logging() -> None:
    """Log to stderr, as JSON lines; of the SDK only warnings."""
    from warehouse.shared.server_log import log_to_stderr

    log_to_stderr()
    logging.getLogger("mcp").setLevel(logging.WARNING)


def stop_with_parent() -> None:
    """End this worker, as by SIGTERM, when the process that started it was killed."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class TimedConnection(_Protocol):  # type: ignore[misc]
    """Protocol that closes a connection whose client starts a request and does not finish it."""

    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the time-out of the first request."""
        super().connection_made(transport)
        self._start_timeout()

    def data_received(self, data: bytes) -> None:
        """Handle data; the time-out runs while the head of a request is incomplete."""
        super().data_received(data)
        if not self._is_waiting():
            self._cancel_timeout()
        elif self._timeout is None:
            self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time-out."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_timeout(self) -> None:
        self._timeout = self.loop.call_later(HEAD_SECONDS, self._close)

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
