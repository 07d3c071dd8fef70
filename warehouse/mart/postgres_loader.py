"""Write a build as one schema of a PostgreSQL database, in one transaction."""

from collections.abc import Mapping, Sequence
from typing import Self

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from warehouse.mart.postgres_builds import PostgresBuilds, register_build_sql, schema_of
from warehouse.mart.tables import ROW_NUMBERS, Columns

# Text in byte order, as in SQLite, whatever the locale of the database.
_TYPES = {"text": 'TEXT COLLATE "C" NOT NULL', "integer": "INTEGER", "bytes": "BYTEA NOT NULL"}


class PostgresLoader:
    """Writes the schema of one data_version; implements ``warehouse.mart.write.Loader``."""

    def __init__(self, url: str, data_version: str) -> None:
        self._builds = PostgresBuilds(url)
        self._data_version = data_version
        self._schema = schema_of(data_version)

    def __enter__(self) -> Self:
        self._builds.prepare()
        self._mart = dbapi.connect(self._builds.url)
        self._sql = self._mart.cursor()
        self._sql.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        self._sql.execute(f"CREATE SCHEMA {self._schema}")
        # Memory for sorting the indexes, for this transaction only.
        self._sql.execute("SET LOCAL maintenance_work_mem = '256MB'")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                self._sql.execute(register_build_sql(self._data_version))
                self._mart.commit()
            else:
                self._mart.rollback()
        finally:
            self._sql.close()
            self._mart.close()

    def write_metadata(self, metadata: Mapping[str, str]) -> None:
        """Write the metadata of the build."""
        columns: Columns = {"name": "text", "value": "text"}
        rows = pa.table({"name": list(metadata), "value": list(metadata.values())})
        self.load("about", columns, rows.to_reader(), ())

    def load(
        self, table: str, columns: Columns, rows: pa.RecordBatchReader, indexes: Sequence[str]
    ) -> None:
        """Create a table, load its rows in order, then create its indexes."""
        qualified = f"{self._schema}.{table}"
        declared = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
        first = rows.schema.names[0]
        if first in ROW_NUMBERS:
            declared.insert(0, f"{first} BIGINT PRIMARY KEY")
        self._sql.execute(f"CREATE TABLE {qualified} ({', '.join(declared)})")
        if "rows" in columns:
            # A pack is read whole and often: decompressing it would take most of the read.
            self._sql.execute(f"ALTER TABLE {qualified} ALTER COLUMN rows SET STORAGE EXTERNAL")
        self._sql.adbc_ingest(table, rows, mode="append", db_schema_name=self._schema)
        for number, index in enumerate(indexes):
            self._sql.execute(f"CREATE INDEX {table}_{number} ON {qualified} {index}")
        # Autovacuum has not seen the table when the first query comes: give the planner statistics.
        self._sql.execute(f"ANALYZE {qualified}")
