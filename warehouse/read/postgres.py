"""Read builds from PostgreSQL: one connection per thread, a schema for each file of a build."""

import time
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import psycopg

from warehouse.data_version import version_key
from warehouse.errors import NothingPublished, UnknownVersion
from warehouse.mart.postgres_builds import (
    BUILD_EXISTS_SQL,
    BUILDS_SQL,
    CURRENT_BUILD_SQL,
    MANIFEST_SQL,
    POINTERS_SQL,
    WITHDRAWN_SQL,
    followed_build,
    manifest_of_schema,
    schema_of,
    schema_of_key,
)
from warehouse.mart.sqlite_builds import unavailable
from warehouse.mart.tables import MART_SCHEMA_VERSION
from warehouse.read.engines import NOTHING_PUBLISHED, FileReader, SqlRows, translate_errors
from warehouse.steps.files import BuildFile, BuildManifest, decode_manifest

# Seconds to connect and to answer: a server that hangs would otherwise block every thread.
_CONNECT_TIMEOUT = 2
_ANSWER_TIMEOUT = 10.0
T = TypeVar("T")


class _AnswerTimeout(psycopg.OperationalError):
    """The server did not answer in time."""


class _Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that waits no longer than ``_ANSWER_TIMEOUT`` for any answer.

    PostgreSQL's own statement_timeout does not help against a server that cannot be reached.
    """

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait for an answer; raise ``_AnswerTimeout`` if it is late."""
        begun = time.monotonic()
        try:
            return super().wait(gen, *args, **{"timeout": _ANSWER_TIMEOUT, **kwargs})
        except psycopg.OperationalError as error:
            if time.monotonic() - begun < _ANSWER_TIMEOUT:
                raise
            raise _AnswerTimeout(f"no answer within {_ANSWER_TIMEOUT} s") from error


class PostgresEngine:
    """A database of builds; a lost connection is opened again by the next read."""

    def __init__(self, url: str, schema_version: int = MART_SCHEMA_VERSION) -> None:
        self._url, self._schema_version = url, schema_version
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._looked_up: str | None = None

    def current(self) -> str:
        """Return the data_version of the current build."""
        rows = self._rows_or_none(POINTERS_SQL, ()) or self._rows_or_none(CURRENT_BUILD_SQL, ())
        self._looked_up = followed_build(rows, self._schema_version)
        if self._looked_up is None:
            raise NothingPublished(NOTHING_PUBLISHED)
        return self._looked_up

    def check(self, data_version: str) -> None:
        """Raise ``UnknownVersion`` if there is no such build, or no longer."""
        # A build that is followed exists: after a look at the pointers there is nothing to ask.
        is_current, self._looked_up = data_version == self._looked_up, None
        if not is_current and not self._rows_or_none(BUILD_EXISTS_SQL, (data_version,)):
            raise self._not_available(data_version)

    def manifest(self, data_version: str) -> BuildManifest:
        """Return the manifest of a build."""
        rows = self._rows_or_none(MANIFEST_SQL, (data_version,))
        if not rows:
            raise self._not_available(data_version)
        if rows[0][0] is not None:
            return decode_manifest(str(rows[0][0]).encode(), f"the manifest of {data_version}")
        with translate_errors(psycopg.Error):
            about = self._query(f"SELECT name, value FROM {schema_of(data_version)}.about", ())
        return manifest_of_schema(data_version, dict(about))

    def reader(self, data_version: str, file: BuildFile) -> FileReader:
        """Return a reader of the tables of a file."""

        def query(statement: str, values: Sequence[object]) -> SqlRows:
            with translate_errors(psycopg.Error):
                try:
                    return self._query(statement.replace("?", "%s"), values)
                except psycopg.errors.UndefinedTable:
                    # Deleted while it was read: a pin must be told so.
                    self.check(data_version)
                    raise

        schema = schema_of_key(file.key) if file.key else schema_of(data_version)
        return FileReader(file.partition, f"{schema}.", query, "postgresql")

    def check_files(self, data_version: str) -> None:
        """Do nothing: the server finds damage of its files when it reads them."""

    def _not_available(self, data_version: str) -> UnknownVersion:
        names = sorted(
            (str(name) for (name,) in self._rows_or_none(BUILDS_SQL, ())), key=version_key
        )
        return unavailable(data_version, self._withdrawal(data_version), names)

    def _rows_or_none(self, statement: str, values: Sequence[object]) -> SqlRows:
        """Run the first query of a request; no rows if its table was never made."""
        with translate_errors(psycopg.Error):
            try:
                return self._first_query(statement, values)
            except psycopg.errors.UndefinedTable:
                return []

    def _withdrawal(self, data_version: str) -> str | None:
        rows = self._rows_or_none(WITHDRAWN_SQL, (data_version,))
        return str(rows[0][0]) if rows else None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _first_query(self, statement: str, values: Sequence[object]) -> SqlRows:
        """Run the first query of a request; retry once if a server restart cut the connection."""
        before = self._connection
        try:
            return self._query(statement, values)
        except _AnswerTimeout:
            raise
        except psycopg.OperationalError:
            # A fresh connection failed: the server is down, not restarted.
            if before is None:
                raise
            return self._query(statement, values)

    def _query(self, statement: str, values: Sequence[object]) -> SqlRows:
        connection = self._connection
        if connection is None or connection.closed:
            with translate_errors(psycopg.OperationalError):
                connection = _Connection.connect(
                    self._url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT
                )
            self._connection = connection
        try:
            # Binary: a pack would otherwise be sent as hexadecimal text, twice as long.
            with connection.cursor(binary=True) as cursor:
                cursor.execute(statement.encode(), values)
                return cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError:
            # After a timeout the answer may still arrive: nobody must read it as that of another
            # query.
            connection.close()
            raise
