"""What a key store holds, and what each kind of store can do."""

from datetime import UTC, datetime
from typing import Protocol

import msgspec

from warehouse.errors import SankofaError


class KeyStoreUnavailable(SankofaError):
    """The key store does not answer; nobody can be let in until it does."""


class Issued(msgspec.Struct, frozen=True):
    """A key as it is kept: its hash, never itself. ``key_id`` outlives a rotation."""

    prefix: str
    sha256: bytes
    key_id: str
    tier: str
    label: str
    created_at: datetime
    ends_at: datetime | None = None
    sandbox: bool = False

    def holds(self, now: datetime | None = None) -> bool:
        """Say whether the key lets anyone in."""
        return self.ends_at is None or (now or datetime.now(UTC)) < self.ends_at


class Backend(Protocol):
    """A store of issued keys and of secrets; what cannot be read raises."""

    def held(self, prefix: str | None = None) -> list[Issued]:
        """Give the keys with a prefix, or all."""

    def keep(self, *rows: Issued) -> None:
        """Keep keys in one step; a hash that is held already is replaced."""

    def prepare(self) -> None:
        """Make the store if it is not there; only who administers keys does."""

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Give the secret of a name, or keep ``fresh`` where none is held."""

    def stamp(self) -> object:
        """Give what differs once the store has changed, as far as that is free to see."""

    def check(self) -> None:
        """Make a real read."""
