"""The measurements of every publication, stored in the record."""

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import CommitFailedError

from warehouse.errors import WriteConflict
from warehouse.record.store import COMMIT_ATTEMPTS, Record, commit, last_transaction
from warehouse.record.tables import arrow_schema
from warehouse.tables import QualityMetric

_NAME = "quality"


def history(record: Record) -> pa.Table:
    """Return the measurements of all publications so far."""
    schema = arrow_schema(QualityMetric)
    rows = record.query(f"SELECT {', '.join(schema.names)} FROM {record.relation(_NAME)}")
    return rows.cast(schema)


def append_history(record: Record, rows: Sequence[QualityMetric]) -> None:
    """Store the measurements of a publication, unless those of its data_version are stored."""
    for _ in range(COMMIT_ATTEMPTS):
        delta = record.table(_NAME)
        versions = set(delta.to_pyarrow_table(columns=["data_version"])["data_version"].to_pylist())
        # Publishing can be repeated: measurements are stored once per data_version.
        new = [row for row in rows if row.data_version not in versions]
        if not new:
            return
        try:
            commit(delta, as_table(new), {_NAME: last_transaction(delta, _NAME) + 1})
        # Another publication was stored in between: read again what is there, and try once more.
        except CommitFailedError:
            continue
        return
    raise WriteConflict("the quality history: other writers always came first; publish again")


def last_published(record: Record) -> datetime | None:
    """Return when the last publication was measured; None before the first."""
    measured_at: datetime | None = pc.max(history(record)["measured_at"]).as_py()
    return measured_at


def as_table(rows: Sequence[QualityMetric]) -> pa.Table:
    """Return measurements as an Arrow table."""
    return pa.Table.from_pylist([row.model_dump() for row in rows], arrow_schema(QualityMetric))
