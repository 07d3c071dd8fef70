"""Rows of the tender files that need more than a SELECT: parties and awards.

Awards are parsed from release JSON with the reader of the mart, while the releases file is written.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assets.exports.file_columns import (
    AWARD_ORIGIN,
    AWARDED_IN,
    Award,
    provenance,
    record_id,
    vintages,
)
from assets.exports.parquet import Reader
from warehouse.mart.award_facts import NAMED_AWARDS
from warehouse.mart.awards import NO_VALUE, award_day, exact_amount, parse_awards
from warehouse.mart.implausible import award_amount
from warehouse.mart.served_rows import PARTY_ID, SAME_PARTY
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.tender_facts import TENDER_VINTAGES_TABLE
from warehouse.record.tables import DECIMAL, arrow_schema

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
