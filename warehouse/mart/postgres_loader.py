"""A build as one schema of a PostgreSQL database, named among the builds when complete."""

from collections.abc import Mapping, Sequence
from typing import Self

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from warehouse.mart.postgres_builds import PostgresBuilds, register_build_sql, schema_of
from warehouse.mart.tables import Columns

# In the order of bytes, as SQLite has it, whatever the language of the database.
_TYPES = {"text": 'TEXT COLLATE "C" NOT NULL', "integer": "INTEGER", "bytes": "BYTEA NOT NULL"}


class PostgresLoader:
    """Writes the schema of one data_version in one transaction."""

    def __init__(self, url: str, data_version: str) -> None:
        self._database = PostgresBuilds(url)
        self._data_version = data_version
        self._schema = schema_of(data_version)

    def __enter__(self) -> Self:
        self._database.prepare()
        self._mart = dbapi.connect(self._database.url)
        self._sql = self._mart.cursor()
        self._sql.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        self._sql.execute(f"CREATE SCHEMA {self._schema}")
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

    def tell(self, about: Mapping[str, str]) -> None:
        """Keep what the build says of itself."""
        columns: Columns = {"name": "text", "value": "text"}
        told = pa.table({"name": list(about), "value": list(about.values())})
        self.load("about", columns, told.to_reader(), ())

    def load(
        self, table: str, columns: Columns, rows: pa.RecordBatchReader, indexes: Sequence[str]
    ) -> None:
        """Make a table of rows, in their order, and then its indexes."""
        place = f"{self._schema}.{table}"
        declared = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
        if "place" in rows.schema.names:
            declared.insert(0, "place BIGINT PRIMARY KEY")
        self._sql.execute(f"CREATE TABLE {place} ({', '.join(declared)})")
        if "rows" in columns:
            # A pack is read whole and often: to unpack it each time would take most of the read.
            self._sql.execute(f"ALTER TABLE {place} ALTER COLUMN rows SET STORAGE EXTERNAL")
        self._sql.adbc_ingest(table, rows, mode="append", db_schema_name=self._schema)
        for number, asked in enumerate(indexes):
            self._sql.execute(f"CREATE INDEX {table}_{number} ON {place} {asked}")
        self._sql.execute(f"ANALYZE {place}")
