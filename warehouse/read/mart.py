"""The published build as a process reads it: read-only, and always a complete one.

Each thread has its own connection. Which build is current is looked up once for each read, so
that a new one is seen by the next request and no answer mixes two.
"""

import copy
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import NothingPublished, SankofaError, UnknownVersion
from warehouse.mart.builds import is_postgres_url, sqlite_folder
from warehouse.mart.tables import MART_SCHEMA_VERSION
from warehouse.read.engines import Engine, RunQuery, SqliteEngine, SqlRows

_ABOUT_KEPT = 16


@dataclass(frozen=True)
class Build:
    """One open build: how to ask it, its data_version and what it says of itself."""

    ask: RunQuery
    data_version: str
    about: Mapping[str, str]

    @property
    def notice(self) -> str:
        """Give the licence notice that goes with every answer."""
        return self.about["notice"]

    def rows(self, statement: str, *values: object) -> SqlRows:
        """Ask by SQL, ``?`` for each value."""
        return self.ask(statement, values)


class Mart:
    """The builds of a place; reads are answered from the current one, or a pinned one.

    A place is a folder, ``sqlite:///folder`` or ``postgresql://…``.
    """

    def __init__(self, place: str | Path) -> None:
        self.place = place
        self._engine = engine_at(place)
        self._pinned: str | None = None
        self._held = threading.local()
        self._told: dict[str, Mapping[str, str]] = {}

    def at(self, data_version: str) -> "Mart":
        """Give the same mart, answering from one data_version whatever is published."""
        pinned = copy.copy(self)
        pinned._pinned = data_version
        return pinned

    def close(self) -> None:
        """Let go of what this thread has open; its next read opens it again."""
        engine: Engine | None = self._held.__dict__.get("engine")
        if engine is not None:
            engine.close()

    def build(self) -> Build:
        """Give the build to read now, open for this thread."""
        engine: Engine | None = self._held.__dict__.get("engine")
        if engine is None:
            self._held.engine = engine = self._engine()
        data_version = engine.current() if self._pinned is None else self._pinned
        ask = engine.open(data_version)
        last: Build | None = self._held.__dict__.get("build")
        if last is not None and last.ask is ask:
            return last
        about = self._told.get(data_version)
        if about is None:
            about = dict(ask("SELECT name, value FROM about", ()))
            if about.get("layout") != str(MART_SCHEMA_VERSION):
                raise self._of_another_form(data_version)
            while len(self._told) >= _ABOUT_KEPT:
                self._told.pop(next(iter(self._told)), None)
            self._told[data_version] = about
        self._held.build = build = Build(ask, data_version, about)
        return build

    def _of_another_form(self, data_version: str) -> SankofaError:
        words = f"{data_version} was written by another version of the service"
        if self._pinned is None:
            return NothingPublished(f"{words}; run `sankofa publish`")
        return UnknownVersion(f"{words} and cannot be read any more")


def check_readable(mart: Mart) -> str:
    """Read a row of the current build and give its data_version."""
    build = mart.build()
    build.rows("SELECT place FROM fundamentals LIMIT 1")
    return build.data_version


def engine_at(place: str | Path) -> Callable[[], Engine]:
    """Give what makes an engine for a thread that reads a place."""
    if is_postgres_url(place):
        from warehouse.read.postgres import PostgresEngine

        return lambda: PostgresEngine(str(place))
    return lambda: SqliteEngine(sqlite_folder(place))
