"""Into which partitions the stored rows fall, and a fingerprint of the rows of each.

Partitions do not look at each other: all rows of a figure, of a series, of a contracting process
or of an organisation are in one. Which partition a row is in follows from what identifies it, so
that every reading of a figure is in the same:

- registers (entities, identifiers): one
- issuers (fundamentals, filings, elements): the bucket of a hash of the organisation's canonical id
- tenders (releases, parties): the country of the portal, and in which load the process came first;
  of a large load, the bucket of a hash of the ocid
- macro (annual figures, series): the source

What compares the processes of a country reads all of its partitions (``COUNTRIES``).
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.publish.file_labels import CELLS, bucket_count, bucket_sql, cell_sql
from warehouse.publish.steps import Input
from warehouse.publish.stored_sums import StoredSums
from warehouse.record.relations import sql_text
from warehouse.record.store import Record
from warehouse.record.tables import SUBJECTS, RecordTable
from warehouse.shared.data_files import sql_file

REGISTERS, ISSUERS, TENDERS, MACRO = "registers", "issuers", "tenders", "macro"
# Tenders again, all partitions of a country together.
COUNTRIES = "countries"
# The columns that decide in which partition a row is, if the source alone does not.
_NAMED_BY = {ISSUERS: ("service_id",), TENDERS: ("source", "ocid")}
# A column by which rows are summed as well: the countries of a source decide about its partitions.
_ALSO_SUMMED_BY = {TENDERS: ("country",)}
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
    """Rows by partition: fingerprints, and files when needed.

    ``fingerprints`` is a query for the number of rows of each partition and the sum of their
    hashes. ``relation`` returns the relation of the rows of some partitions at least, with a column
    ``partition``; files are written below ``folder`` for those that are needed.
    """

    sql: duckdb.DuckDBPyConnection
    fingerprints: str
    relation: Callable[[Collection[str]], str]
    folder: Path
    contents: dict[str, str] = field(init=False)
    rows: dict[str, int] = field(init=False)
    _written: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        fingerprints = self.sql.execute(self.fingerprints).fetchall()
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
        """Write the rows of partitions, in one pass."""
        self.folder.mkdir(parents=True, exist_ok=True)
        no_rows = self.folder / _NO_ROWS
        if not {*partitions} <= {*self.contents} and not no_rows.exists():
            none = f"SELECT * EXCLUDE (partition) FROM {self.relation(())} LIMIT 0"
            self._copy(none, no_rows)
        missing = sorted({*partitions} & {*self.contents} - self._written)
        if not missing:
            return
        chosen = ", ".join(map(sql_text, missing))
        rows = f"SELECT * FROM {self.relation(missing)} WHERE partition IN ({chosen})"
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
    _known_sums: dict[RecordTable, StoredSums] = field(init=False, default_factory=dict)

    def stored(self, table: RecordTable) -> Split:
        """Return the stored rows of a table by partition."""
        subject = table.subject
        sums, keys = self._sums(table), ", ".join(_NAMED_BY.get(subject, ("source",)))
        summed, named, fragments = self._loaded(table), f"partition_of_{table.name}", {}
        _SQL.run(self.sql, "path_name")
        if subject == TENDERS:
            releases, parties = map(self._loaded, SUBJECTS[TENDERS])
            _SQL.run(self.sql, "countries", fill={"releases": releases, "parties": parties})
            _SQL.run(self.sql, "processes", fill={"releases": releases})
        if subject == ISSUERS:
            bucket = bucket_sql("coalesce(canonical.same_as, ids.service_id)", self.buckets)
            fragments = {"bucket": bucket, "same_as": self._same_as}
        names = _SQL.statement(subject, rows=summed, **fragments)
        self.sql.execute(f"CREATE OR REPLACE TEMP TABLE {named} AS {names}")
        by_partition = f"{summed} AS summed JOIN {named} USING ({keys})"

        def relation(partitions: Collection[str]) -> str:
            """Return the rows of the files that have rows of these partitions."""
            chosen = ", ".join(map(sql_text, partitions)) or "''"
            in_files = f"SELECT DISTINCT file FROM {by_partition} WHERE partition IN ({chosen})"
            found = {file for (file,) in self.sql.execute(in_files).fetchall()}
            joined = f"{sums.rows(found)} AS stored JOIN {named} USING ({keys})"
            return f"(SELECT stored.*, partition FROM {joined} WHERE {self._is_loaded(table)})"

        fingerprints = f"SELECT partition, sum(rows), sum(total) FROM {by_partition}"
        return Split(
            *(self.sql, f"{fingerprints} GROUP BY partition", relation, self.folder / table.name)
        )

    def joined_ids(self) -> Split:
        """Return ``same_as`` by the bucket of its canonical ids."""
        bucket = bucket_sql("same_as", self.buckets)
        relation = f"(SELECT *, {bucket} AS partition FROM {self._same_as})"
        return split_of(self.sql, relation, self.folder / "same_as")

    def _sums(self, table: RecordTable) -> StoredSums:
        if table not in self._known_sums:
            subject = table.subject
            keys = (*_NAMED_BY.get(subject, ("source",)), *_ALSO_SUMMED_BY.get(subject, ()))
            self._known_sums[table] = StoredSums(self.sql, self.record, table, keys)
        return self._known_sums[table]

    def _loaded(self, table: RecordTable) -> str:
        """Return the relation of the sums of what is loaded."""
        return f"(FROM {self._sums(table).relation} WHERE {self._is_loaded(table)})"

    def _is_loaded(self, table: RecordTable) -> str:
        return f"load_seq <= {int(self.loads.get(table.name, 0))}"

    @property
    def _same_as(self) -> str:
        return f"read_parquet({sql_text(str(self.same_as))})"


def country_of(partition: str) -> str:
    """Return the country of a partition of tenders; any other partition is returned as it is."""
    return partition.partition(".")[0]


def have_common_rows(one: str, other: str) -> bool:
    """Return whether two partitions are one, or one of them is the country of the other."""
    return other in (one, country_of(one)) or one == country_of(other)


def split_of(sql: duckdb.DuckDBPyConnection, relation: str, folder: Path) -> Split:
    """Return the split of a relation with a column ``partition``, whose rows are read for it."""
    columns = sql.sql(f"SELECT * EXCLUDE (partition) FROM {relation}").columns
    fingerprints = (
        f"SELECT partition, count(*), sum(hash({', '.join(columns)})) FROM {relation} GROUP BY ALL"
    )
    return Split(sql, fingerprints, lambda _: relation, folder)
