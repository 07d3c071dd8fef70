"""Into which partitions the stored rows fall, and a fingerprint of the rows of each.

Partitions do not look at each other: all rows of a figure, of a series, of a tender portal or
of an organisation are in one. Which partition a row is in follows from what identifies it, so
that every reading of a figure is in the same:

- registers (entities, identifiers): one
- issuers (fundamentals, filings): the bucket of a hash of the organisation's canonical id
- tenders (releases, parties): the country of the portal
- macro (annual figures, series): the source
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import duckdb

from warehouse.publish.file_labels import bucket_count, bucket_sql
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

REGISTERS, ISSUERS, TENDERS, MACRO = "registers", "issuers", "tenders", "macro"
SUBJECTS: Mapping[str, tuple[RecordTable, ...]] = {
    REGISTERS: (ENTITIES, IDENTIFIERS),
    ISSUERS: (FUNDAMENTALS, FILINGS),
    TENDERS: (TENDER_RELEASES, TENDER_PARTIES),
    MACRO: (MACRO_ANNUAL, MACRO_SERIES),
}
# The only partition of a subject that has one, or of one without any rows.
WHOLE = "all"
# Stored rows in a bucket of organisations, about; and how many buckets there are at most. A bucket
# costs a third of a second whatever is in it: smaller ones make a full publication slow.
BUCKET_ROWS = 50_000
MAX_BUCKETS = 256
# The input of a partition without rows.
_NO_ROWS = "no_rows.parquet"
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def issuer_buckets(rows: int, before: int | None = None) -> int:
    """Return the number of buckets for so many stored rows of figures.

    Another number puts every organisation into another bucket, so the number of the build
    ``before`` stays unless buckets have more than four times the rows they should, or less than a
    quarter.
    """
    wanted = bucket_count(rows, BUCKET_ROWS, MAX_BUCKETS)
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
    """The stored rows of a data_version by partition; use it in a ``with``.

    ``same_as`` is the file of the joined ids; ``buckets`` the number of buckets of organisations.
    """

    record: Record
    loads: Mapping[str, int]
    folder: Path
    same_as: Path = Path()
    buckets: int = 1
    sql: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self.sql = self.record.connection.cursor()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.sql.close()

    def stored(self, table: RecordTable) -> Split:
        """Return the stored rows of a table by partition."""
        self._create_names(table)
        column = "service_id" if table in SUBJECTS[ISSUERS] else "source"
        relation = (
            f"(SELECT stored.*, named.partition FROM {self.record.relation(table.name)} AS stored "
            f"JOIN partition_of_{table.name} AS named ON named.key = stored.{column} "
            f"WHERE stored.load_seq <= {self._last_load(table)})"
        )
        return Split(self.sql, relation, self.folder / table.name, hashed_columns(table))

    def joined_ids(self) -> Split:
        """Return ``same_as`` by the bucket of its canonical ids."""
        bucket = bucket_sql("same_as", self.buckets)
        relation = f"(SELECT *, {bucket} AS partition FROM {self._same_as})"
        return Split(
            self.sql, relation, self.folder / "same_as", ("service_id", "same_as", "match_method")
        )

    def tender_partitions(self) -> dict[str, str]:
        """Return the partition of each source of tenders: its country.

        Sources that have a country in common are in one partition, and a source that changed its
        country is in one with both: no reading of a release may be apart from the others.
        """
        pairs: set[tuple[str, str]] = set()
        for table in SUBJECTS[TENDERS]:
            statement = f"SELECT DISTINCT source, coalesce(country, '') FROM {self._loaded(table)}"
            pairs.update(self.sql.execute(statement).fetchall())
        return _components(sorted(pairs))

    def _loaded(self, table: RecordTable) -> str:
        relation = self.record.relation(table.name)
        return f"(FROM {relation} WHERE load_seq <= {self._last_load(table)})"

    def _last_load(self, table: RecordTable) -> int:
        return int(self.loads.get(table.name, 0))

    @property
    def _same_as(self) -> str:
        return f"read_parquet({sql_text(str(self.same_as))})"

    def _create_names(self, table: RecordTable) -> None:
        """Create the table that has the partition of each source, or of each organisation."""
        name = f"partition_of_{table.name}"
        if table in SUBJECTS[ISSUERS]:
            bucket = bucket_sql("coalesce(canonical.same_as, ids.key)", self.buckets)
            self.sql.execute(f"""
CREATE OR REPLACE TEMP TABLE {name} AS
SELECT ids.key, {bucket} AS partition
FROM (SELECT DISTINCT service_id AS key FROM {self._loaded(table)}) AS ids
LEFT JOIN {self._same_as} AS canonical ON canonical.service_id = ids.key""")
            return
        if table in SUBJECTS[TENDERS]:
            partitions = self.tender_partitions()
        else:
            statement = f"SELECT DISTINCT source FROM {self._loaded(table)}"
            sources = [source for (source,) in self.sql.execute(statement).fetchall()]
            is_whole = table in SUBJECTS[REGISTERS]
            partitions = {key: WHOLE if is_whole else partition_name(key) for key in sources}
        self.sql.execute(f"CREATE OR REPLACE TEMP TABLE {name} (key VARCHAR, partition VARCHAR)")
        for pair in partitions.items():
            self.sql.execute(f"INSERT INTO {name} VALUES (?, ?)", pair)


def hashed_columns(table: RecordTable) -> list[str]:
    """Return the columns whose values decide all others of a stored row.

    Its hashes stand for what identifies it and for its content.
    """
    covered = {*table.identity, *table.content}
    return [name for name in record_schema(table).names if name not in covered]


def partition_name(text: str) -> str:
    """Return a partition's name, which is a part of paths, for a source or a country."""
    if _NAME.fullmatch(text):
        return text
    return f"x{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:12]}"


def _components(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for each source the first of all countries that it is connected with."""
    pairs = list(pairs)
    first = {source: min(c for s, c in pairs if s == source) for source, _ in pairs}
    changed = True
    while changed:
        changed = False
        for country in {country for _, country in pairs}:
            sources = [source for source, other in pairs if other == country]
            least = min(first[source] for source in sources)
            for source in sources:
                if first[source] != least:
                    first[source], changed = least, True
    return {source: partition_name(country) for source, country in first.items()}
