"""The snapshot a build is made from: Parquet tables, each a view of a DuckDB connection.

First every vintage of every table of the record is copied, and every figure of ``fundamentals`` as
every publication states it (``statements``); derived tables are added to them.
The audit, the mart and the exports all read the snapshot, so that they always see the same rows.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from sqlmodel import SQLModel

from warehouse.methodology.line_items import MAIN_LINES
from warehouse.publish.implausible import STATED_AMOUNTS, stated_amounts, with_implausible
from warehouse.publish.left_out import (
    PROVENANCE_ID,
    ROW_ID,
    STORED_ROW,
    create_left_out,
    list_rows,
    remaining,
    summary,
)
from warehouse.publish.manifest import BuildFile
from warehouse.publish.rebasing import with_rebasings
from warehouse.record.as_of import standing_rows, statements_query, vintages_query
from warehouse.record.relations import relation_of_files, sql_text
from warehouse.record.rules import rules_of
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    RECORD_TABLES,
    SUBJECTS,
    TENDER_RELEASES,
    RecordTable,
    arrow_schema,
    record_schema,
)
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import BadTable
from warehouse.shared.files import sha256_of_file
from warehouse.shared.settings import usable_memory_mb
from warehouse.tables.derived import DERIVED

# Rows in a row group: the unit that a reader of a Parquet file skips or reads.
GROUP = 100_000
# The sort order of each table, and of its bulk file: files and mart, whose orders begin alike, sort
# what is nearly sorted.
ORDERS: Mapping[str, tuple[str, ...]] = {
    "fundamentals": ("service_id", "period_end", "line_item", "vintage", "row_id"),
    "elements": ("service_id", "element", "period_end", "vintage", "row_id"),
    "filings": ("service_id", "received_on", "document_id", "vintage", "row_id"),
    "tender_releases": ("country", "released_on", "ocid", "release_id", "vintage", "row_id"),
    "macro_series": ("series", "country_iso3", "frequency", "period_end", "vintage", "row_id"),
    "macro_annual": ("indicator", "country_iso3", "period_end", "vintage", "row_id"),
    # Read by no file in this order; but the same rows must be the same bytes.
    "tender_parties": ("figure", "figure_check", "vintage"),
    "entities": ("figure", "figure_check", "vintage"),
    "identifiers": ("figure", "figure_check", "vintage"),
    "statements": ("service_id", "figure", "figure_check", "publication", "provenance_id"),
    "newest_statements": ("service_id", "period_end", "line_item", "available_at", "row_id"),
    "derived_figures": ("service_id", "period_end", "line_item", "available_at", "row_id"),
}
# What a publication states of a figure: the same in every row are the columns of its vintages.
STATEMENTS = "statements"
# The lines of the newest publication of each statement of a period, by day.
NEWEST_STATEMENTS = "newest_statements"
SAME_AS = "same_as"
_STATEMENT_COLUMNS = (
    *("service_id", "figure", "figure_check", "publication", "available_at", "withdrawn"),
    *("value_reported", "element", "measuring_unit_date", "conflicts_with", "apparent_restatement"),
    *("source", "source_ref", "document", "license_class", "method", "observed_at"),
    *("extraction_confidence", "available_at_evidence", "document_id", "form", "document_url"),
    "accepted_at",
)
# Those that are the same in every vintage, and those of which a row has its own.
_OF_THE_FIGURE = ("service_id", "figure", "figure_check", "available_at", "withdrawn", "document")
_SQL = sql_file(
    __name__,
    "snapshot",
    fragments={"provenance": PROVENANCE_ID},
)
_NEWEST = sql_file(__name__, "newest_statements")


@dataclass
class Snapshot:
    """A folder of Parquet tables and a DuckDB connection in which each is a view.

    ``loads`` is the last load of each record table that belongs to the ``data_version``; rows
    loaded later are not in the snapshot. A table may also consist of files elsewhere, one for each
    partition (``show``); ``files`` are those that were shown of a build's partitions, ``results``
    those of their audit, by table and partition.
    """

    folder: Path
    record: Record
    loads: Mapping[str, int]
    data_version: str
    connection: duckdb.DuckDBPyConnection | None = None
    # What DuckDB may take before it spills to disk, if it is opened here.
    memory_mb: int = field(default_factory=usable_memory_mb, kw_only=True)
    # Without those of the whole country, releases are copied with their amounts and not marked.
    has_all_amounts: bool = True
    files: tuple[BuildFile, ...] = ()
    results: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    sql: duckdb.DuckDBPyConnection = field(init=False)
    _database: str = field(init=False)
    _replaced: dict[RecordTable, str] = field(init=False, default_factory=dict)
    # Relations over ``{rows}`` by which remaining rows are read, with other ids and hashes. The row
    # id of a row with other hashes is in its column ``stored_row_id``.
    rewritten: dict[RecordTable, str] = field(init=False, default_factory=dict)
    _marked: dict[RecordTable, str] = field(init=False, default_factory=dict)
    _shown: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Inside the snapshot, so that what a killed publisher spilled is deleted with the rest.
        spill = str(self.folder / "spill")
        limits: dict[str, Any] = {
            "temp_directory": spill,
            "memory_limit": f"{self.memory_mb}MB",
        }
        self.sql = self.connection or duckdb.connect(config=limits)
        self.sql.execute("SET GLOBAL TimeZone = 'UTC'")
        (self._database,) = self.sql.execute("SELECT current_catalog()").fetchone() or ("memory",)
        self.record.let_read(self.sql)
        # For the SQL of served tables, which is written before there is a data_version.
        self.sql.execute(f"CREATE MACRO this_version() AS {sql_text(self.data_version)}")
        create_left_out(self.sql)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.connection is None:
            self.sql.close()

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection of its own that sees the tables: threads can query in parallel."""
        with closing(self.sql.cursor()) as cursor:
            cursor.execute(f"USE {self._database}")
            yield cursor

    def path(self, name: str) -> Path:
        """Return the file of a table that was written here."""
        return self.folder / f"{name}.parquet"

    def names(self) -> list[str]:
        """Return the names of all tables that there are."""
        return sorted({*self._shown, *(path.stem for path in self.folder.glob("*.parquet"))})

    def paths(self, name: str) -> tuple[str, ...]:
        """Return the files of a table: its own, or those that are shown; none if it is missing."""
        if name in self._shown:
            return self._shown[name]
        return (str(self.path(name)),) if self.path(name).exists() else ()

    def show(self, name: str, paths: Iterable[str]) -> None:
        """Show Parquet files as a table; there must be one at least."""
        self._shown[name] = tuple(paths)
        self.create_view(name)

    def content(self, name: str) -> str:
        """Return a hash of the files of a table, in the order of their partitions."""
        known = [file.sha256 for file in self.files if file.table == name]
        # What was written or shown since then is not among the files of steps.
        is_known = bool(known) and name in self._shown
        hashes = known if is_known else [sha256_of_file(path) for path in self.paths(name)]
        # Their rows are shown under the ids of same_as.
        if name in (ENTITIES.name, IDENTIFIERS.name):
            hashes.append(self.content(SAME_AS))
        return hashlib.sha256(" ".join(hashes).encode()).hexdigest()

    def relation(self, name: str) -> str:
        """Return the SQL relation of the files of a table."""
        return relation_of_files(self._shown.get(name, (str(self.path(name)),)))

    def copy_record(self, tables: Sequence[RecordTable] = RECORD_TABLES) -> None:
        """Write every vintage of the given record tables, and the statements of fundamentals."""
        for table in tables:
            load_seq, is_rewritten = self.loads[table.name], table in self.rewritten
            rows = with_rebasings(self.sql, table, self.remaining(table))
            if table == FUNDAMENTALS:
                # Two queries name these rows six times each: planning that costs more than they do.
                fill = {"rows": rows, "filings": self.remaining(FILINGS)}
                _SQL.run(self.sql, "remaining_rows", fill=fill)
                rows = "remaining_rows"
                self.write(STATEMENTS, all_statements(rows, load_seq), ORDERS[STATEMENTS])
            vintages = all_vintages(table, rows, load_seq, is_rewritten)
            if table == FUNDAMENTALS:
                for name in ("last_digit", "half_unit", "split_ratios"):
                    _SQL.run(self.sql, name)
                fill = {"vintages": vintages, "statements": STATEMENTS}
                vintages = _SQL.statement("restatement_kinds", **fill)
            if table == TENDER_RELEASES and self.has_all_amounts:
                vintages = with_implausible(self.sql, rows, vintages)
            elif table == TENDER_RELEASES:
                pq.write_table(stated_amounts(self.sql, rows), self.path(STATED_AMOUNTS))
            self.write(table.name, vintages, ORDERS.get(table.name, ()))
            if table == FUNDAMENTALS:
                self.write(NEWEST_STATEMENTS, newest_statements(), ORDERS[NEWEST_STATEMENTS])

    def remaining(self, table: RecordTable) -> str:
        """Return the relation of the stored rows that are not left out, under canonical ids."""
        rows = remaining(self.sql, table, self.stored(table))
        for relation in (self.rewritten.get(table), self._marked.get(table)):
            rows = rows if relation is None else relation.replace("{rows}", rows)
        return rows

    def stored(self, table: RecordTable) -> str:
        """Return the relation of all rows of a table that belong to the data_version."""
        relation = self.record.relation(table.name)
        loaded = f"load_seq <= {int(self.loads[table.name])}"
        stored = f"(SELECT * FROM {relation} WHERE {loaded})"
        # What was retracted neither fails a rule nor is withheld: it does not count at all.
        if self.rows(f"SELECT 1 FROM {relation} WHERE retracted LIMIT 1"):
            names = record_schema(table).names
            stored = f"({standing_rows(relation, names, loaded)})"
        replaced = self._replaced.get(table)
        return stored if replaced is None else replaced.replace("{stored}", stored)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows, on a cursor of its own."""
        with self.cursor() as cursor:
            return cursor.execute(statement).fetchall()

    def replace_rows(self, table: RecordTable, relation: str) -> None:
        """Read the stored rows of a table through a relation over ``{stored}``.

        It may replace values, but not the hashes of a row; call it before the record is copied.
        A second call reads through both.
        """
        self._replaced[table] = relation.replace("{stored}", self._replaced.get(table, "{stored}"))

    def leave_out(self, table: RecordTable, rules: Mapping[str, str]) -> int:
        """Leave rows out as if they had never been loaded; return how many are new.

        ``rules`` maps the words of each rule to the SQL condition of the rows it leaves out. A
        condition is about one stored row, ``stored``: all its columns, ``row_id`` and
        ``provenance_id``. A row that meets several is counted for the first. A table that has been
        copied is computed again, so that an older reading may appear, which may have to be left
        out as well: repeat until nothing is new. Derive nothing before that.
        """
        left_out = list_rows(self.sql, table, self.stored(table), rules)
        if left_out and self.path(table.name).exists():
            self.copy_record([table])
        return left_out

    def mark_rows(self, table: RecordTable, marks: pa.Table) -> None:
        """Replace columns of remaining rows: ``marks`` has them, and what identifies the rows.

        Call it when no more rows will be left out, and their ids are canonical. A table that has
        been copied is copied again.
        """
        marked = f"marked_{table.name}"
        self.sql.register("new_marks", marks)
        # No temporary table: other connections read it.
        self.sql.execute(f"CREATE OR REPLACE TABLE {marked} AS SELECT DISTINCT * FROM new_marks")
        self.sql.unregister("new_marks")
        columns = ", ".join(
            f"CASE WHEN {marked}.sighting IS NULL THEN stored.{name} ELSE {marked}.{name} END "
            f"AS {name}"
            for name in marks.column_names
            if name not in STORED_ROW
        )
        same_row = " AND ".join(f"{marked}.{name} = stored.{name}" for name in STORED_ROW)
        self._marked[table] = (
            f"(SELECT stored.* REPLACE ({columns}) FROM {{rows}} AS stored "
            f"LEFT JOIN {marked} ON {same_row})"
        )
        if self.path(table.name).exists():
            self.copy_record([table])

    def apply_rules(self, tables: Sequence[RecordTable] = RECORD_TABLES) -> None:
        """Leave out every stored row that fails a rule of the rule book."""
        for table in tables:
            rules = [rule for rule in rules_of(table) if "snapshot" in rule.stages]
            self.leave_out(table, {rule.words: rule.fails for rule in rules})

    def left_out(self) -> pa.Table:
        """Return what was left out, counted by table, rule and source (``LeftOut`` rows)."""
        tables = {table.name: table for table in RECORD_TABLES}
        return summary(self.sql, lambda name: self.stored(tables[name]))

    def write(self, name: str, statement: str, order: Sequence[str] = ()) -> None:
        """Write the result of a statement as a table."""
        path = sql_text(str(self.path(name)))
        rows = f"SELECT * FROM ({statement}) ORDER BY {', '.join(order)}" if order else statement
        self.sql.execute(
            f"COPY ({rows}) TO {path} (FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE {GROUP})"
        )
        self._shown.pop(name, None)
        self.create_view(name)

    def add(self, tables: Mapping[str, pa.Table]) -> None:
        """Add derived tables; raise ``BadTable`` for one that does not fit its declared schema."""
        for name, rows in tables.items():
            if name not in DERIVED:
                raise BadTable(f"{name!r} is not a derived table; use one of {', '.join(DERIVED)}")
            pq.write_table(
                cast_to_schema(name, DERIVED[name], rows), self.path(name), row_group_size=GROUP
            )
            self._shown.pop(name, None)
            self.create_view(name)

    def read(self, statement: str) -> pa.Table:
        """Run a query over the tables."""
        with self.cursor() as cursor:
            return cursor.sql(statement).to_arrow_table()

    def create_view(self, name: str) -> None:
        """Make the files of a table readable by its name."""
        # Registers gain these once ids are canonical.
        joined = name in (ENTITIES.name, IDENTIFIERS.name)
        more = ", NULL::VARCHAR AS alias, NULL::VARCHAR AS match_method" if joined else ""
        self.sql.execute(
            f"CREATE OR REPLACE VIEW {name} AS SELECT *{more} FROM {self.relation(name)}"
        )


def all_vintages(
    table: RecordTable, relation: str, load_seq: int, is_rewritten: bool = False
) -> str:
    """Return the query for every vintage that had been loaded by ``load_seq``.

    ``latest`` is true for the last vintage of a figure unless that was a withdrawal.
    ``row_id`` stays the same as long as figure, publication and its day do; ``provenance_id``
    identifies a position in a document.
    """
    columns, row_id = record_schema(table).names, ROW_ID
    read = [*columns, "stored_row_id"] if is_rewritten else columns
    if is_rewritten:
        row_id = f"coalesce(stored_row_id, {ROW_ID})"
    vintages = vintages_query(table, relation, vintages="all", load_seq=load_seq, columns=read)
    return _SQL.statement(
        "all_vintages", columns=", ".join(columns), row_key=row_id, vintages=vintages
    )


def all_statements(relation: str, load_seq: int) -> str:
    """Return the query for every figure of ``fundamentals`` as every publication states it.

    Comparative columns that repeat a value are no vintages, but they are statements.
    """
    statements = statements_query(
        FUNDAMENTALS, relation, load_seq=load_seq, columns=_STATEMENT_COLUMNS
    )
    return _SQL.statement("all_statements", statements=statements)


def newest_statements() -> str:
    """Return the query for the lines of the newest publication of each statement, by day.

    A row is one of ``fundamentals``, with what its publication states of it.
    """
    stated = [name for name in _STATEMENT_COLUMNS if name not in _OF_THE_FIGURE]
    replaced = ", ".join(f"shown.{name} AS {name}" for name in (*stated, "provenance_id"))
    main_lines = ", ".join(sql_text(line) for line in MAIN_LINES.values())
    return _NEWEST.statement(NEWEST_STATEMENTS, main_lines=main_lines, replaced_columns=replaced)


def cast_to_schema(name: str, row: type[SQLModel], rows: pa.Table) -> pa.Table:
    """Return rows cast to the declared schema; raise ``BadTable`` with what does not fit."""
    schema = arrow_schema(row)
    try:
        return rows.select(schema.names).cast(schema)
    except (KeyError, ValueError, pa.ArrowException) as error:
        raise BadTable(f"{name}: does not fit its declared schema: {error}") from None


# One organisation, one id: every ``service_id`` of a snapshot is rewritten to the canonical one.
#
# ``same_as`` says which ids are joined, and with which of them an organisation is named. From here
# on every row has the canonical id, as if it had been loaded under it; the other ids are aliases,
# which readers look up in ``same_as``. The record keeps the ids as they were minted.
#
# If an organisation has the same figure under two of its ids, their publications become vintages of
# one figure, in the order in which they were known.

# The tables whose rows are rewritten, and merged where two ids have the same figure or filing.
REWRITTEN = SUBJECTS["issuers"]
_CANONICAL = sql_file(
    __name__,
    "canonical_ids",
    fragments={
        "row_id": ROW_ID.replace("figure", "stored.figure").replace("sighting", "stored.sighting"),
    },
)


def use_canonical_ids(snapshot: Snapshot) -> None:
    """Rewrite the ids of a snapshot by its ``same_as``.

    Call it when no more rows will be left out, and before they are copied.
    """
    if not show_canonical_registers(snapshot):
        return
    for table in REWRITTEN:
        merged = f"merged_{table.name}"
        identity = ", ".join(name for name in table.identity if name != "service_id")
        fill = {"rows": snapshot.remaining(table), "merged": merged, "identity": identity}
        _CANONICAL.run(snapshot.sql, "merged_figures", fill=fill)
        rewritten = _CANONICAL.statement("rewritten", rows="{rows}", merged=merged)
        snapshot.rewritten[table] = f"({rewritten})"


def show_canonical_registers(snapshot: Snapshot) -> bool:
    """Show registers under canonical ids, if the snapshot has them; return whether ids differ."""
    if not snapshot.sql.execute("FROM same_as LIMIT 1").fetchall():
        return False
    for table in (ENTITIES, IDENTIFIERS):
        if snapshot.paths(table.name):
            # ``alias`` is the id under which a row was stored.
            register = snapshot.relation(table.name)
            rows = _CANONICAL.statement("canonical_register", register=register)
            snapshot.sql.execute(f"CREATE OR REPLACE VIEW {table.name} AS {rows}")
    return True


@dataclass(frozen=True)
class RowCheck:
    """A check that leaves rows out of a snapshot, or marks them, before anything is derived.

    ``version`` is made from its content: a stricter check publishes an unchanged record anew.
    ``tables`` are those of which it leaves rows out. It sees one partition at a time, and figures
    and filings under their canonical ids, before they are copied.
    """

    version: str
    leave_out: Callable[[Snapshot], None]
    tables: Sequence[RecordTable] = RECORD_TABLES


# Derived tables by name: those that ``warehouse.tables.derived`` declares, with their rows.
DerivedTables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Derivation:
    """A function that computes derived tables from a snapshot.

    Changing ``version`` forces a rebuild of an unchanged record. With a ``subject`` it is computed
    for each of its partitions by itself, and must be a function of a module; without one, from the
    whole snapshot, every time. ``reads`` are the tables it reads: those of its subject by
    partition, those of registers whole. ``extracts`` are tables of which it reads only some rows:
    the SQL of these rows, over the whole snapshot, with the ``partition`` that reads them.
    """

    version: str
    derive: Callable[[Snapshot], DerivedTables]
    makes: tuple[str, ...] = ()
    subject: str | None = None
    reads: tuple[str, ...] = ()
    extracts: Mapping[str, str] = field(default_factory=dict)
