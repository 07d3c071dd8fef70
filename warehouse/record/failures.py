"""Documents at which a parser raised: a fault of ours, so they stay unread and are tried again."""

from collections.abc import Sequence

from warehouse.record.erase import erasures
from warehouse.record.store import Record, commit_entries, sql_text
from warehouse.tables import FailureEntry


def add_failures(record: Record, failures: Sequence[FailureEntry]) -> None:
    """Record failed attempts to read documents, but not those at documents erased meanwhile."""
    if not failures:
        return
    # An erasure deletes every file that no commit names: also one whose commit is still to come.
    with record.shared():
        erased = {entry.document for entry in erasures(record)}
        not_erased = [
            failure for failure in failures if failure.document.partition("-")[0] not in erased
        ]
        if not_erased:
            commit_entries(record, "failures", not_erased)


def sources_with_failures(record: Record) -> set[str]:
    """Return the sources whose parser ever failed, whether or not it was fixed since."""
    rows = record.query(f"SELECT DISTINCT source FROM {record.relation('failures')}")
    return set(rows["source"].to_pylist())


def last_failures(record: Record, source: str) -> dict[str, FailureEntry]:
    """Return the last failed attempt at each document of a source, by the document's key.

    A document that has been read since is among them: compare with the ledger.
    """
    columns = ", ".join(FailureEntry.model_fields)
    rows = record.query(
        f"SELECT {columns} FROM {record.relation('failures')} WHERE source = {sql_text(source)} "
        "QUALIFY row_number() OVER (PARTITION BY document ORDER BY failed_at DESC) = 1 "
        "ORDER BY failed_at, document"
    ).to_pylist()
    return {row["document"]: FailureEntry(**row) for row in rows}
