"""Reading builds from PostgreSQL: one connection a thread, the schema of the build in front."""

from collections.abc import Sequence

import psycopg

from warehouse.errors import NothingPublished, UnknownVersion
from warehouse.mart.database import CURRENT, HELD, schema_of
from warehouse.read.engines import NOTHING, Ask, Found, named


class PostgresEngine:
    """A database of builds; a connection that was lost is made anew by the next read."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._schema: str | None = None

    def current(self) -> str:
        """Name the build that the pointer names."""
        with named(psycopg.Error):
            try:
                found = self._ask(CURRENT, ())
            except psycopg.errors.UndefinedTable:
                found = []
        if not found:
            raise NothingPublished(NOTHING)
        return str(found[0][0])

    def open(self, data_version: str) -> Ask:
        """Let the statements that follow read the schema of a build."""
        schema = schema_of(data_version)

        def ask(statement: str, values: Sequence[object]) -> Found:
            with named(psycopg.Error):
                self._turn_to(schema)
                return self._ask(statement.replace("?", "%s"), values)

        with named(psycopg.Error):
            try:
                held = self._ask(HELD, (data_version,))
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

    def _ask(self, statement: str, values: Sequence[object]) -> Found:
        connection = self._connection
        if connection is None or connection.closed:
            with named(psycopg.OperationalError):
                connection = psycopg.connect(self._url, autocommit=True)
            self._connection, self._schema = connection, None
        with connection.cursor(binary=True) as cursor:
            cursor.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []
