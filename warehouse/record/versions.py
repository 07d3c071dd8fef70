"""Published versions: a name for how much of each table had been loaded."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import CommitFailedError

from warehouse.errors import UnknownVersion, WriteConflict
from warehouse.record.ledger import COMMIT_ATTEMPTS
from warehouse.record.store import Record, commit, last_transaction
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.tables import VersionEntry


def name_version(record: Record, now: datetime | None = None) -> str:
    """Give what is loaded now a data_version, one above the last; its loads stay fixed."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    for _ in range(COMMIT_ATTEMPTS):
        journal = record.table("versions")
        held = journal.to_pyarrow_table(columns=["data_version"])["data_version"].to_pylist()
        name = _next(held, f"{moment:%Y%m%d}")
        rows = [
            VersionEntry(
                data_version=name,
                table_name=table.name,
                load_seq=record.load_seq(table),
                published_at=moment,
            ).model_dump()
            for table in RECORD_TABLES
        ]
        try:
            commit(
                journal,
                pa.Table.from_pylist(rows, arrow_schema(VersionEntry)),
                {"versions": last_transaction(journal, "versions") + 1},
            )
        except CommitFailedError:
            continue
        return name
    raise WriteConflict("versions: other writers kept winning; publish again")


def load_seqs_of(record: Record, data_version: str) -> dict[str, int]:
    """Give the last load of each table that a version had seen."""
    held = record.table("versions").to_pyarrow_table()
    rows = held.filter(pc.equal(held["data_version"], data_version)).to_pylist()
    if not rows:
        raise UnknownVersion(f"{data_version!r} was never published; see `sankofa builds`")
    return {row["table_name"]: row["load_seq"] for row in rows}


def _next(held: list[str], day: str) -> str:
    numbers = [tuple(map(int, name.split("."))) for name in held]
    last = max(numbers, default=(0, 0))
    # A clock that went back must not make a version that sorts before the last one.
    if last[0] >= int(day):
        return f"{last[0]}.{last[1] + 1}"
    return f"{day}.1"
