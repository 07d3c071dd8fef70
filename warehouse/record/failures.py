"""Documents at which a parser raised: a fault of ours, so they stay unread and are tried again."""

from collections.abc import Sequence

from warehouse.record.erase import erasures
from warehouse.record.store import COMMIT_ATTEMPTS, Record, sql_text, try_commit_entries
from warehouse.shared.errors import WriteConflict
from warehouse.tables import FailureEntry


def add_failures(record: Record, failures: Sequence[FailureEntry]) -> None:
    """Record failed attempts to read documents, but not those at documents erased meanwhile."""
    if not failures:
        return
    # An erasure deletes every file that no commit names: also one whose commit is still to come.
    for _ in range(COMMIT_ATTEMPTS):
        with record.shared():
            # Before each attempt: one that fails may have failed because of an erasure.
            delta = record.table("failures")
            erased = {entry.document for entry in erasures(record)}
            not_erased = [
                failure for failure in failures if failure.document.partition("-")[0] not in erased
            ]
            if not not_erased or try_commit_entries(delta, not_erased, {}):
                return
    raise WriteConflict("failures: other writers kept committing first; run the load again")


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
