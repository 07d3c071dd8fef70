"""The builds at a mart URL: list, switch, delete; and the licence notices they carry.

A mart URL is a folder of manifests and SQLite files (a path or ``sqlite:///folder``) or a
PostgreSQL database (``postgresql://…``).
"""

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from warehouse.errors import DatastoreUnavailable
from warehouse.mart.pointers import KEPT_FOR_OLDER
from warehouse.mart.sqlite_builds import SqliteBuilds
from warehouse.mart.tables import MART_SCHEMA_VERSION
from warehouse.steps.files import BuildFile, BuildManifest

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")

# The licence notice that goes with every response from a build.
NOTICE = (
    "Licence-clean: every source permits this use, and each row names its source_ref and "
    "license_class. No natural-person data. For research and information; not a regulated "
    "benchmark."
)
SAMPLE_NOTICE = (
    "FICTIONAL DATA of the sample world: every company, tender and figure is invented. " + NOTICE
)


class Builds(Protocol):
    """The builds at one mart URL."""

    def names(self) -> list[str]:
        """Return the data_version of every complete build, oldest first."""

    def current(self) -> str | None:
        """Return the data_version of the current build; None before the first."""

    def switch(self, name: str) -> None:
        """Make a complete build the current one; readers follow with their next read.

        Servers of older code that cannot read it stay with theirs; see ``pointers.py``.
        """

    def in_use(self) -> set[str]:
        """Return every build that servers of some version of the code follow."""

    def for_older(self) -> dict[str, datetime | None]:
        """Return the builds that only servers of older code follow, and since when."""

    def release(self, names: Collection[str]) -> None:
        """Let no server follow some builds any more; they can still be pinned."""

    def metadata(self, name: str) -> dict[str, str]:
        """Return the metadata of a build; empty if it cannot be read."""

    def manifest(self, name: str) -> BuildManifest | None:
        """Return the manifest of a build; None if it is not there or cannot be read."""

    def files(self) -> dict[str, BuildFile]:
        """Return the files of the mart that builds name, by key."""

    def intact_files(self) -> dict[str, BuildFile]:
        """Return the files that builds name and that are what was written, by key."""

    def add(self, manifest: BuildManifest) -> None:
        """Add a complete build; no reader sees it before ``switch``."""

    def remove(self, name: str) -> None:
        """Delete a build, and the files that no other names; take the publishing lock."""

    def withdraw(self, name: str, reason: str) -> None:
        """Delete a build if it is there, and tell whoever pins it the reason from now on.

        No pointer names it any more. If it is the current one, what servers of older code follow
        is served until the next switch, or nothing.
        """

    def clean_up(self) -> None:
        """Delete the files that no build names, of a publication that was given up."""

    def publishing_lock(self) -> AbstractContextManager[None]:
        """Let one publisher work at a time."""


def builds_at(url: str | Path, schema_version: int = MART_SCHEMA_VERSION) -> Builds:
    """Return the builds at a mart URL, as code of a schema version sees them."""
    if is_postgres_url(url):
        # Imported here: psycopg is an optional dependency.
        from warehouse.mart.postgres_builds import PostgresBuilds

        return PostgresBuilds(str(url), schema_version)
    return SqliteBuilds(sqlite_folder(url), schema_version)


def is_postgres_url(url: str | Path) -> bool:
    """Return whether a mart URL is a PostgreSQL database."""
    return isinstance(url, str) and url.startswith(_POSTGRES)


def sqlite_folder(url: str | Path) -> Path:
    """Return the folder of a mart URL; raise for any scheme but ``sqlite:///``."""
    scheme, separator, _ = str(url).removeprefix(_SQLITE).partition("://")
    if separator:
        raise DatastoreUnavailable(
            f"builds cannot be stored at {scheme}://…; "
            "give a folder, sqlite:///folder or postgresql://…"
        )
    return Path(url.removeprefix(_SQLITE)) if isinstance(url, str) else url


def delete_old_builds(builds: Builds, keep: int, now: datetime | None = None) -> list[str]:
    """Delete all but the newest ``keep`` builds and those in use; return the deleted.

    What only servers of older code follow is in use until it is not among the newest either and
    ``KEPT_FOR_OLDER`` has passed.
    """
    with builds.publishing_lock():
        return list(_delete_old(builds, max(keep, 1), now or datetime.now(UTC)))


def _delete_old(builds: Builds, keep: int, now: datetime) -> Iterator[str]:
    old = builds.names()[:-keep]
    behind = builds.for_older().items()
    builds.release(
        [name for name, since in behind if name in old and since and now - since >= KEPT_FOR_OLDER]
    )
    # After a rollback the current build can be an old one.
    in_use = builds.in_use()
    for name in old:
        if name not in in_use:
            builds.remove(name)
            yield name
