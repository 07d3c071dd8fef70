"""Awards as releases state them: one row an award, with who got it where that is known.

They are read as the mart reads them.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assets.exports.file_columns import columns, provenance, record_id, vintages
from assets.exports.parquet import Reader
from warehouse.mart.awards import NO_VALUE, award_day, exact_amount, parse_awards
from warehouse.mart.served_rows import PARTY_ID, SAME_PARTY
from warehouse.mart.snapshot import Snapshot
from warehouse.record.tables import DECIMAL
from warehouse.tables import TenderRelease

READ = "awards_read"
_OF_RELEASE = (
    record_id()
    + columns(
        TenderRelease,
        ("ocid", "release_id", "country", "parties_withheld", "source", "source_url"),
    )
    + vintages()
    + provenance()
)
_STATED = pa.schema(
    [
        ("place", pa.int64()),
        ("award_id", pa.string()),
        ("award_date", pa.date32()),
        ("award_status", pa.string()),
        ("amount", DECIMAL),
        ("currency", pa.string()),
        ("supplier_name", pa.string()),
        ("suppliers", pa.list_(pa.string())),
    ]
)
_SCHEMA = pa.schema([*(each.field for each in _OF_RELEASE), *_STATED])


# Only those that are established to be organisations: a withheld party is in no file. Who one
# is, is what the data_version knows and follows no ``as_of``; its id is the one the API serves.
PARTIES = f"""
SELECT *, {PARTY_ID} AS party_id
FROM (
    SELECT party.*, matched.service_id, matched.match_method
    FROM tender_parties AS party LEFT JOIN party_matches AS matched ON {SAME_PARTY}
    WHERE party.name IS NOT NULL AND party.org_evidence IS NOT NULL
)
""".strip()


# A supplier is resolved as the party of that name in the same release is; where parties of one
# name are two organisations, it is neither. Nearly every award names one: lists are made of the
# others only.
AWARDS = f"""
WITH who AS (
    SELECT source, ocid, release_id, name, min(service_id) AS service_id
    FROM ({PARTIES}) WHERE service_id IS NOT NULL
    GROUP BY source, ocid, release_id, name HAVING min(service_id) = max(service_id)
),
named AS (
    SELECT record_id, place, source, ocid, release_id,
        unnest(suppliers) AS name, unnest(range(len(suppliers))) AS number
    FROM {READ} WHERE len(suppliers) > 1
),
several AS (
    SELECT record_id, place, list(service_id ORDER BY number) AS service_ids
    FROM named LEFT JOIN who USING (source, ocid, release_id, name)
    GROUP BY record_id, place
)
SELECT stated.* EXCLUDE (record_id),
    concat_ws('-', stated.record_id, stated.place) AS award_row_id,
    one.service_id,
    CASE len(suppliers) WHEN 0 THEN [] WHEN 1 THEN [one.service_id] ELSE several.service_ids
        END AS supplier_service_ids
FROM {READ} AS stated
LEFT JOIN who AS one ON one.source = stated.source AND one.ocid = stated.ocid
    AND one.release_id = stated.release_id AND one.name = stated.supplier_name
LEFT JOIN several ON several.record_id = stated.record_id AND several.place = stated.place
""".strip()


@contextmanager
def reading_awards(snapshot: Snapshot) -> Iterator[Reader]:
    """Stage what releases state of awards beside the other tables, while they are written."""
    place = snapshot.path(READ)
    with pq.ParquetWriter(place, _SCHEMA, compression="lz4", use_dictionary=False) as writer:
        yield lambda releases: writer.write_table(_awards(releases))
    quoted = str(place).replace("'", "''")
    with closing(snapshot.sql.cursor()) as sql:
        sql.execute(f"CREATE OR REPLACE VIEW {READ} AS FROM read_parquet('{quoted}')")


def _awards(releases: pa.Table) -> pa.Table:
    """Read the awards of releases, column by column: rows of Python take three times as long."""
    rows, places, ids, days, states = [], [], [], [], []
    amounts, currencies, sole, names, ends = [], [], [], [], [0]
    for row, text in _stating(releases["release"]):
        for place, award in enumerate(parse_awards(text)):
            money = award.value or NO_VALUE
            named = [each.name for each in award.suppliers or () if each.name is not None]
            rows.append(row)
            places.append(place)
            ids.append(None if award.id is None else str(award.id))
            days.append(award.date and award_day(award.date))
            states.append(award.status)
            amounts.append(exact_amount(bytes(money.amount)))
            currencies.append(money.currency)
            sole.append(named[0] if len(named) == 1 else None)
            names += named
            ends.append(len(names))
    suppliers = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(names, pa.string()))
    exactly = pa.array(amounts, pa.string()).cast(DECIMAL)
    dated = pa.array(days, pa.date32())
    told, state, money, one = (
        pa.array(each, pa.string()) for each in (ids, states, currencies, sole)
    )
    stated = [pa.array(places, pa.int64()), told, dated, state, exactly, money, one, suppliers]
    released = releases.select([each.name for each in _OF_RELEASE]).take(pa.array(rows, pa.int64()))
    return pa.Table.from_arrays([*released.columns, *stated], schema=_SCHEMA)


def _stating(releases: pa.ChunkedArray) -> Iterator[tuple[int, memoryview]]:
    """Give each release that may state awards with its number, without copying its text."""
    first = 0
    for texts in releases.chunks:
        _, offsets, data = texts.buffers()
        # As a pattern, since a plain substring is searched five times as slowly.
        found = pc.indices_nonzero(pc.match_substring_regex(texts, '"awards"')).to_numpy()
        bounds = np.frombuffer(offsets, np.int32)[texts.offset :]
        starts, ends = bounds[found].tolist(), bounds[found + 1].tolist()
        view = memoryview(data or b"")
        for row, start, end in zip((found + first).tolist(), starts, ends, strict=True):
            yield row, view[start:end]
        first += len(texts)
