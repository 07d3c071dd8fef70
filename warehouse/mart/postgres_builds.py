"""Builds in a PostgreSQL database: a schema for each file, and rows that name the current build.

The schema ``sankofa`` has the manifests of complete builds and the pointers (``pointers.py``). The
tables of a file lie in a schema named by its key, which builds share; a build has a schema of views
over them, for people who look into the database. A build made before version 9 is one schema with
all tables.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import psycopg

from warehouse.data_version import check_data_version, version_key
from warehouse.errors import (
    BadTable,
    DamagedFile,
    DatastoreUnavailable,
    SankofaError,
    UnknownVersion,
)
from warehouse.locks import announced_wait
from warehouse.mart.pointers import Pointers, decode_pointers, encode_pointers
from warehouse.mart.sqlite_builds import BUILDS, LOST, one_file, written_version
from warehouse.mart.tables import MART_SCHEMA_VERSION
from warehouse.steps.files import (
    BuildFile,
    BuildManifest,
    decode_manifest,
    encode_manifest,
)

# `current` has at most one row: its key can only be 1. Its foreign key lets the server refuse to
# delete the current build.
_PREPARE = """
CREATE SCHEMA IF NOT EXISTS sankofa;
CREATE TABLE IF NOT EXISTS sankofa.builds (
    data_version TEXT PRIMARY KEY, completed_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
ALTER TABLE sankofa.builds ADD COLUMN IF NOT EXISTS manifest TEXT;
CREATE TABLE IF NOT EXISTS sankofa.current (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    data_version TEXT NOT NULL REFERENCES sankofa.builds
);
CREATE TABLE IF NOT EXISTS sankofa.pointers (
    one INTEGER PRIMARY KEY CHECK (one = 1), by_version TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS sankofa.withdrawn (
    data_version TEXT PRIMARY KEY, reason TEXT NOT NULL
);
"""
POINTERS_SQL = """
SELECT (SELECT data_version FROM sankofa.current), (SELECT by_version FROM sankofa.pointers),
    ARRAY(SELECT data_version FROM sankofa.builds)
"""
# For a database that only code up to version 11 wrote.
CURRENT_BUILD_SQL = "SELECT data_version, NULL, ARRAY[data_version] FROM sankofa.current"
BUILD_EXISTS_SQL = "SELECT 1 FROM sankofa.builds WHERE data_version = %s"
# Through JSON: a database that an older version wrote has no column of manifests.
MANIFEST_SQL = (
    "SELECT to_jsonb(builds)->>'manifest' FROM sankofa.builds AS builds WHERE data_version = %s"
)
BUILDS_SQL = "SELECT data_version FROM sankofa.builds"
WITHDRAWN_SQL = "SELECT reason FROM sankofa.withdrawn WHERE data_version = %s"
_SCHEMAS = """
SELECT nspname FROM pg_namespace WHERE nspname ~ '^(build_[0-9]+_[0-9]+|file_[0-9a-f]{32})$'
"""
# Keys of the advisory locks: any two numbers that no other user of the database takes.
_KEY = re.compile("[0-9a-f]{32}")
_PUBLISHING_LOCK = 7_265_632
_PREPARING_LOCK = _PUBLISHING_LOCK + 1


def schema_of(data_version: str) -> str:
    """Return the name of a build's schema."""
    return "build_" + check_data_version(data_version).replace(".", "_")


def schema_of_key(key: str) -> str:
    """Return the name of the schema of a file."""
    if not _KEY.fullmatch(key):
        raise BadTable(f"{key!r} is not the key of a file")
    return f"file_{key}"


def manifest_of_schema(name: str, metadata: Mapping[str, str]) -> BuildManifest:
    """Return the manifest of a build made before version 9: one schema with all tables."""
    return BuildManifest(name, metadata, (one_file(schema_of(name)),))


@dataclass(frozen=True)
class PostgresBuilds:
    """The builds of a database; implements ``warehouse.mart.builds.Builds``."""

    url: str
    schema_version: int = MART_SCHEMA_VERSION

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
                rows = sql.execute(BUILDS_SQL).fetchall()
            except psycopg.errors.UndefinedTable:
                return []
        return sorted((str(name) for (name,) in rows), key=version_key)

    def current(self) -> str | None:
        """Return the data_version of the current build; None before the first."""
        with self._connected() as sql:
            return followed_build(_pointer_rows(sql), self.schema_version)

    def switch(self, name: str) -> None:
        """Make a complete build the current one; readers follow with their next read."""
        if name not in self.names():
            raise UnknownVersion(f"there is no build {name!r}; see `sankofa builds`")
        self.prepare()
        written_in, now = (
            written_version(self.manifest(name), self.schema_version),
            datetime.now(UTC),
        )
        pointers = self._pointers()
        self._write_pointers(pointers.switched(name, written_in, self.schema_version, now))

    def in_use(self) -> set[str]:
        """Return every build that servers of some version of the code follow."""
        return self._pointers().in_use()

    def for_older(self) -> dict[str, datetime | None]:
        """Return the builds that only servers of older code follow, and since when."""
        return self._pointers().for_older(self.schema_version)

    def release(self, names: Collection[str]) -> None:
        """Let no server follow some builds any more; they can still be pinned."""
        pointers = self._pointers()
        if (without := pointers.without(names)) != pointers:
            self._write_pointers(without)

    def _pointers(self) -> Pointers:
        with self._connected() as sql:
            return _pointers(_pointer_rows(sql))

    def _write_pointers(self, pointers: Pointers) -> None:
        with self._connected() as sql, sql.transaction():
            sql.execute("DELETE FROM sankofa.current")
            if pointers.current is not None:
                sql.execute("INSERT INTO sankofa.current VALUES (1, %s)", (pointers.current,))
            sql.execute(
                "INSERT INTO sankofa.pointers VALUES (1, %s) "
                "ON CONFLICT (one) DO UPDATE SET by_version = excluded.by_version",
                (encode_pointers(pointers).decode(),),
            )

    def manifest(self, name: str) -> BuildManifest | None:
        """Return the manifest of a build; None if it is not there or cannot be read."""
        with self._connected() as sql:
            return _manifest(sql, name)

    def metadata(self, name: str) -> dict[str, str]:
        """Return the metadata of a build; empty if it cannot be read."""
        manifest = self.manifest(name)
        return {} if manifest is None else dict(manifest.metadata)

    def files(self) -> dict[str, BuildFile]:
        """Return the files of the mart that builds name, by key."""
        names = self.names()
        with self._connected() as sql:
            manifests = [_manifest(sql, name) for name in names]
        return {
            file.key: file
            for manifest in manifests
            if manifest is not None
            for file in manifest.files
            if file.key
        }

    def intact_files(self) -> dict[str, BuildFile]:
        """Return the files that builds name; the server checks its own pages."""
        return self.files()

    def add(self, manifest: BuildManifest) -> None:
        """Add a complete build with its views; no reader sees it before ``switch``."""
        self.prepare()
        schema = schema_of(manifest.data_version)
        with self._connected() as sql, sql.transaction():
            sql.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            sql.execute(f"CREATE SCHEMA {schema}".encode())
            for table in sorted({file.table for file in manifest.files if file.kind == "mart"}):
                rows = " UNION ALL ".join(
                    f"SELECT *, CAST({_text(file.partition)} AS TEXT) AS file "
                    f"FROM {schema_of_key(file.key)}.{table}"
                    for file in manifest.of("mart", table)
                )
                try:
                    sql.execute(f"CREATE VIEW {schema}.{table} AS {rows}".encode())
                except psycopg.errors.UndefinedTable as error:
                    raise SankofaError(LOST) from error
            sql.execute(
                "INSERT INTO sankofa.builds (data_version, manifest) VALUES (%s, %s) "
                "ON CONFLICT (data_version) DO UPDATE SET manifest = excluded.manifest",
                (manifest.data_version, encode_manifest(manifest).decode()),
            )

    def count_rows(self, file: BuildFile) -> int | None:
        """Return how many rows the table of a file has; None if it is missing."""
        with self._connected() as sql:
            try:
                counted = f"SELECT count(*) FROM {schema_of_key(file.key)}.{file.table}"
                row = sql.execute(counted.encode()).fetchone()
            except psycopg.errors.UndefinedTable:
                return None
        return None if row is None else int(str(row[0]))

    def remove(self, name: str) -> None:
        """Delete a build, and the files that no other names; take the publishing lock."""
        with self._connected() as sql, sql.transaction():
            sql.execute("DELETE FROM sankofa.builds WHERE data_version = %s", (name,))
            sql.execute(f"DROP SCHEMA IF EXISTS {schema_of(name)} CASCADE".encode())
        self.clean_up()

    def clean_up(self) -> None:
        """Drop the schemas of builds that are not in the list, and of files that none names."""
        named = {schema_of(name) for name in self.names()}
        named |= {schema_of_key(key) for key in self.files()}
        with self._connected() as sql:
            for (schema,) in sql.execute(_SCHEMAS).fetchall():
                if schema not in named:
                    sql.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())

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
        self.release([name])
        self.remove(name)

    @contextmanager
    def publishing_lock(self) -> Iterator[None]:
        """Take the publishing lock."""
        with self._connected() as sql:
            # A session lock: the server releases it if this process dies.
            with announced_wait(BUILDS, lambda: "another session of the database"):
                sql.execute("SELECT pg_advisory_lock(%s)", (_PUBLISHING_LOCK,))
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


def followed_build(rows: Sequence[tuple[object, ...]], schema_version: int) -> str | None:
    """Return the build that code of a schema version follows; None before the first."""
    followed = _pointers(rows).followed(schema_version)
    held = cast(list[str], rows[0][2]) if rows else []
    # Older code does not know which builds the newer pointers name, and may delete one.
    return next((name for name in followed if name in held), None)


def _pointers(rows: Sequence[tuple[object, ...]]) -> Pointers:
    if not rows:
        return Pointers()
    current, by_version, _ = cast(tuple[str | None, str | None, list[str]], rows[0])
    return decode_pointers(current, by_version)


def _pointer_rows(sql: psycopg.Connection[tuple[object, ...]]) -> list[tuple[object, ...]]:
    for statement in (POINTERS_SQL, CURRENT_BUILD_SQL):
        with suppress(psycopg.errors.UndefinedTable):
            return sql.execute(statement).fetchall()
    return []


def _manifest(sql: psycopg.Connection[tuple[object, ...]], name: str) -> BuildManifest | None:
    try:
        row = sql.execute(MANIFEST_SQL, (name,)).fetchone()
        if row is None:
            return None
        if row[0] is not None:
            return decode_manifest(str(row[0]).encode(), f"the manifest of {name}")
        # psycopg's types refuse text that is not a literal, against injections; bytes pass.
        # The name of the schema has been checked.
        about = sql.execute(f"SELECT name, value FROM {schema_of(name)}.about".encode())
        metadata = {str(key): str(value) for key, value in about.fetchall()}
    except (psycopg.errors.UndefinedTable, DamagedFile):
        return None
    return manifest_of_schema(name, metadata)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
