"""The tables of a candidate build as Great Expectations queries them, and what an audit adds.

What is added is in a database in memory, attached to that of the snapshot and found before it: it
is gone after the audit, and names that must not be served with it. Of a table that is kept in
partitions, the schema ``changed`` has the rows of those that must be audited again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self
from uuid import uuid4

import duckdb
import pyarrow as pa

from quality.reuse import alike
from quality.rules import Suite
from warehouse.publish.snapshot import Snapshot
from warehouse.record.relations import create_table, relation_of_files

_CHANGED = "changed"


class Catalogue:
    """The tables of one audit; use it in a ``with``.

    ``changed`` are, by table, the files of the partitions that are audited; a table without an
    entry is audited as a whole.
    """

    def __init__(self, snapshot: Snapshot, changed: Mapping[str, Sequence[str]]) -> None:
        self.name, self.data_version = f"audit_{uuid4().hex}", snapshot.data_version
        self._snapshot, self._changed = snapshot, changed
        [(self._shown,)] = snapshot.sql.execute("SELECT current_catalog()").fetchall()
        snapshot.sql.execute(f"ATTACH ':memory:' AS {self.name}")
        # Every rule reads the same files again: what is in them is read once.
        snapshot.sql.execute("SET GLOBAL parquet_metadata_cache = TRUE")
        self.sql = self.shown_to(snapshot.sql.cursor())
        self.sql.execute(f"CREATE SCHEMA {_CHANGED}")
        for name in changed:
            self.sql.execute(f"CREATE VIEW {_CHANGED}.{name} AS {self._rows(name)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.sql.close()
        self._snapshot.sql.execute(f"DETACH {self.name}")

    def shown_to(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Return a connection that sees the tables; those that it creates are of the audit."""
        return connection.execute(f"SET search_path = '{self.name}.main,{self._shown}.main'")

    def read(self, statement: str) -> pa.Table:
        """Run a query over the tables."""
        return self.sql.sql(statement).to_arrow_table()

    def names(self) -> set[str]:
        """Return the names of all tables and views."""
        return {name for (name,) in self.sql.execute("SHOW TABLES").fetchall()}

    def create_missing(self, name: str, rows: Callable[[], pa.Table]) -> None:
        """Create a table unless there is one of that name."""
        if name not in self.names():
            create_table(self.sql, name, rows())

    @contextmanager
    def only_changed(self, tables: Collection[str] | None = None) -> Iterator[None]:
        """Let the names of tables mean, for a while, the partitions that are audited."""
        names = [name for name in self._changed if tables is None or name in tables]
        for name in names:
            self.sql.execute(f"CREATE TEMP VIEW {name} AS {self._rows(name)}")
        try:
            yield
        finally:
            for name in names:
                self.sql.execute(f"DROP VIEW temp.{name}")

    def prepare(self, suite: Suite) -> tuple[str, str]:
        """Return schema and name of the rows of a suite; its relation is computed once."""
        if not suite.relation:
            return (_CHANGED if suite.table in self._changed else "main"), suite.table
        if suite.asset not in self.names():
            columns = ", ".join(suite.columns) or "*"
            with self.only_changed(alike(suite.kept_with)):
                self.sql.execute(
                    f"CREATE TABLE {suite.asset} AS SELECT {columns} FROM ({suite.relation})"
                )
        return "main", suite.asset

    def _rows(self, name: str) -> str:
        if not self._changed[name]:
            # With its database: in a temporary view, main would be the schema of temporary views.
            return f"FROM {self._shown}.main.{name} LIMIT 0"
        return f"FROM {relation_of_files(self._changed[name])}"


# Tables that can be queried.
Tables = Snapshot | Catalogue
