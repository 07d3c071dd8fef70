"""The published build as a process reads it: read-only, and always a complete one.

Each thread has its own connection. The current build is looked up once for each read, so that the
next request sees a new one and no answer mixes two.
"""

import copy
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import NothingPublished, SankofaError, UnknownVersion
from warehouse.mart.builds import is_postgres_url, sqlite_folder
from warehouse.mart.tables import READABLE_SCHEMA_VERSIONS
from warehouse.read.engines import Engine, RunQuery, SqliteEngine, SqlRows

_MAX_CACHED_METADATA = 16
_READABLE = {str(version) for version in READABLE_SCHEMA_VERSIONS}


@dataclass(frozen=True)
class Build:
    """One open build: its query function, its data_version and its metadata."""

    run: RunQuery
    data_version: str
    metadata: Mapping[str, str]

    @property
    def notice(self) -> str:
        """The licence notice that goes with every response."""
        return self.metadata["notice"]

    @property
    def schema_version(self) -> int:
        """The schema version it was written with; what it answers stays as it was then."""
        return int(self.metadata["layout"])

    def query(self, statement: str, *values: object) -> SqlRows:
        """Run an SQL statement with a ``?`` for each value."""
        return self.run(statement, values)


class Mart:
    """The builds at a mart URL; reads use the current one, or a pinned one.

    The URL is a folder, ``sqlite:///folder`` or ``postgresql://…``.
    """

    def __init__(self, url: str | Path) -> None:
        self.url = url
        self._new_engine = _engine_factory(url)
        self._pinned: str | None = None
        # Per thread: its engine, and the build it read last.
        self._thread = threading.local()
        self._metadata: dict[str, Mapping[str, str]] = {}

    def at(self, data_version: str) -> "Mart":
        """Return the same mart, pinned to one data_version whatever is published."""
        # A shallow copy: it shares the connections and the metadata cache.
        pinned = copy.copy(self)
        pinned._pinned = data_version
        return pinned

    def close(self) -> None:
        """Close what this thread has open; its next read opens it again."""
        engine: Engine | None = self._thread.__dict__.get("engine")
        if engine is not None:
            engine.close()

    def build(self) -> Build:
        """Return the build to read now, open for this thread."""
        engine: Engine | None = self._thread.__dict__.get("engine")
        if engine is None:
            self._thread.engine = engine = self._new_engine()
        data_version = engine.current() if self._pinned is None else self._pinned
        run = engine.open(data_version)
        last: Build | None = self._thread.__dict__.get("build")
        # The engine returns the same function for as long as it has the build open.
        if last is not None and last.run is run:
            return last
        # Metadata never changes: one copy serves all threads.
        metadata = self._metadata.get(data_version)
        if metadata is None:
            metadata = dict(run("SELECT name, value FROM about", ()))
            if metadata.get("layout") not in _READABLE:
                raise self._wrong_schema(data_version)
            while len(self._metadata) >= _MAX_CACHED_METADATA:
                self._metadata.pop(next(iter(self._metadata)), None)
            self._metadata[data_version] = metadata
        self._thread.build = build = Build(run, data_version, metadata)
        return build

    def _wrong_schema(self, data_version: str) -> SankofaError:
        reason = f"{data_version} was written by another version of the service"
        if self._pinned is None:
            return NothingPublished(f"{reason}; run `sankofa publish`")
        return UnknownVersion(f"{reason} and cannot be read any more")


def check_readable(mart: Mart) -> str:
    """Read a row of the current build and return its data_version."""
    build = mart.build()
    build.query("SELECT row_number FROM fundamentals LIMIT 1")
    return build.data_version


def _engine_factory(url: str | Path) -> Callable[[], Engine]:
    """Return a factory: one engine per reader thread."""
    if is_postgres_url(url):
        # Imported here: psycopg is an optional dependency.
        from warehouse.read.postgres import PostgresEngine

        return lambda: PostgresEngine(str(url))
    return lambda: SqliteEngine(sqlite_folder(url))
