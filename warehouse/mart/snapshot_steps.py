"""The steps that make a snapshot: the stored rows of one partition become its tables.

The same code runs on a partition as on a whole record (``Snapshot``): rows that are withheld or
fail a rule are left out, vintages and statements are computed, ids become canonical.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from warehouse.compute import Task
from warehouse.errors import BadTable
from warehouse.mart.awards import add_stated_awards, add_tender_facts
from warehouse.mart.canonical_ids import (
    REWRITTEN,
    show_canonical_registers,
    use_canonical_ids,
)
from warehouse.mart.left_out import write_listed
from warehouse.mart.snapshot import (
    GROUP,
    DerivedTables,
    RowCheck,
    Snapshot,
    all_vintages,
    cast_to_schema,
)
from warehouse.mart.withheld import apply_withheld
from warehouse.record.store import DataFile, Record, parquet_relation
from warehouse.record.tables import (
    ENTITIES,
    IDENTIFIERS,
    RECORD_TABLES,
    RecordTable,
    record_schema,
)
from warehouse.tables import DERIVED
from warehouse.tables.column import identity_of

# Inputs are named after tables: stored rows of the record, and what is withheld.
STORED, WITHHELD = "stored ", "withheld_"
# Later than any load: an input has the rows of the data_version and no others.
_EVERY_LOAD = {table.name: 2**62 for table in RECORD_TABLES}


@dataclass(frozen=True)
class _Stored(Record):
    """The stored rows of one partition in place of a record."""

    files_by_table: Mapping[str, Iterable[str]] = field(default_factory=dict)

    def relation(
        self, name: str, delta: DeltaTable | None = None, files: Iterable[DataFile] | None = None
    ) -> str:
        paths = list(self.files_by_table.get(name, ()))
        schema = next(record_schema(table) for table in RECORD_TABLES if table.name == name)
        return parquet_relation(schema, paths, uniform=True)


def partition_snapshot(task: Task, sql: duckdb.DuckDBPyConnection) -> Snapshot:
    """Return an empty snapshot of the stored rows that a task has as inputs."""
    stored = {
        name.removeprefix(STORED): paths
        for name, paths in task.inputs.items()
        if name.startswith(STORED)
    }
    record = _Stored("", files_by_table=stored)
    return Snapshot(Path(task.folder), record, _EVERY_LOAD, "", sql)


def copy_rows(
    task: Task,
    sql: duckdb.DuckDBPyConnection,
    *,
    tables: tuple[RecordTable, ...],
    checks: tuple[RowCheck, ...] = (),
    secret: bytes = b"",
) -> None:
    """Make the tables of a partition from its stored rows, and list what is left out."""
    withheld = {
        name: pa.concat_tables(map(pq.read_table, paths))
        for name, paths in task.inputs.items()
        if name.startswith(WITHHELD)
    }
    with partition_snapshot(task, sql) as snapshot:
        apply_withheld(snapshot, withheld, secret, tables)
        snapshot.apply_rules(tables)
        # Figures and filings are copied once their ids are known: no check reads them.
        rewritten = [table for table in tables if table in REWRITTEN]
        snapshot.copy_record([table for table in tables if table not in REWRITTEN])
        checks = tuple(check for check in checks if {*check.tables} & {*tables})
        if checks:
            _create_empty(snapshot, [table for table in RECORD_TABLES if table not in tables])
        for check in checks:
            check.leave_out(snapshot)
        if rewritten:
            if task.inputs.get("same_as"):
                snapshot.show("same_as", task.inputs["same_as"])
                use_canonical_ids(snapshot)
            snapshot.copy_record(rewritten)
        write_listed(sql, snapshot.folder)


def _create_empty(snapshot: Snapshot, tables: Iterable[RecordTable]) -> None:
    """Create the tables of other subjects, without rows: a check may name any table."""
    for table in tables:
        columns = "*"
        if table in (ENTITIES, IDENTIFIERS):
            columns = "*, NULL::VARCHAR AS alias, NULL::VARCHAR AS match_method"
        vintages = all_vintages(table, snapshot.stored(table), 0)
        snapshot.sql.execute(f"CREATE VIEW {table.name} AS SELECT {columns} FROM ({vintages})")


def derive_tables(
    task: Task,
    sql: duckdb.DuckDBPyConnection,
    *,
    derive: Callable[[Snapshot], DerivedTables],
    makes: tuple[str, ...],
) -> None:
    """Make derived tables of a partition from the tables that are its inputs."""
    with _shown(task, sql) as snapshot:
        tables = derive(snapshot)
        if set(tables) != set(makes):
            raise BadTable(
                f"a derivation of {', '.join(makes)} gave {', '.join(tables)}; "
                "declare what it makes"
            )
        for name in makes:
            rows = cast_to_schema(name, DERIVED[name], tables[name])
            # The same rows must be the same bytes, however they were made.
            order = [(column, "ascending") for column in _order(name)]
            pq.write_table(rows.sort_by(order), snapshot.path(name), row_group_size=GROUP)


def _order(name: str) -> list[str]:
    columns = list(DERIVED[name].model_fields)
    identity = identity_of(DERIVED[name])
    return [*identity, *(column for column in columns if column not in identity)]


def make_stated_awards(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Read the awards in the releases of a partition."""
    with _shown(task, sql) as snapshot:
        add_stated_awards(snapshot)


def make_tender_facts(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Make the vintages of awards and of tender values of a partition."""
    with _shown(task, sql) as snapshot:
        add_tender_facts(snapshot)


def _shown(task: Task, sql: duckdb.DuckDBPyConnection) -> Snapshot:
    """Return a snapshot that shows the inputs of a task; registers have canonical ids."""
    snapshot = Snapshot(Path(task.folder), _Stored(""), _EVERY_LOAD, "", sql)
    for name, paths in task.inputs.items():
        snapshot.show(name, paths)
    if "same_as" in task.inputs:
        show_canonical_registers(snapshot)
    return snapshot
