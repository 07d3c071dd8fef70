"""The three stores of a service: files of a home, or PostgreSQL for keys and Redis for usage."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tests.helpers.postgres_server import Postgres, postgres
from tests.helpers.redis_server import Redis

Kind = Literal["embedded", "servers"]


class Store(Protocol):
    """A store that can be stopped and started again with its data."""

    @property
    def url(self) -> str:
        """Return its URL."""

    def kill(self) -> None:
        """Stop it at once."""

    def start(self) -> None:
        """Start it again."""


@dataclass(frozen=True)
class Stores:
    """Each store by the name that ``/v1/status`` gives it."""

    datastore: Store
    key_store: Store
    usage_store: Store

    def options(self) -> tuple[str, ...]:
        """Return the options that name them to a server."""
        names = ("--marts", "--control", "--usage")
        urls = (self.datastore.url, self.key_store.url, self.usage_store.url)
        return tuple(item for pair in zip(names, urls, strict=True) for item in pair)


@dataclass(frozen=True)
class Embedded:
    """A file or a folder, replaced by an empty folder while it is stopped."""

    path: Path

    @property
    def url(self) -> str:
        return str(self.path)

    @property
    def _away(self) -> Path:
        return self.path.with_suffix(".away")

    def kill(self) -> None:
        if self.path.exists():
            self.path.rename(self._away)
        self.path.mkdir()

    def start(self) -> None:
        if self._away.exists():
            self.path.rmdir()
            self._away.rename(self.path)
        elif self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()


def embedded(home: Path) -> Stores:
    """Return the stores of a home."""
    names = ("marts", "control.sqlite", "usage.lmdb")
    return Stores(*(Embedded(home / name) for name in names))


@contextmanager
def servers(home: Path) -> Iterator[Stores]:
    """Start an empty PostgreSQL for keys and a Redis for usage; the builds are those of a home."""
    folder = home / "servers" / "usage"
    folder.mkdir(parents=True)
    usage = Redis(folder)
    with postgres() as control:
        try:
            usage.start()
            yield Stores(Embedded(home / "marts"), Postgres(control), usage)
        finally:
            usage.kill()


@contextmanager
def stores_of(home: Path, kind: Kind) -> Iterator[Stores]:
    """Yield the stores of a home with the published sample world."""
    with nullcontext(embedded(home)) if kind == "embedded" else servers(home) as running:
        yield running
