"""Builds in a PostgreSQL database: a schema each, and one row that names the current one.

The schema ``sankofa`` has the list of complete builds and the pointer. A build is added to the
list in the transaction that writes its schema, so that there is never one without the other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from warehouse.data_version import check_data_version, version_key
from warehouse.errors import DatastoreUnavailable, UnknownVersion

# `current` has at most one row: its key can only be 1. Its foreign key lets the server refuse to
# delete the current build.
_PREPARE = """
CREATE SCHEMA IF NOT EXISTS sankofa;
CREATE TABLE IF NOT EXISTS sankofa.builds (
    data_version TEXT PRIMARY KEY, completed_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS sankofa.current (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    data_version TEXT NOT NULL REFERENCES sankofa.builds
);
CREATE TABLE IF NOT EXISTS sankofa.withdrawn (
    data_version TEXT PRIMARY KEY, reason TEXT NOT NULL
);
"""
CURRENT_BUILD_SQL = "SELECT data_version FROM sankofa.current"
BUILD_EXISTS_SQL = "SELECT 1 FROM sankofa.builds WHERE data_version = %s"
WITHDRAWN_SQL = "SELECT reason FROM sankofa.withdrawn WHERE data_version = %s"
_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname ~ '^build_[0-9]+_[0-9]+$'"
# Keys of the advisory locks: any two numbers that no other user of the database takes.
_PUBLISHING_LOCK = 7_265_632
_PREPARING_LOCK = _PUBLISHING_LOCK + 1


def schema_of(data_version: str) -> str:
    """Return the name of a build's schema."""
    return "build_" + check_data_version(data_version).replace(".", "_")


def register_build_sql(data_version: str) -> str:
    """Return the statement that adds a build to the list; run it with the build's transaction."""
    insert = f"INSERT INTO sankofa.builds VALUES ('{check_data_version(data_version)}')"
    return f"{insert} ON CONFLICT DO NOTHING"


@dataclass(frozen=True)
class PostgresBuilds:
    """The builds of a database; implements ``warehouse.mart.builds.Builds``."""

    url: str

    def prepare(self) -> None:
        """Create the list of builds if there is none."""
        with self._connected() as sql, sql.transaction():
            # Two CREATE … IF NOT EXISTS at once can still collide.
            sql.execute("SELECT pg_advisory_xact_lock(%s)", (_PREPARING_LOCK,))
            sql.execute(_PREPARE)

    def names(self) -> list[str]:
        """Return the data_version of every complete build, oldest first."""
        with self._connected() as sql:
            try:
                rows = sql.execute("SELECT data_version FROM sankofa.builds").fetchall()
            except psycopg.errors.UndefinedTable:
                return []
        return sorted((str(name) for (name,) in rows), key=version_key)

    def current(self) -> str | None:
        """Return the data_version of the current build; None before the first."""
        with self._connected() as sql:
            try:
                row = sql.execute(CURRENT_BUILD_SQL).fetchone()
            except psycopg.errors.UndefinedTable:
                return None
        return None if row is None else str(row[0])

    def switch(self, name: str) -> None:
        """Make a complete build the current one; readers follow with their next read."""
        if name not in self.names():
            raise UnknownVersion(f"there is no build {name!r}; see `sankofa builds`")
        with self._connected() as sql:
            sql.execute(
                "INSERT INTO sankofa.current VALUES (1, %s) "
                "ON CONFLICT (one) DO UPDATE SET data_version = excluded.data_version",
                (name,),
            )

    def metadata(self, name: str) -> dict[str, str]:
        """Return the metadata of a build; empty if it cannot be read."""
        with self._connected() as sql:
            try:
                # psycopg's types refuse text that is not a literal, against injections; bytes pass.
                # The name of the schema has been checked.
                rows = sql.execute(f"SELECT name, value FROM {schema_of(name)}.about".encode())
                return {str(key): str(value) for key, value in rows.fetchall()}
            except psycopg.errors.UndefinedTable:
                return {}

    def remove(self, name: str) -> None:
        """Delete a build."""
        with self._connected() as sql, sql.transaction():
            sql.execute("DELETE FROM sankofa.builds WHERE data_version = %s", (name,))
            sql.execute(f"DROP SCHEMA IF EXISTS {schema_of(name)} CASCADE".encode())

    def withdraw(self, name: str, reason: str) -> None:
        """Delete a build if it is there, and tell whoever pins it the reason from now on."""
        # The table of reasons is younger than the others: an older database lacks it.
        self.prepare()
        with self._connected() as sql:
            sql.execute(
                "INSERT INTO sankofa.withdrawn VALUES (%s, %s) "
                "ON CONFLICT (data_version) DO UPDATE SET reason = excluded.reason",
                (name, reason),
            )
            sql.execute("DELETE FROM sankofa.current WHERE data_version = %s", (name,))
        self.remove(name)

    @contextmanager
    def publishing_lock(self) -> Iterator[None]:
        """Take the publishing lock, and drop schemas that are not in the list of builds."""
        with self._connected() as sql:
            # A session lock: the server releases it if this process dies.
            sql.execute("SELECT pg_advisory_lock(%s)", (_PUBLISHING_LOCK,))
            # With the lock taken, a schema that is not in the list is what a killed publisher left.
            complete = {schema_of(name) for name in self.names()}
            for (schema,) in sql.execute(_SCHEMAS).fetchall():
                if schema not in complete:
                    sql.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            yield

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        try:
            connection = psycopg.connect(self.url, autocommit=True)
        except psycopg.Error as error:
            # The first line of a connection error never repeats the password.
            reason = str(error).splitlines()[0]
            raise DatastoreUnavailable(f"the database of the builds: {reason}") from error
        try:
            yield connection
        finally:
            connection.close()
