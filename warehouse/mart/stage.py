"""The tables of a build while it is made: each a Parquet file, read in SQL by its name.

First every vintage of every table of the record is staged; what is derived from those is
staged beside them. The audit, the mart and the exports all read what is staged, so that none
of them can see something else than the others.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from sqlmodel import SQLModel

from warehouse.errors import BadTable
from warehouse.mart.vintages import all_vintages
from warehouse.record.schema import arrow_schema
from warehouse.record.snapshot import Snapshot
from warehouse.record.tables import RECORD_TABLES
from warehouse.tables import DERIVED

# Rows of a group: what a reader of the exported file skips or reads at once.
GROUP = 100_000


@dataclass
class Stage(AbstractContextManager["Stage"]):
    """A folder of staged tables and an engine in which each is a view of its name."""

    folder: Path
    snapshot: Snapshot
    data_version: str
    sql: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        spill = str(self.folder / "spill")
        self.sql = duckdb.connect(config={"temp_directory": spill})
        self.sql.execute("SET GLOBAL TimeZone = 'UTC'")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sql.close()

    def path(self, name: str) -> Path:
        """Give the file of a staged table."""
        return self.folder / f"{name}.parquet"

    def stage_record(self) -> None:
        """Stage every vintage of the record, as the snapshot sees it."""
        for table in RECORD_TABLES:
            relation = self.snapshot.record.relation(table.name)
            loads = self.snapshot.loads[table.name]
            self.write(table.name, all_vintages(table, relation, loads))

    def write(self, name: str, statement: str) -> None:
        """Stage what a statement over the staged tables gives."""
        place = str(self.path(name)).replace("'", "''")
        self.sql.execute(
            f"COPY ({statement}) TO '{place}' (FORMAT parquet, COMPRESSION zstd, "
            f"COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {GROUP})"
        )
        self._show(name)

    def add(self, tables: Mapping[str, pa.Table]) -> None:
        """Stage derived tables; one of another shape than it is described with is refused."""
        for name, rows in tables.items():
            if name not in DERIVED:
                raise BadTable(f"{name!r} is no derived table; one of {', '.join(DERIVED)}")
            pq.write_table(
                fitting(name, DERIVED[name], rows), self.path(name), row_group_size=GROUP
            )
            self._show(name)

    def read(self, statement: str) -> pa.Table:
        """Ask the staged tables."""
        cursor = self.sql.cursor()
        try:
            return cursor.sql(statement).to_arrow_table()
        finally:
            cursor.close()

    def _show(self, name: str) -> None:
        place = str(self.path(name)).replace("'", "''")
        self.sql.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM read_parquet('{place}')")


def fitting(name: str, row: type[SQLModel], rows: pa.Table) -> pa.Table:
    """Give rows typed as they are described; say what does not fit."""
    schema = arrow_schema(row)
    try:
        return rows.select(schema.names).cast(schema)
    except (KeyError, ValueError, pa.ArrowException) as error:
        raise BadTable(f"{name}: does not have the columns it is described with: {error}") from None
