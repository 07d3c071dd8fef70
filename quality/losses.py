"""Rows that vanish: a run that loads nothing where something was stops the publication.

Both what is served, against the build before, and what was read, against an earlier load of
the same addresses: to nothing, or by more than a fifth, needs a person who says that it is
right. What was published once is not asked about again.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from quality.history import last_published
from quality.report import Counts, Loss
from warehouse.mart.snapshot import Snapshot
from warehouse.record.tables import RECORD_TABLES


def served_counts(snapshot: Snapshot) -> Counts:
    """Count the rows of each table and source that are served as latest."""
    return {
        table.name: {
            row["source"]: row["held"]
            for row in snapshot.read(
                f"SELECT source, count(*) AS held FROM {table.name} WHERE latest "
                "GROUP BY source ORDER BY source"
            ).to_pylist()
        }
        for table in RECORD_TABLES
    }


def losses(snapshot: Snapshot, counts: Counts, previous: Counts | None) -> list[Loss]:
    """Give every loss since the build before and since the loads it was made from."""
    return [*_fewer_served(counts, previous or {}), *_fewer_read(snapshot)]


def too_few(before: int, now: int) -> bool:
    """Tell whether so little is left that a person must look: under four fifths."""
    return before > 0 and 5 * now < 4 * before


def _fewer_served(counts: Counts, previous: Counts) -> Iterator[Loss]:
    for table, sources in previous.items():
        for source, before in sources.items():
            now = counts.get(table, {}).get(source, 0)
            if too_few(before, now):
                yield Loss(table, source, before, now, "rows served")


def _fewer_read(snapshot: Snapshot) -> Iterator[Loss]:
    """Compare the newest load of some addresses with the one before it."""
    published_at = last_published(snapshot.record)
    of_addresses: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for load in _loads(snapshot).to_pylist():
        key = (load["table_name"], load["source"], *load["addresses"])
        of_addresses.setdefault(key, []).append(load)
    for (table, source, *_), loads in of_addresses.items():
        earlier, newest = [{"held": 0}, *loads][-2:]
        fresh = published_at is None or newest["loaded_at"] > published_at
        if fresh and too_few(earlier["held"], newest["held"]):
            words = "records read from the same addresses"
            yield Loss(table, source, earlier["held"], newest["held"], words)


def _loads(snapshot: Snapshot) -> pa.Table:
    """Give each load of each table in order: its addresses and the records of one reading.

    A large document is loaded in parts, of which the last names it. Several readings of an
    address that are loaded at once count as their mean. The key of a document is its SHA-256,
    the mark of its address and the moment, joined by dashes.
    """
    record, seen = snapshot.record, snapshot.loads
    visible = " OR ".join(
        f"(table_name = '{table}' AND load_seq <= {int(seq)})" for table, seq in seen.items()
    )
    return record.query(f"""
WITH whole AS (
    SELECT table_name, source, load_id, max(loaded_at) AS loaded_at, sum(appended + held) AS held,
        list_distinct(flatten(list(documents))) AS documents
    FROM {record.relation("loads")} WHERE {visible} GROUP BY ALL
),
addressed AS (
    SELECT *, list_sort(list_distinct(list_transform(
        documents, lambda document: split_part(document, '-', 2)
    ))) AS addresses
    FROM whole
)
SELECT table_name, source, load_id, loaded_at, addresses,
    CAST(ceil(held * len(addresses) / len(documents)) AS BIGINT) AS held
FROM addressed WHERE len(addresses) > 0 ORDER BY loaded_at, load_id
""")
