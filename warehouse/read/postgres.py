"""Read builds from PostgreSQL: one connection per thread, the build's schema as search path."""

import time
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import psycopg

from warehouse.errors import NothingPublished, UnknownVersion
from warehouse.mart.postgres_builds import (
    BUILD_EXISTS_SQL,
    CURRENT_BUILD_SQL,
    WITHDRAWN_SQL,
    schema_of,
)
from warehouse.mart.sqlite_builds import unavailable
from warehouse.read.engines import NOTHING_PUBLISHED, RunQuery, SqlRows, translate_errors

# Seconds to connect and to answer: a server that hangs would otherwise block every thread.
_CONNECT_TIMEOUT = 2
_ANSWER_TIMEOUT = 3.0
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

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._schema: str | None = None

    def current(self) -> str:
        """Return the data_version of the current build."""
        with translate_errors(psycopg.Error):
            try:
                rows = self._first_query(CURRENT_BUILD_SQL, ())
            except psycopg.errors.UndefinedTable:
                rows = []
        if not rows:
            raise NothingPublished(NOTHING_PUBLISHED)
        return str(rows[0][0])

    def open(self, data_version: str) -> RunQuery:
        """Return a function that runs queries in the schema of a build."""
        schema = schema_of(data_version)

        def query(statement: str, values: Sequence[object]) -> SqlRows:
            with translate_errors(psycopg.Error):
                self._set_schema(schema)
                return self._query(statement.replace("?", "%s"), values)

        with translate_errors(psycopg.Error):
            try:
                rows = self._first_query(BUILD_EXISTS_SQL, (data_version,))
            except psycopg.errors.UndefinedTable:
                rows = []
        if not rows:
            raise UnknownVersion(unavailable(data_version, self._withdrawal(data_version)))
        return query

    def _withdrawal(self, data_version: str) -> str | None:
        with translate_errors(psycopg.Error):
            try:
                rows = self._first_query(WITHDRAWN_SQL, (data_version,))
            except psycopg.errors.UndefinedTable:
                return None
        return str(rows[0][0]) if rows else None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _set_schema(self, schema: str) -> None:
        if self._schema != schema or self._connection is None or self._connection.closed:
            self._query(f"SET search_path TO {schema}", ())
            self._schema = schema

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
            self._connection, self._schema = connection, None
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
