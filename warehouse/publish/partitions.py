"""Into which partitions the stored rows fall, and a fingerprint of the rows of each.

Partitions do not look at each other: all rows of a figure, of a series, of a contracting process
or of an organisation are in one. Which partition a row is in follows from what identifies it, so
that every reading of a figure is in the same:

- registers (entities, identifiers): one
- issuers (fundamentals, filings): the bucket of a hash of the organisation's canonical id
- tenders (releases, parties): the country of the portal, and in which load the process came first;
  of a large load, the bucket of a hash of the ocid
- macro (annual figures, series): the source

What compares the processes of a country reads all of its partitions (``COUNTRIES``).
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.publish.file_labels import CELLS, bucket_count, bucket_sql, cell_sql
from warehouse.publish.steps import Input
from warehouse.record.store import Record, sql_text
from warehouse.record.tables import (
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
    record_schema,
)
from warehouse.shared.data_files import sql_file

REGISTERS, ISSUERS, TENDERS, MACRO = "registers", "issuers", "tenders", "macro"
# Tenders again, all partitions of a country together.
COUNTRIES = "countries"
SUBJECTS: Mapping[str, tuple[RecordTable, ...]] = {
    REGISTERS: (ENTITIES, IDENTIFIERS),
    ISSUERS: (FUNDAMENTALS, FILINGS),
    TENDERS: (TENDER_RELEASES, TENDER_PARTIES),
    MACRO: (MACRO_ANNUAL, MACRO_SERIES),
}
# The columns that decide in which partition a row is, if the source alone does not.
_NAMED_BY = {ISSUERS: "service_id", TENDERS: "source, ocid"}
# The only partition of a subject that has one, or of one without any rows.
WHOLE = "all"
# Stored rows in a bucket of organisations, about. A bucket costs a third of a second whatever is in
# it: smaller ones make a full publication slow.
BUCKET_ROWS = 50_000
# Processes in a partition of tenders, about: ten to forty thousand rows.
PARTITION_PROCESSES = 2_048
# The input of a partition without rows.
_NO_ROWS = "no_rows.parquet"
_SQL = sql_file(
    __name__,
    "partitions",
    fragments={
        "size": str(PARTITION_PROCESSES),
        "most": str(CELLS),
        "cell": cell_sql("named.ocid"),
    },
)


def issuer_buckets(rows: int, before: int | None = None) -> int:
    """Return the number of buckets for so many stored rows of figures.

    Another number puts every organisation into another bucket, so the number of the build
    ``before`` stays unless buckets have more than four times the rows they should, or less than a
    quarter.
    """
    wanted = bucket_count(rows, BUCKET_ROWS, CELLS)
    if before is not None and before // 2 <= wanted <= before * 4:
        return before
    return wanted


@dataclass
class Split:
    """Rows of a relation, which has a column ``partition``: fingerprints, and files when needed.

    The fingerprint of a partition is the number of its rows and the sum of their hashes, over
    ``hashed`` columns. Files are written below ``folder`` for the partitions that are asked for.
    """

    sql: duckdb.DuckDBPyConnection
    relation: str
    folder: Path
    hashed: Sequence[str]
    contents: dict[str, str] = field(init=False)
    rows: dict[str, int] = field(init=False)
    _written: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        fingerprints = self.sql.execute(
            f"SELECT partition, count(*), CAST(sum(hash({', '.join(self.hashed)})) AS VARCHAR) "
            f"FROM {self.relation} GROUP BY partition ORDER BY partition"
        ).fetchall()
        self.rows = {partition: rows for partition, rows, _ in fingerprints}
        self.contents = {
            partition: hashlib.sha256(f"{rows} {total}".encode()).hexdigest()
            for partition, rows, total in fingerprints
        }

    def input(self, partition: str) -> Input:
        """Return the rows of a partition as an input; ``write`` them before it is read."""
        if partition not in self.contents:
            return Input((str(self.folder / _NO_ROWS),), "none")
        files = str(self.folder / f"partition={partition}" / "*.parquet")
        return Input((files,), self.contents[partition])

    def write(self, partitions: Collection[str]) -> None:
        """Write the rows of partitions, in one pass over all rows."""
        self.folder.mkdir(parents=True, exist_ok=True)
        no_rows = self.folder / _NO_ROWS
        if not {*partitions} <= {*self.contents} and not no_rows.exists():
            self._copy(f"SELECT * EXCLUDE (partition) FROM {self.relation} LIMIT 0", no_rows)
        missing = sorted({*partitions} & {*self.contents} - self._written)
        if not missing:
            return
        chosen = ", ".join(map(sql_text, missing))
        rows = f"SELECT * FROM {self.relation} WHERE partition IN ({chosen})"
        self._copy(rows, self.folder, ", PARTITION_BY (partition), OVERWRITE_OR_IGNORE")
        self._written.update(missing)

    def _copy(self, rows: str, path: Path, options: str = "") -> None:
        self.sql.execute(
            f"COPY ({rows}) TO {sql_text(str(path))} (FORMAT parquet, COMPRESSION lz4_raw{options})"
        )


@dataclass
class Partitions:
    """The stored rows of a data_version by partition, in a connection of the record.

    ``same_as`` is the file of the joined ids; ``buckets`` the number of buckets of organisations.
    """

    sql: duckdb.DuckDBPyConnection
    record: Record
    loads: Mapping[str, int]
    folder: Path
    same_as: Path = Path()
    buckets: int = 1

    def stored(self, table: RecordTable) -> Split:
        """Return the stored rows of a table by partition."""
        subject = next(subject for subject, tables in SUBJECTS.items() if table in tables)
        rows, named, fragments = self._loaded(table), f"partition_of_{table.name}", {}
        _SQL.run(self.sql, "path_name")
        if subject == TENDERS:
            releases, parties = map(self._loaded, SUBJECTS[TENDERS])
            _SQL.run(self.sql, "countries", fill={"releases": releases, "parties": parties})
            _SQL.run(self.sql, "processes", fill={"releases": releases})
        if subject == ISSUERS:
            bucket = bucket_sql("coalesce(canonical.same_as, ids.service_id)", self.buckets)
            fragments = {"bucket": bucket, "same_as": self._same_as}
        names = _SQL.statement(subject, rows=rows, **fragments)
        self.sql.execute(f"CREATE OR REPLACE TEMP TABLE {named} AS {names}")
        joined = f"{rows} AS stored JOIN {named} USING ({_NAMED_BY.get(subject, 'source')})"
        relation = f"(SELECT stored.*, partition FROM {joined})"
        return Split(self.sql, relation, self.folder / table.name, hashed_columns(table))

    def joined_ids(self) -> Split:
        """Return ``same_as`` by the bucket of its canonical ids."""
        bucket = bucket_sql("same_as", self.buckets)
        relation = f"(SELECT *, {bucket} AS partition FROM {self._same_as})"
        return Split(
            self.sql, relation, self.folder / "same_as", ("service_id", "same_as", "match_method")
        )

    def _loaded(self, table: RecordTable) -> str:
        relation, last = self.record.relation(table.name), int(self.loads.get(table.name, 0))
        return f"(FROM {relation} WHERE load_seq <= {last})"

    @property
    def _same_as(self) -> str:
        return f"read_parquet({sql_text(str(self.same_as))})"


def country_of(partition: str) -> str:
    """Return the country of a partition of tenders; any other partition is returned as it is."""
    return partition.partition(".")[0]


def have_common_rows(one: str, other: str) -> bool:
    """Return whether two partitions are one, or one of them is the country of the other."""
    return other in (one, country_of(one)) or one == country_of(other)


def hashed_columns(table: RecordTable) -> list[str]:
    """Return the columns whose values decide all others of a stored row.

    Its hashes stand for what identifies it and for its content.
    """
    covered = {*table.identity, *table.content}
    return [name for name in record_schema(table).names if name not in covered]
