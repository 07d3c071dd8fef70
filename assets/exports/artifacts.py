"""The files of an export, declared as data."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assets.exports import file_columns
from assets.exports.file_columns import (
    AWARD_ORIGIN,
    AWARDED_IN,
    Award,
    FileColumn,
    provenance,
    record_id,
    vintages,
)
from assets.exports.parquet import Reader
from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.publish.awards import NO_VALUE, award_day, exact_amount, parse_awards
from warehouse.publish.implausible import award_amount
from warehouse.publish.served_rows import NAMED_AWARDS, PARTY_ID, SAME_PARTY, TENDER_VINTAGES_TABLE
from warehouse.publish.snapshot import Snapshot
from warehouse.record.tables import DECIMAL, arrow_schema
from warehouse.serve.exports import ArtifactKind
from warehouse.shared.tiers import TierName
from warehouse.tables import OPEN_CLASSES

# Rows of the tender files that need more than a SELECT: parties and awards.
#
# Awards are parsed from release JSON with the reader of the mart, while the releases file is
# written.

# Table of the snapshot with the awards as they are parsed.
AWARDS_TABLE = "awards_read"
_RELEASE_COLUMNS = record_id() + AWARDED_IN + AWARD_ORIGIN + vintages() + provenance()
# Columns of an award that its release does not state.
_RESOLVED = ("service_id", "supplier_service_ids")
_AWARD_SCHEMA = pa.schema(
    [
        pa.field("award_index", pa.int64()),
        *(field for field in arrow_schema(Award) if field.name not in _RESOLVED),
    ]
)
_SCHEMA = pa.schema([*(column.field for column in _RELEASE_COLUMNS), *_AWARD_SCHEMA])


# Only parties that are established to be organisations: a withheld party is in no file. The
# organisation is the one the data_version resolved, whatever the ``as_of``; party_id is as served.
PARTIES = f"""
SELECT *, {PARTY_ID} AS party_id
FROM (
    SELECT party.*, matched.service_id, matched.match_method
    FROM tender_parties AS party LEFT JOIN party_matches AS matched ON {SAME_PARTY}
    WHERE party.name IS NOT NULL AND party.org_evidence IS NOT NULL
)
""".strip()

# A supplier is resolved like the party of that name in the same release; if parties of one name
# are two organisations, it is resolved to neither. Nearly every award names one supplier, so only
# awards with several go through the costly list aggregation.
AWARDS = f"""
WITH organisations AS (
    SELECT source, ocid, release_id, name, min(service_id) AS service_id
    FROM ({PARTIES}) WHERE service_id IS NOT NULL
    GROUP BY source, ocid, release_id, name HAVING min(service_id) = max(service_id)
),
joint_suppliers AS (
    SELECT record_id, award_index, source, ocid, release_id,
        unnest(suppliers) AS name, unnest(range(len(suppliers))) AS supplier_index
    FROM {AWARDS_TABLE} WHERE len(suppliers) > 1
),
joint_awards AS (
    SELECT record_id, award_index, list(service_id ORDER BY supplier_index) AS service_ids
    FROM joint_suppliers LEFT JOIN organisations USING (source, ocid, release_id, name)
    GROUP BY record_id, award_index
)
SELECT award.* EXCLUDE (record_id),
    concat_ws('-', award.record_id, award.award_index) AS award_row_id,
    sole.service_id,
    CASE len(suppliers) WHEN 0 THEN [] WHEN 1 THEN [sole.service_id]
        ELSE joint_awards.service_ids END AS supplier_service_ids
FROM {AWARDS_TABLE} AS award
LEFT JOIN organisations AS sole ON sole.source = award.source AND sole.ocid = award.ocid
    AND sole.release_id = award.release_id AND sole.name = award.supplier_name
LEFT JOIN joint_awards ON joint_awards.record_id = award.record_id
    AND joint_awards.award_index = award.award_index
