"""The builds of a PostgreSQL database: a schema each, and one row that says which is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from warehouse.errors import DatastoreUnavailable, UnknownVersion
from warehouse.mart.sqlite_builds import checked

# Names of the builds and the pointer stand apart from the builds.
_PREPARE = """
CREATE SCHEMA IF NOT EXISTS sankofa;
CREATE TABLE IF NOT EXISTS sankofa.builds (
    data_version TEXT PRIMARY KEY, completed_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS sankofa.current (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    data_version TEXT NOT NULL REFERENCES sankofa.builds
);
"""
CURRENT_BUILD_SQL = "SELECT data_version FROM sankofa.current"
BUILD_EXISTS_SQL = "SELECT 1 FROM sankofa.builds WHERE data_version = %s"
_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname ~ '^build_[0-9]+_[0-9]+$'"
# Any number that nobody else of the database takes.
_LOCK = 7_265_632


def schema_of(data_version: str) -> str:
    """Give the schema of a build by its data_version."""
    return "build_" + checked(data_version).replace(".", "_")


def register_build_sql(data_version: str) -> str:
    """Write the statement that takes a build among those that can be read.

    It belongs into the transaction that writes the schema: there is never one without the other.
    """
    named = f"INSERT INTO sankofa.builds VALUES ('{checked(data_version)}')"
    return f"{named} ON CONFLICT DO NOTHING"


@dataclass(frozen=True)
class PostgresBuilds:
    """A database of builds."""

    url: str

    def prepare(self) -> None:
        """Make the list of builds where there is none."""
        with self._connected() as sql, sql.transaction():
            sql.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK + 1,))
            sql.execute(_PREPARE)

    def names(self) -> list[str]:
        """Name every complete build that is held, the oldest first."""
        with self._connected() as sql:
            try:
                held = sql.execute("SELECT data_version FROM sankofa.builds").fetchall()
            except psycopg.errors.UndefinedTable:
                return []
        return sorted(
            (str(name) for (name,) in held), key=lambda name: tuple(map(int, name.split(".")))
        )

    def current(self) -> str | None:
        """Name the build that is read now; None before the first."""
        with self._connected() as sql:
            try:
                found = sql.execute(CURRENT_BUILD_SQL).fetchone()
            except psycopg.errors.UndefinedTable:
                return None
        return None if found is None else str(found[0])

    def switch(self, name: str) -> None:
        """Let every reader see another complete build from its next read on."""
        if name not in self.names():
            raise UnknownVersion(f"{name!r} is not a build that is held; see `sankofa builds`")
        with self._connected() as sql:
            sql.execute(
                "INSERT INTO sankofa.current VALUES (1, %s) "
                "ON CONFLICT (one) DO UPDATE SET data_version = excluded.data_version",
                (name,),
            )

    def about(self, name: str) -> dict[str, str]:
        """Read what a build says of itself; one that cannot be read says nothing."""
        with self._connected() as sql:
            try:
                told = sql.execute(f"SELECT name, value FROM {schema_of(name)}.about".encode())
                return {str(each): str(value) for each, value in told.fetchall()}
            except psycopg.errors.UndefinedTable:
                return {}

    def remove(self, name: str) -> None:
        """Hold a build no more."""
        with self._connected() as sql, sql.transaction():
            sql.execute("DELETE FROM sankofa.builds WHERE data_version = %s", (name,))
            sql.execute(f"DROP SCHEMA IF EXISTS {schema_of(name)} CASCADE".encode())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one publisher work at a time, and drop schemas that are no build in the list."""
        with self._connected() as sql:
            sql.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
            held = {schema_of(name) for name in self.names()}
            for (schema,) in sql.execute(_SCHEMAS).fetchall():
                if schema not in held:
                    sql.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            yield

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        try:
            connection = psycopg.connect(self.url, autocommit=True)
        except psycopg.Error as error:
            # What is said of a connection never repeats the password.
            why = str(error).splitlines()[0]
            raise DatastoreUnavailable(f"the database of the builds: {why}") from error
        try:
            yield connection
        finally:
            connection.close()
