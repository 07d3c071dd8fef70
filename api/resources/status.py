"""The state of what the service stands on, found out by real reads."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass
from importlib.metadata import version

import falcon

from api.endpoints import declarations, request
from api.middleware import API_VERSION
from warehouse.errors import SankofaError
from warehouse.json_encoding import encode
from warehouse.read.mart import Mart, answered_by

_DEADLINE = 1.0
# So many reads that never end may be under way before others have to wait for them.
_AT_ONCE = 12


class Status:
    """Reads the datastore and every other store, and names those that fail."""

    endpoint = declarations.STATUS
    open = not endpoint.needs_key

    def __init__(self, mart: Mart, stores: Mapping[str, Callable[[], object]]) -> None:
        self._build = version("sankofa")
        self._checks = {"datastore": lambda: answered_by(mart), **stores}
        self._readers = ThreadPoolExecutor(_AT_ONCE, "status")

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 200 if every dependency answered in time, else 503 with ``degraded``."""
        request.read(req, self.endpoint)
        until = time.monotonic() + _DEADLINE
        begun = {name: self._readers.submit(_timed, read) for name, read in self._checks.items()}
        found = {name: _checked(each, until) for name, each in begun.items()}
        degraded = [name for name, each in found.items() if each.status != "ok"]
        resp.status = 503 if degraded else 200
        resp.content_type = falcon.MEDIA_JSON
        resp.set_header("Cache-Control", "no-store")
        resp.data = encode(
            {
                "status": "degraded" if degraded else "ok",
                "build": self._build,
                "version": API_VERSION,
                "data_version": found["datastore"].value,
                "checks": {name: each.shown() for name, each in found.items()},
                "degraded": degraded,
            }
        )

    on_head = on_get


@dataclass(frozen=True)
class _Checked:
    """What one real read gave, and how long it took."""

    status: str
    latency_ms: float
    value: object = None

    def shown(self) -> dict[str, str | float]:
        return {"status": self.status, "latency_ms": self.latency_ms}


def _timed(read: Callable[[], object]) -> _Checked:
    started = time.perf_counter()
    try:
        value, status = read(), "ok"
    except (SankofaError, OSError):
        value, status = None, "failed"
    return _Checked(status, round((time.perf_counter() - started) * 1000, 3), value)


def _checked(begun: Future[_Checked], until: float) -> _Checked:
    try:
        return begun.result(max(0.0, until - time.monotonic()))
    except TooLate:
        begun.cancel()
        return _Checked("failed", _DEADLINE * 1000)
