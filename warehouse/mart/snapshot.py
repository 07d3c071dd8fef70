"""The tables of a build while it is made: each a Parquet file, read in SQL by its name.

First every vintage of every table of the record is staged; what is derived from those is
staged beside them. The audit, the mart and the exports all read what is staged, so that none
of them can see something else than the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from sqlmodel import SQLModel

from warehouse.errors import BadTable
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES, RecordTable, arrow_schema, record_schema
from warehouse.tables import DERIVED

# Rows of a group: what a reader of the exported file skips or reads at once.
GROUP = 100_000
# The order of each table's bulk file. Sorted once, here: the exports only read, and the mart,
# whose orders begin alike, sorts what is nearly sorted.
ORDERS: Mapping[str, tuple[str, ...]] = {
    "fundamentals": ("service_id", "period_end", "line_item", "vintage", "row_id"),
    "tender_releases": ("country", "released_on", "ocid", "release_id", "vintage", "row_id"),
    "macro_series": ("series", "country_iso3", "frequency", "period_end", "vintage", "row_id"),
    "macro_annual": ("indicator", "country_iso3", "period_end", "vintage", "row_id"),
}
_ORDERED_BY = "ordered_by"


@dataclass
class Snapshot:
    """A folder of staged tables and an engine in which each is a view of its name."""

    folder: Path
    record: Record
    loads: Mapping[str, int]
    data_version: str
    sql: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        spill = str(self.folder / "spill")
        self.sql = duckdb.connect(config={"temp_directory": spill})
        self.sql.execute("SET GLOBAL TimeZone = 'UTC'")
        version = self.data_version.replace("'", "''")
        self.sql.execute(f"CREATE MACRO this_version() AS '{version}'")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sql.close()

    def path(self, name: str) -> Path:
        """Give the file of a staged table."""
        return self.folder / f"{name}.parquet"

    def copy_record(self) -> None:
        """Stage every vintage of the record, as the snapshot sees it."""
        for table in RECORD_TABLES:
            relation = self.record.relation(table.name)
            loads = self.loads[table.name]
            self.write(table.name, all_vintages(table, relation, loads), ORDERS.get(table.name, ()))

    def write(self, name: str, statement: str, order: Sequence[str] = ()) -> None:
        """Stage what a statement over the staged tables gives; the file says its own order."""
        place = str(self.path(name)).replace("'", "''")
        named = ", ".join(order)
        rows = f"SELECT * FROM ({statement}) ORDER BY {named}" if order else statement
        self.sql.execute(
            f"COPY ({rows}) TO '{place}' (FORMAT parquet, COMPRESSION lz4_raw, "
            f"ROW_GROUP_SIZE {GROUP}, "
            f"KV_METADATA {{{_ORDERED_BY}: '{named}'}})"
        )
        self._show(name)

    def order(self, name: str) -> tuple[str, ...]:
        """Name the columns by which a staged table lies in order; none where it says nothing."""
        said = pq.read_metadata(self.path(name)).metadata or {}
        named = said.get(_ORDERED_BY.encode(), b"").decode()
        return tuple(named.split(", ")) if named else ()

    def add(self, tables: Mapping[str, pa.Table]) -> None:
        """Stage derived tables; one of another shape than it is described with is refused."""
        for name, rows in tables.items():
            if name not in DERIVED:
                raise BadTable(f"{name!r} is no derived table; one of {', '.join(DERIVED)}")
            pq.write_table(
                cast_to_schema(name, DERIVED[name], rows), self.path(name), row_group_size=GROUP
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


def all_vintages(table: RecordTable, relation: str, load_seq: int) -> str:
    """Write the query for every vintage that had been loaded by ``load_seq``.

    ``latest`` is true for the last vintage of a figure unless that was a withdrawal.
    ``row_id`` is the same as long as the figure, the publication and its day are; a place in
    a document has one ``provenance_id``.
    """
    columns = record_schema(table).names
    vintages = vintages_query(table, relation, vintages="all", load_seq=load_seq, columns=columns)
    return f"""
SELECT *,
    vintage = max(vintage) OVER (PARTITION BY figure, figure_check) AND NOT withdrawn AS latest,
    md5(concat_ws('/', figure, figure_check, sighting, available_at)) AS row_id,
    md5(concat_ws('#', document, source_ref)) AS provenance_id
FROM ({vintages})
""".strip()


def cast_to_schema(name: str, row: type[SQLModel], rows: pa.Table) -> pa.Table:
    """Give rows typed as they are described; say what does not fit."""
    schema = arrow_schema(row)
    try:
        return rows.select(schema.names).cast(schema)
    except (KeyError, ValueError, pa.ArrowException) as error:
        raise BadTable(f"{name}: does not have the columns it is described with: {error}") from None


DerivedTables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Derivation:
    """How some of the derived tables are made from what is staged before them.

    With another ``version`` an unchanged record is published anew.
    """

    version: str
    derive: Callable[[Snapshot], DerivedTables]
