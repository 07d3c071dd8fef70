"""Write a file of the mart as one schema of a PostgreSQL database, in one transaction."""

from collections.abc import Mapping, Sequence
from typing import Self

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from warehouse.mart.packs import PACK_COLUMNS, PACK_INDEXES
from warehouse.mart.postgres_builds import schema_of_key
from warehouse.mart.tables import ROW_NUMBERS, Columns
from warehouse.steps.files import StoredFile

# Text in byte order, as in SQLite, whatever the locale of the database.
_TYPES = {
    "text": 'TEXT COLLATE "C" NOT NULL',
    "integer": "INTEGER",
    "real": "DOUBLE PRECISION",
    "bytes": "BYTEA NOT NULL",
}
_SIZE = """
SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class
WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'
"""


class PostgresLoader:
    """Writes the schema of one key; implements ``warehouse.mart.mart_files.Loader``."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._schema, self._size = url, schema_of_key(key), 0

    def __enter__(self) -> Self:
        self._mart = dbapi.connect(self._url)
        self._sql = self._mart.cursor()
        self._sql.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        self._sql.execute(f"CREATE SCHEMA {self._schema}")
        # Memory for sorting the indexes, for this transaction only.
        self._sql.execute("SET LOCAL maintenance_work_mem = '256MB'")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                self._sql.execute(_SIZE.format(schema=self._schema))
                row = self._sql.fetchone()
                self._size = 0 if row is None else int(row[0])
                self._mart.commit()
            else:
                self._mart.rollback()
        finally:
            self._sql.close()
            self._mart.close()

    def load(
        self,
        table: str,
        columns: Columns,
        rows: pa.RecordBatchReader,
        indexes: Sequence[str],
        primary_key: str = "",
    ) -> None:
        """Create a table, load its rows in order, then create its indexes."""
        qualified = f"{self._schema}.{table}"
        declared = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
        first = rows.schema.names[0]
        if first in ROW_NUMBERS:
            declared.insert(0, f"{first} BIGINT PRIMARY KEY")
        if primary_key:
            declared.append(f"PRIMARY KEY ({primary_key})")
        self._sql.execute(f"CREATE TABLE {qualified} ({', '.join(declared)})")
        if "packed" in columns:
            # It is compressed already.
            self._sql.execute(f"ALTER TABLE {qualified} ALTER COLUMN packed SET STORAGE EXTERNAL")
        self._sql.adbc_ingest(table, rows, mode="append", db_schema_name=self._schema)
        for number, index in enumerate(indexes):
            self._sql.execute(f"CREATE INDEX {table}_{number} ON {qualified} {index}")
        # Autovacuum has not seen the table when the first query comes: give the planner statistics.
        self._sql.execute(f"ANALYZE {qualified}")

    def load_packs(self, table: str, packs: pa.RecordBatchReader, by_key: bool) -> None:
        """Create the table of packs of a table."""
        self.load(table, PACK_COLUMNS, packs, PACK_INDEXES if by_key else ())

    def load_words(self, rows: pa.RecordBatchReader) -> None:
        """Create the table ``words``: rows found by words of the texts ``name`` and ``more``."""
        # The texts come split into words; no dictionary of the server must change them.
        vector = "array_to_tsvector(array_remove(string_to_array({}, ' '), ''))"
        self._load_index(
            "words",
            {"name": vector.format("name"), "all_words": vector.format("name || ' ' || more")},
            rows,
        )

    def load_trigrams(self, rows: pa.RecordBatchReader) -> None:
        """Create the table ``trigrams``: rows found by three neighbouring characters."""
        # Without the extension pg_trgm, which not every server has.
        places = "generate_series(1, length(text) - 2)"
        cut = f"ARRAY(SELECT DISTINCT substr(text, place, 3) FROM {places} AS place)"
        self._load_index("trigrams", {"trigrams": cut}, rows)

    def _load_index(
        self, table: str, columns: Mapping[str, str], rows: pa.RecordBatchReader
    ) -> None:
        qualified, loaded = f"{self._schema}.{table}", f"{table}_loaded"
        names = ", ".join(f'"{name}" TEXT NOT NULL' for name in rows.schema.names[1:])
        self._sql.execute(f"CREATE TABLE {self._schema}.{loaded} (row_number BIGINT, {names})")
        self._sql.adbc_ingest(loaded, rows, mode="append", db_schema_name=self._schema)
        made = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        self._sql.execute(
            f"CREATE TABLE {qualified} AS SELECT row_number, {made} "
            f"FROM {self._schema}.{loaded} ORDER BY row_number"
        )
        self._sql.execute(f"DROP TABLE {self._schema}.{loaded}")
        for name in columns:
            self._sql.execute(f"CREATE INDEX {table}_{name} ON {qualified} USING gin ({name})")
        self._sql.execute(f"ANALYZE {qualified}")

    def written(self) -> tuple[StoredFile, None]:
        """Return schema and size of the finished tables; what is in them has no SHA-256."""
        return StoredFile(self._schema, "", self._size), None
