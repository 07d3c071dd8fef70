"""DuckDB for SQLAlchemy, as much as Great Expectations needs to query a file of DuckDB.

DuckDB's own Python module is a DB-API 2.0 driver; what is missing is how SQLAlchemy asks for the
columns of a table. The package duckdb-engine asks PostgreSQL's catalogue, of which DuckDB 2.0 has
not what SQLAlchemy 2.1 reads, and fails. Importing this module registers ``duckdb:///path``.
"""

from types import ModuleType
from typing import Any

import duckdb
from sqlalchemy import URL, Connection, types
from sqlalchemy.dialects import registry
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import ConnectArgsType, ReflectedColumn

_COLUMNS = """
SELECT column_name, is_nullable FROM duckdb_columns()
WHERE table_name = ? AND schema_name = coalesce(?, current_schema()) ORDER BY column_index
"""


NAME = "duckdb"


class DuckDBDialect(DefaultDialect):
    """SQLAlchemy's standard SQL over DuckDB; for reading: every statement commits itself."""

    name = NAME
    driver = "duckdb"
    supports_statement_cache = True
    supports_native_boolean = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the driver."""
        return duckdb

    def create_connect_args(self, url: URL) -> ConnectArgsType:
        """Return the arguments of ``duckdb.connect``."""
        return (), {"database": url.database or ":memory:"}

    def connect(self, *args: Any, **parameters: Any) -> Any:
        """Return a connection whose days are those of UTC, as in a snapshot."""
        connection = duckdb.connect(*args, **parameters)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: no transaction was begun."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Do nothing: no transaction was begun."""

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> bool:
        """Return whether there is such a table or view."""
        return bool(self.get_columns(connection, table_name, schema))

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[ReflectedColumn]:
        """Return the columns of a table or view. Types stay open: expectations state what holds."""
        rows = connection.exec_driver_sql(_COLUMNS, (table_name, schema))
        return [
            {"name": name, "type": types.NullType(), "nullable": nullable, "default": None}
            for name, nullable in rows
        ]

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """Return the names of all schemas."""
        rows = connection.exec_driver_sql("SELECT schema_name FROM duckdb_schemas()")
        return [name for (name,) in rows]


registry.register(NAME, __name__, DuckDBDialect.__name__)
