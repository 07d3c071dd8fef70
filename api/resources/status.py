"""The state of what the service stands on, found out by real reads."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import falcon

from api import params
from api.middleware import API_VERSION
from warehouse.errors import SankofaError
from warehouse.keys import KeyStore, check
from warehouse.read.health import answered_by
from warehouse.read.mart import Mart
from warehouse.wire import encode


class Status:
    """Reads the datastore and the key store, and names the one that fails."""

    open = True

    def __init__(self, mart: Mart, keys: KeyStore) -> None:
        self._build = version("sankofa")
        self._checks: dict[str, Callable[[], str | None]] = {
            "datastore": lambda: answered_by(mart),
            "key_store": lambda: check(keys),
        }

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 200 if every dependency answered, else 503 with ``degraded``."""
        params.read(req)
        found = {name: _checked(read) for name, read in self._checks.items()}
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
    value: str | None = None

    def shown(self) -> dict[str, str | float]:
        return {"status": self.status, "latency_ms": self.latency_ms}


def _checked(read: Callable[[], str | None]) -> _Checked:
    started = time.perf_counter()
    try:
        value, status = read(), "ok"
    except (SankofaError, OSError):
        value, status = None, "failed"
    return _Checked(status, round((time.perf_counter() - started) * 1000, 3), value)
