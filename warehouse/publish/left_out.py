"""Rows of the record that a snapshot leaves out, as if they had never been loaded.

A stored row is one reading of a figure in a publication. Leaving one out can bring an older
reading back, renumber the vintages and end other intervals, so that nothing is patched: the
stored rows are filtered, and the vintages are computed from what remains.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.record.relations import relation_of_files, sql_text
from warehouse.record.tables import RecordTable, arrow_schema
from warehouse.shared.data_files import sql_file
from warehouse.tables.derived import LeftOut

# What identifies a stored row; a sighting may be stored several times.
STORED_ROW = ("sighting", "figure_check", "load_seq", "observed_at", "content")
_SAME_ROW = " AND ".join(f"gone.{name} = stored.{name}" for name in STORED_ROW)
_ROWS = "left_out_rows"
# Rows that stay without what identifies a withheld party; they are counted like the others.
REPLACED = "replaced_rows"
# Both lists, as they are called.
LISTED = (_ROWS, REPLACED)
_COLUMNS = ("rule", "source", "source_ref", "row_id", "figure", *STORED_ROW)

# As they are called in a snapshot. row_id leaves out the content: a corrected reading of a
# publication keeps its id.
ROW_ID = "md5(concat_ws('/', figure, figure_check, sighting, available_at))"
PROVENANCE_ID = "md5(concat_ws('#', document, source_ref))"
ROW_IDS = f"{ROW_ID} AS row_id, {PROVENANCE_ID} AS provenance_id"
_SQL = sql_file(
    __name__,
    "left_out",
    fragments={"same_row": _SAME_ROW},
)


def is_in(relation: str) -> str:
    """Return the condition of the stored rows that are in a relation with their ``STORED_ROW``."""
    return f"EXISTS (FROM {relation} AS gone WHERE {_SAME_ROW})"


def create_left_out(sql: duckdb.DuckDBPyConnection) -> None:
    """Create both lists, without rows."""
    _SQL.run(sql, "left_out_rows")
    _SQL.run(sql, "replaced_rows")


def remaining(sql: duckdb.DuckDBPyConnection, table: RecordTable, stored: str) -> str:
    """Return the relation of the stored rows that are not left out; as it was if none is."""
    if not _count(sql, table):
        return stored
    return f"({_SQL.statement('remaining', stored=stored, table_name=table.name)})"


def list_rows(
    sql: duckdb.DuckDBPyConnection, table: RecordTable, stored: str, rules: Mapping[str, str]
) -> int:
    """List the rows of ``stored`` that meet a condition of ``rules``; return how many are new.

    A withdrawal takes back what was shown before it: if nothing of that remains, it is left out
    too, under the same rule.
    """
    stored = f"(SELECT *, {ROW_IDS} FROM {remaining(sql, table, stored)})"
    cases = " ".join(f"WHEN {condition} THEN {sql_text(rule)}" for rule, condition in rules.items())
    failing = _SQL.statement("failing", stored=stored, cases=cases)
    # The usual case first, which reads only the columns that the conditions name.
    if not sql.execute(f"SELECT 1 FROM ({failing}) LIMIT 1").fetchall():
        return 0
    before = _count(sql, table)
    _insert(sql, table, failing)
    left = remaining(sql, table, stored)
    withdrawals = _SQL.statement("withdrawals_of_nothing", stored=left, table_name=table.name)
    _insert(sql, table, withdrawals)
    return _count(sql, table) - before


def _insert(sql: duckdb.DuckDBPyConnection, table: RecordTable, rows: str) -> None:
    columns = ", ".join(_COLUMNS)
    sql.execute(
        f"INSERT INTO {_ROWS} (table_name, {columns}) "
        f"SELECT {sql_text(table.name)}, {columns} FROM ({rows})"
    )


def _count(sql: duckdb.DuckDBPyConnection, table: RecordTable) -> int:
    counted = sql.execute(f"SELECT count(*) FROM {_ROWS} WHERE table_name = ?", [table.name])
    return int(counted.fetchall()[0][0])


def listed_rows(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return every row that is left out, or stays without the name of a withheld party."""
    return sql.sql(f"FROM {_ROWS} UNION ALL FROM {REPLACED}").to_arrow_table()


def write_listed(sql: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Write the lists of a partition as files that ``read_listed`` reads."""
    for name in LISTED:
        path = sql_text(str(folder / f"{name}.parquet"))
        sql.execute(f"COPY (FROM {name} ORDER BY ALL) TO {path} (FORMAT parquet)")


def read_listed(sql: duckdb.DuckDBPyConnection, name: str, paths: Sequence[str]) -> None:
    """Add the rows that partitions listed to a list of ``LISTED``."""
    if paths:
        sql.execute(f"INSERT INTO {name} BY NAME FROM {relation_of_files(paths)}")


def summary(sql: duckdb.DuckDBPyConnection, stored: Callable[[str], str]) -> pa.Table:
    """Return what is left out by table, rule and source: how many rows, and the first of them.

    ``stored`` returns the relation of a table; it is only read if something of it is left out.
    """
    listed = f"(FROM {_ROWS} UNION ALL FROM {REPLACED})"
    statement = f"SELECT DISTINCT table_name FROM {listed}"
    names = [name for (name,) in sql.execute(statement).fetchall()]
    if not names:
        return arrow_schema(LeftOut).empty_table()
    totals = " UNION ALL ".join(
        f"SELECT {sql_text(name)} AS table_name, count(*) AS rows_stored FROM {stored(name)}"
        for name in names
    )
    return _SQL.query(sql, "summary", fill={"totals": totals}).to_arrow_table()


def figures_left_out(sql: duckdb.DuckDBPyConnection, table: str) -> dict[str, int]:
    """Return by source how many figures of a copied table have no latest row any more."""
    gone = f"FROM {_ROWS} WHERE table_name = {sql_text(table)} LIMIT 1"
    if not sql.execute(gone).fetchall():
        return {}
    counts = _SQL.run(sql, "figures_left_out", fill={"table_name": table})
    return dict(counts.fetchall())