""".strip()


# One row per process and measure in each vintage, as /v1/shared/facts serves them: the value of a
# process, and what an organisation won by an award.
TENDER_FACTS = f"""
SELECT *, 'tender_value' AS measure FROM {TENDER_VINTAGES_TABLE}
UNION ALL BY NAME
SELECT *, 'award_value' AS measure FROM ({NAMED_AWARDS})
""".strip()


@contextmanager
def reading_awards(snapshot: Snapshot) -> Iterator[Reader]:
    """Add the awards to the snapshot from releases that pass through the reader."""
    path = snapshot.path(AWARDS_TABLE)
    with pq.ParquetWriter(path, _SCHEMA, compression="lz4", use_dictionary=False) as writer:
        yield lambda releases: writer.write_table(_awards(releases))
    quoted = str(path).replace("'", "''")
    # A cursor of its own: files are exported by several threads.
    with closing(snapshot.sql.cursor()) as sql:
        sql.execute(f"CREATE OR REPLACE VIEW {AWARDS_TABLE} AS FROM read_parquet('{quoted}')")


def _awards(releases: pa.Table) -> pa.Table:
    """Parse the awards of releases, column by column: rows of Python take three times as long."""
    release_numbers, indexes, ids, days, statuses = [], [], [], [], []
    amounts, currencies, impossible = [], [], []
    sole_names, names, list_ends = [], [], [0]
    marks = releases["implausible"].to_pylist()
    for release_number, text in _with_awards(releases["release"]):
        for index, award in enumerate(parse_awards(text)):
            value = award.value or NO_VALUE
            supplier_names = award.supplier_names()
            release_numbers.append(release_number)
            indexes.append(index)
            ids.append(None if award.id is None else str(award.id))
            days.append(award.date and award_day(award.date))
            statuses.append(award.status)
            amounts.append(exact_amount(bytes(value.amount)))
            currencies.append(value.currency)
            impossible.append(award_amount(index) in (marks[release_number] or ()))
            sole_names.append(supplier_names[0] if len(supplier_names) == 1 else None)
            names += supplier_names
            list_ends.append(len(names))
    award_columns = [
        pa.array(indexes, pa.int64()),
        pa.array(ids, pa.string()),
        pa.array(days, pa.date32()),
        pa.array(statuses, pa.string()),
        pa.array(amounts, pa.string()).cast(DECIMAL),
        pa.array(currencies, pa.string()),
        pa.array(impossible, pa.bool_()),
        pa.array(sole_names, pa.string()),
        pa.ListArray.from_arrays(pa.array(list_ends, pa.int32()), pa.array(names, pa.string())),
    ]
    released = releases.select([column.name for column in _RELEASE_COLUMNS])
    repeated = released.take(pa.array(release_numbers, pa.int64()))
    return pa.Table.from_arrays([*repeated.columns, *award_columns], schema=_SCHEMA)


def _with_awards(releases: pa.ChunkedArray) -> Iterator[tuple[int, memoryview]]:
    """Yield the releases that may state awards, with their numbers, without copying their text."""
    first = 0
    for texts in releases.chunks:
        _, offsets, data = texts.buffers()
        # As a pattern: pyarrow searches a plain substring five times as slowly.
        matches = pc.indices_nonzero(pc.match_substring_regex(texts, '"awards"')).to_numpy()
        bounds = np.frombuffer(offsets, np.int32)[texts.offset :]
        starts, ends = bounds[matches].tolist(), bounds[matches + 1].tolist()
        view = memoryview(data or b"")
        for number, start, end in zip((matches + first).tolist(), starts, ends, strict=True):
            yield number, view[start:end]
        first += len(texts)


_OPEN = f"license_class IN ({', '.join(repr(name) for name in OPEN_CLASSES)})"
_AS_OF = (
    # superseded_at is left out of the answer: it tells what happened after as_of.
    "SELECT * EXCLUDE (superseded_at{other_columns}) FROM '{{url}}' "
    "WHERE available_at <= DATE '{{as_of}}' "
    "AND (superseded_at IS NULL OR superseded_at > DATE '{{as_of}}'){not_withdrawn}"
)
LICENCES: dict[ArtifactKind, str] = {
    "open-panel": "CC-BY-4.0",
    # SPDX's form for a licence that is not on its list.
    "licensed": "LicenseRef-Sankofa-Licensed",
}
TIERS: dict[ArtifactKind, TierName | None] = {"open-panel": None, "licensed": "starter"}


@dataclass(frozen=True)
class ExportFile:
    """One file: ``relation`` is a SELECT over the snapshot tables it ``needs``.

    The last column is the primary key; ``sort`` ends with it. ``period`` are the date columns
    whose least and greatest day the manifest states.

    ``sorted_table`` names a snapshot table if the relation selects rows of it without changing
    their order: such a file need not be sorted. ``row_reader`` opens a reader that sees the rows
    while they are written; a file made from what it collects names the first file in ``after``.
    """

    key: str
    title: str
    kind: ArtifactKind
    sku: str | None
    columns: tuple[FileColumn, ...]
    relation: str
    sort: tuple[str, ...]
    period: tuple[str, ...]
    needs: tuple[str, ...]
    sorted_table: str | None = None
    row_reader: Callable[[Snapshot], AbstractContextManager[Reader]] | None = None
    after: str | None = None
    signal_key: str | None = None
    methodology_ref: str | None = None

    @property
    def id(self) -> str:
        """The name of the primary key column."""
        return self.columns[-1].name

    @property
    def statement(self) -> str:
        """The query for its rows, in the order of the relation."""
        selected = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"SELECT {selected} FROM ({self.relation})"

    @property
    def snapshot_sort(self) -> tuple[str, ...]:
        """The columns of its sort order, as the snapshot table names them."""
        sql = {column.name: column.sql for column in self.columns}
        return tuple(sql[name] for name in self.sort)

    @property
    def sql_as_of(self) -> str | None:
        """The query for any as_of; None if the file has no history or no publication dates."""
        names = {column.name for column in self.columns}
        if "superseded_at" not in names or self.key in _UNDATED:
            return None
        return _AS_OF.format(
            other_columns=", latest" if "latest" in names else "",
            not_withdrawn=" AND NOT withdrawn" if "withdrawn" in names else "",
        )


# Files without as_of: their sources do not say when a value became public.
_UNDATED = ("af-macro-annual",)

EXPORT_FILES: tuple[ExportFile, ...] = (
    ExportFile(
        "af-tender-releases",
        "Tender releases, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.RELEASE,
        "SELECT * FROM tender_releases",
        ("country", "date", "ocid", "release_id", "vintage", "record_id"),
        ("date",),
        ("tender_releases",),
        sorted_table="tender_releases",
        row_reader=reading_awards,
    ),
    ExportFile(
        "af-fund-facts",
        "Reported company figures, every vintage",
        "licensed",
        "AF-FUND",
        file_columns.FACT,
        "SELECT * FROM fundamentals",
        ("service_id", "period_end", "line_item", "vintage", "fact_id"),
        ("period_end",),
        ("fundamentals",),
        sorted_table="fundamentals",
    ),
    ExportFile(
        "af-fund-filings",
        "Filings of companies: each version of each document, every vintage",
        "licensed",
        "AF-FUND",
        file_columns.FILING,
        "SELECT * FROM filings",
        ("service_id", "received_on", "document_id", "vintage", "record_id"),
        ("received_on",),
        ("filings",),
        sorted_table="filings",
    ),
    ExportFile(
        "af-tender-awards",
        "Award facts: each award as each release states it, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.AWARD,
        AWARDS,
        ("country", "award_date", "ocid", "release_id", "vintage", "record_id"),
        ("award_date",),
        ("tender_releases", "tender_parties", "party_matches"),
        after="af-tender-releases",
    ),
    ExportFile(
        "af-tender-facts",
        "Tender facts: the value of each process and each award won, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.TENDER_FACT,
        TENDER_FACTS,
        ("country", "measure", "period_end", "ocid", "vintage", "record_id"),
        ("period_end",),
        ("tender_vintages", "award_vintages", "entities"),
    ),
    ExportFile(
        "af-tender-parties",
        "Parties of tenders that are established to be organisations, every vintage",
        "licensed",
        "AF-TENDER",
        file_columns.PARTY,
        PARTIES,
        ("country", "role", "party_id", "ocid", "release_id", "vintage", "record_id"),
        ("released_on",),
        ("tender_parties", "party_matches"),
    ),
    ExportFile(
        "af-macro-series",
        "Macroeconomic series, every vintage",
        "licensed",
        "AF-MACRO",
        file_columns.SERIES,
        "SELECT * FROM macro_series",
        ("series", "country_iso3", "frequency", "period_end", "vintage", "record_id"),
        ("period_end",),
        ("macro_series",),
        sorted_table="macro_series",
    ),
    ExportFile(
        "af-macro-annual",
        "Annual indicators, every vintage; undated, so `latest` marks the current values",
        "licensed",
        "AF-MACRO",
        file_columns.ANNUAL,
        "SELECT * FROM macro_annual",
        ("indicator", "country_iso3", "period_end", "vintage", "record_id"),
        ("period_end",),
        ("macro_annual",),
        sorted_table="macro_annual",
    ),
    ExportFile(
        "macro-series",
        "Macroeconomic series, latest values",
        "open-panel",
        "AF-MACRO",
        file_columns.SERIES_NOW,
        # An open file holds open rows only, whatever else the table has.
        f"SELECT * FROM macro_series WHERE latest AND {_OPEN}",
        ("series", "country_iso3", "frequency", "period_end", "vintage", "record_id"),
        ("period_end",),
        ("macro_series",),
        sorted_table="macro_series",
    ),
    ExportFile(
        "silent-revisions",
        "Silent revisions: what publishers changed without saying so",
        "open-panel",
        None,
        file_columns.SILENT_REVISION,
        f"SELECT * FROM silent_revisions WHERE {_OPEN}",
        ("after_first_seen_at", "source", "record_id"),
        ("after_first_seen_at",),
        ("silent_revisions",),
    ),
    ExportFile(
        "quality-history",
        "Quality measurements of every dataset",
        "open-panel",
        None,
        file_columns.QUALITY,
        "SELECT * FROM quality",
        ("sku", "dimension", "metric", "scope", "measured_at", "record_id"),
        ("measured_at",),
        ("quality",),
    ),
    *(
        ExportFile(
            panel.key,
            panel.title,
            "open-panel",
            "AF-TENDER",
            file_columns.SIGNAL,
            f"SELECT * FROM signals WHERE signal_key = '{panel.key}' AND {_OPEN}",
            ("country", "month", "dimension", "dimension_value", "measure", "vintage", "record_id"),
            ("month",),
            ("signals",),
            signal_key=panel.key,
            methodology_ref=f"{SIGNAL_SET}/{panel.key}",
        )
        for panel in PANELS
    ),
)
