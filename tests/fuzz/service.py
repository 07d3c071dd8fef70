"""The service over the sample world, asked in this process, and what is known of that world."""

import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
import zstandard

from api.app import create_app
from tests.helpers import installation
from tests.helpers.whole_tables import query
from warehouse.control.keys import KeyStore, create_key, revoke_key
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import TIERS, TierName

_DECODE = msgspec.json.Decoder().decode
_PLAIN: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "zstd": zstandard.ZstdDecompressor().decompress,
}


@dataclass(frozen=True)
class Request:
    """One request as it is sent; path and query are percent-encoded."""

    path: str
    query: str = ""
    key: str | None = None
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FuzzResponse:
    """One answer."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def plain(self) -> bytes:
        coding = self.headers.get("content-encoding")
        return _PLAIN[coding](self.raw) if coding and self.raw else self.raw

    @property
    def body(self) -> Any:
        return _DECODE(self.plain)


@dataclass(frozen=True)
class FuzzInputs:
    """Real values of the world by the parameter they belong to, keys, cursors and files."""

    values: dict[str, Sequence[str]]
    keys: dict[TierName, str]
    revoked: str
    cursors: dict[str, str] = field(default_factory=dict)
    open_files: frozenset[str] = frozenset()
    licensed_files: frozenset[str] = frozenset()


class FuzzedService:
    """The app with every store, whose limits nobody reaches."""

    def __init__(self, home: Path) -> None:
        lifted = {
            name: replace(tier, per_minute=10**9, per_month=10**9) for name, tier in TIERS.items()
        }
        self._keys = KeyStore(home / "control.sqlite", lifted)
        self._mart, self._published = Mart(home / "marts"), PublishedExports(str(home / "exports"))
        usage = Usage(home / "usage.lmdb")
        self._app = create_app(self._mart, self._keys, exports=self._published, usage=usage)

    def ask(self, request: Request) -> FuzzResponse:
        """Call the app as a server would."""
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start(status: str, headers: list[tuple[str, str]], error: object = None, /) -> Any:
            started.append((status, headers))

        body = self._app(_environ(request), start)
        try:
            raw = b"".join(body)
        finally:
            getattr(body, "close", lambda: None)()
        ((status, headers),) = started
        return FuzzResponse(int(status[:3]), {name.lower(): value for name, value in headers}, raw)

    def inputs(self) -> FuzzInputs:
        """Make keys, and read what the world holds."""
        keys: dict[TierName, str] = {tier: create_key(self._keys, tier) for tier in TIERS}
        revoked = create_key(self._keys, "professional")
        revoke_key(self._keys, revoked[:12])
        artifacts = self._published.manifest().artifacts
        version = self._mart.build().data_version
        files: dict[bool, set[str]] = {True: set(), False: set()}
        for artifact in artifacts:
            files[artifact.requires_key].add(artifact.url.rpartition("/")[2])
        return FuzzInputs(
            {**self._values(), "version": [version, "latest"]},
            keys,
            revoked,
            self._cursors(keys["professional"]),
            frozenset(files[False]),
            frozenset(files[True]),
        )

    def _values(self) -> dict[str, Sequence[str]]:
        columns = {
            "service_id": "SELECT DISTINCT service_id FROM identifiers",
            "id_value": "SELECT DISTINCT id_match FROM identifiers",
            "series": "SELECT DISTINCT series FROM macro_series",
            "indicator": "SELECT DISTINCT indicator FROM macro_annual",
            "signal_key": "SELECT DISTINCT signal_key FROM signals",
            "measure": "SELECT DISTINCT line_item FROM fundamentals",
            "category": "SELECT DISTINCT category FROM tender_releases",
        }
        build = self._mart.build()
        return {
            name: sorted(str(value) for (value,) in query(build, statement) if value)
            for name, statement in columns.items()
        }

    def _cursors(self, key: str) -> dict[str, str]:
        """Return cursors by the query of filters they are valid for."""
        cursors = {}
        for filters in ("country=ZA", "country=KE", "country=CO", "country=ZA&from=2024-01-01"):
            answer = self.ask(Request("/v1/tenders", f"{filters}&limit=3", key))
            if cursor := answer.body["next_cursor"]:
                cursors[filters] = cursor
        return cursors


def published(home: Path) -> Path:
    """Publish the sample world in a folder."""
    installation.write_sample(home)
    installation.load_sample(home)
    settings = installation.settings_of(home)
    installation.publication(settings, installation.BriefPublication).run()
    return home


def _environ(request: Request) -> dict[str, Any]:
    environ = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(request.path).decode("latin-1"),
        "QUERY_STRING": request.query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    if request.key is not None:
        environ["HTTP_X_API_KEY"] = request.key
    for name, value in request.headers:
        environ[f"HTTP_{name.upper().replace('-', '_')}"] = value
    return environ
