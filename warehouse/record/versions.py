"""Published versions: a name for how much of each table had been loaded."""

from collections.abc import Collection
from datetime import UTC, datetime

from warehouse.errors import UnknownVersion, WriteConflict
from warehouse.record.store import (
    COMMIT_ATTEMPTS,
    Record,
    last_transaction,
    sql_text,
    try_commit_entries,
)
from warehouse.record.tables import RECORD_TABLES
from warehouse.tables import VersionEntry


def name_version(record: Record, now: datetime | None = None, taken: Collection[str] = ()) -> str:
    """Name what is loaded now with the next data_version, which pins its loads; return it.

    ``taken`` are names of builds: those of a record that was replaced are not in this one.
    """
    published_at = (now or datetime.now(UTC)).astimezone(UTC)
    for _ in range(COMMIT_ATTEMPTS):
        delta = record.table("versions")
        names = delta.to_pyarrow_table(columns=["data_version"])["data_version"].to_pylist()
        name = _next_name([*names, *taken], f"{published_at:%Y%m%d}")
        # A load committed from here on belongs to the next version.
        entries = [
            VersionEntry(
                data_version=name,
                table_name=table.name,
                load_seq=record.load_seq(table),
                published_at=published_at,
            )
            for table in RECORD_TABLES
        ]
        if try_commit_entries(
            delta, entries, {"versions": last_transaction(delta, "versions") + 1}
        ):
            return name
    raise WriteConflict("versions: other writers kept committing first; publish again")


def load_seqs_of(record: Record, data_version: str) -> dict[str, int]:
    """Return the number of the last load of each table that a version includes.

    It includes nothing of a table that there was not yet when it was published.
    """
    rows = record.query(
        f"SELECT table_name, load_seq FROM {record.relation('versions')} "
        f"WHERE data_version = {sql_text(data_version)}"
    ).to_pylist()
    if not rows:
        raise UnknownVersion(f"{data_version!r} was never published; see `sankofa builds`")
    none = dict.fromkeys((table.name for table in RECORD_TABLES), 0)
    return none | {row["table_name"]: row["load_seq"] for row in rows}


def _next_name(names: list[str], day: str) -> str:
    numbers = [tuple(map(int, name.split("."))) for name in names]
    last = max(numbers, default=(0, 0))
    # A clock that went back must not make a version that sorts before the last one.
    if last[0] >= int(day):
        return f"{last[0]}.{last[1] + 1}"
    return f"{day}.1"
