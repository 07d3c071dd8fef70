"""Reading builds from PostgreSQL: one connection a thread, the schema of the build in front."""

import time
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import psycopg

from warehouse.errors import NothingPublished, UnknownVersion
from warehouse.mart.postgres_builds import BUILD_EXISTS_SQL, CURRENT_BUILD_SQL, schema_of
from warehouse.read.engines import NOTHING, RunQuery, SqlRows, translate_errors

# Seconds in which a server must let us in, and in which it must answer: one that hangs would
# else hold every thread of the service.
_TO_CONNECT = 2
_TO_ANSWER = 3.0
T = TypeVar("T")


class _Late(psycopg.OperationalError):
    """The server did not answer in time."""


class _Impatient(psycopg.Connection[tuple[Any, ...]]):
    """A connection on which no answer is waited for longer than that."""

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait for an answer; one that is late is an error of the server."""
        begun = time.monotonic()
        try:
            return super().wait(gen, *args, **{"timeout": _TO_ANSWER, **kwargs})
        except psycopg.OperationalError as error:
            if time.monotonic() - begun < _TO_ANSWER:
                raise
            raise _Late(f"no answer within {_TO_ANSWER} s") from error


class PostgresEngine:
    """A database of builds; a connection that was lost is made anew by the next read."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._schema: str | None = None

    def current(self) -> str:
        """Name the build that the pointer names."""
        with translate_errors(psycopg.Error):
            try:
                found = self._ask_first(CURRENT_BUILD_SQL, ())
            except psycopg.errors.UndefinedTable:
                found = []
        if not found:
            raise NothingPublished(NOTHING)
        return str(found[0][0])

    def open(self, data_version: str) -> RunQuery:
        """Let the statements that follow read the schema of a build."""
        schema = schema_of(data_version)

        def ask(statement: str, values: Sequence[object]) -> SqlRows:
            with translate_errors(psycopg.Error):
                self._turn_to(schema)
                return self._ask(statement.replace("?", "%s"), values)

        with translate_errors(psycopg.Error):
            try:
                held = self._ask_first(BUILD_EXISTS_SQL, (data_version,))
            except psycopg.errors.UndefinedTable:
                held = []
        if not held:
            raise UnknownVersion(f"{data_version!r} is not held any more")
        return ask

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _turn_to(self, schema: str) -> None:
        if self._schema != schema or self._connection is None or self._connection.closed:
            self._ask(f"SET search_path TO {schema}", ())
            self._schema = schema

    def _ask_first(self, statement: str, values: Sequence[object]) -> SqlRows:
        """Ask what a request begins with; on a connection that a restart cut, once more."""
        held = self._connection
        try:
            return self._ask(statement, values)
        except _Late:
            raise
        except psycopg.OperationalError:
            if held is None:
                raise
            return self._ask(statement, values)

    def _ask(self, statement: str, values: Sequence[object]) -> SqlRows:
        connection = self._connection
        if connection is None or connection.closed:
            with translate_errors(psycopg.OperationalError):
                connection = _Impatient.connect(
                    self._url, autocommit=True, connect_timeout=_TO_CONNECT
                )
            self._connection, self._schema = connection, None
        try:
            with connection.cursor(binary=True) as cursor:
                cursor.execute(statement.encode(), values)
                return cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError:
            connection.close()
            raise
