"""Lost rows: a source that suddenly has far fewer rows stops the publication.

Two things are compared: the rows served, with the build before; and the records read, with an
earlier load from the same URLs. A drop by more than a fifth must be confirmed by a person. Once a
publication has been confirmed, its losses are not reported again.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa

from quality.history import last_published
from quality.report import Counts, Loss
from warehouse.mart.snapshot import Snapshot
from warehouse.record.tables import RECORD_TABLES
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__,
    "losses",
)


def served_counts(snapshot: Snapshot) -> Counts:
    """Return the number of latest rows per table and source."""
    return {
        table.name: {
            row["source"]: row["row_count"]
            for row in snapshot.read(_SQL.statement("served_counts", table=table.name)).to_pylist()
        }
        for table in RECORD_TABLES
    }


def find_losses(snapshot: Snapshot, counts: Counts, previous: Counts | None) -> list[Loss]:
    """Return every loss since the build before, and since the load before in each source.

    Rows that a rule leaves out are not lost: they are counted, and have a limit of their own.
    """
    return [*_fewer_served(snapshot, counts, previous or {}), *_fewer_read(snapshot)]


def is_loss(before: int, after: int) -> bool:
    """Return whether less than four fifths is left."""
    # Whole numbers, so that exactly four fifths is no loss.
    return before > 0 and 5 * after < 4 * before


def _fewer_served(snapshot: Snapshot, counts: Counts, previous: Counts) -> Iterator[Loss]:
    # Over the build before: a source that is gone has no counts now.
    for table, sources in previous.items():
        left_out = snapshot.figures_left_out(table)
        for source, before in sources.items():
            after = counts.get(table, {}).get(source, 0) + left_out.get(source, 0)
            if is_loss(before, after):
                yield Loss(table, source, before, after, "served rows")


def _fewer_read(snapshot: Snapshot) -> Iterator[Loss]:
    """Compare the newest load from the same URLs with the one before it."""
    published_at = last_published(snapshot.record)
    loads_by_urls: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for load in _loads(snapshot).to_pylist():
        # Only loads of the same URLs are comparable: one month has fewer tenders than a year.
        key = (load["table_name"], load["source"], *load["url_hashes"])
        loads_by_urls.setdefault(key, []).append(load)
    for (table, source, *_), loads in loads_by_urls.items():
        earlier, newest = [{"records": 0}, *loads][-2:]
        # What was published before has been confirmed.
        is_new = published_at is None or newest["loaded_at"] > published_at
        if is_new and is_loss(earlier["records"], newest["records"]):
            yield Loss(table, source, earlier["records"], newest["records"], "records per fetch")


def _loads(snapshot: Snapshot) -> pa.Table:
    """Return all loads in order, with hashes of their URLs and their records per fetch."""
    record, visible = snapshot.record, snapshot.loads
    with closing(record.connection.cursor()) as sql:
        loads: pa.Table = _SQL.query(
            sql,
            "loads",
            fill={"loads": record.relation("loads")},
            visible={"key": list(visible), "value": list(visible.values())},
        ).to_arrow_table()
    return loads
