"""The tables of a candidate build as views of one DuckDB file, which Great Expectations queries.

``main`` has every table as a whole. Of a table that is kept in partitions, ``changed`` has the rows
of those that must be audited again. The file exists during an audit only: it lists names that must
not be served.
"""

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa

from quality.reuse import alike
from quality.rules import Suite
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import sql_text

_FILE, _FOLDER = "audit.duckdb", "audit-"
_CHANGED = "changed"


class Catalogue:
    """The DuckDB file of one audit; use it in a ``with``.

    ``changed`` are, by table, the files of the partitions that are audited; a table without an
    entry is audited as a whole.
    """

    def __init__(self, snapshot: Snapshot, changed: Mapping[str, Sequence[str]]) -> None:
        self.data_version = snapshot.data_version
        self._snapshot = snapshot
        self._changed = changed
        self._delete()
        # A path of its own: DuckDB may still know a file that was deleted by its path.
        self.path = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=snapshot.folder), _FILE)
        self.sql = duckdb.connect(self.path)
        self.sql.execute("SET TimeZone = 'UTC'")
        self.sql.execute("SET GLOBAL temp_directory = ?", [str(snapshot.folder / "spill")])
        self.sql.execute("SET GLOBAL memory_limit = ?", [f"{snapshot.memory_mb}MB"])
        # Every rule reads the same files again: what is in them is read once.
        self.sql.execute("SET GLOBAL parquet_metadata_cache = TRUE")
        self.sql.execute(f"CREATE MACRO this_version() AS {sql_text(self.data_version)}")
        self.sql.execute(f"CREATE SCHEMA {_CHANGED}")
        self.show_all()
        for name, files in changed.items():
            self.sql.execute(f"CREATE VIEW {_CHANGED}.{name} AS {_rows(name, files)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.sql.close()
        self._delete()

    def read(self, statement: str) -> pa.Table:
        """Run a query over the tables."""
        return self.sql.sql(statement).to_arrow_table()

    def names(self) -> set[str]:
        """Return the names of all tables and views."""
        return {name for (name,) in self.sql.execute("SHOW TABLES").fetchall()}

    def show_all(self) -> None:
        """Show every table of the snapshot that is not shown yet."""
        theirs, ours = self._snapshot.sql, self.names()
        tables = theirs.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal")
        for (name,) in tables.fetchall():
            if name not in ours:
                self.create(name, theirs.sql(f"FROM {name}").to_arrow_table())
        views = theirs.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal")
        missing = {name: sql for name, sql in views.fetchall() if name not in ours}
        # A view may read others: those that nothing is missing for come first.
        while missing:
            done = [name for name, sql in missing.items() if self._created(sql)]
            if not done:
                self.sql.execute(next(iter(missing.values())))
            missing = {name: sql for name, sql in missing.items() if name not in done}

    def create(self, name: str, rows: pa.Table) -> None:
        """Create a table."""
        self.sql.register("new_rows", rows)
        self.sql.execute(f"CREATE TABLE {name} AS FROM new_rows")
        self.sql.unregister("new_rows")

    def create_missing(self, name: str, rows: Callable[[], pa.Table]) -> None:
        """Create a table unless there is one of that name."""
        if name not in self.names():
            self.create(name, rows())

    @contextmanager
    def only_changed(self, tables: Collection[str] | None = None) -> Iterator[None]:
        """Let the names of tables mean, for a while, the partitions that are audited."""
        names = [name for name in self._changed if tables is None or name in tables]
        for name in names:
            rows = _rows(name, self._changed[name])
            self.sql.execute(f"CREATE TEMP VIEW {name} AS {rows}")
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

    def _created(self, statement: str) -> bool:
        try:
            self.sql.execute(statement)
        except duckdb.CatalogException:
            return False
        return True

    def _delete(self) -> None:
        for folder in self._snapshot.folder.glob(f"{_FOLDER}*"):
            shutil.rmtree(folder)


# Tables that can be queried.
Tables = Snapshot | Catalogue


def _rows(name: str, files: Sequence[str]) -> str:
    if not files:
        # With its database: in a temporary view, main would be the schema of temporary views.
        return f"FROM {Path(_FILE).stem}.main.{name} LIMIT 0"
    return f"FROM read_parquet([{', '.join(map(sql_text, files))}])"
