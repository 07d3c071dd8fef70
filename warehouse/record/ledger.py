"""The load ledger: one entry for each load into each table.

The rows of a load and its ledger entry are two commits. The first also carries the entry in its
metadata, so a process killed between the two loses nothing: the next writer completes the ledger
from the commits. A source enters the loads of many batches at once.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from deltalake import DeltaTable

from warehouse.record.relations import sql_text
from warehouse.record.store import COMMIT_ATTEMPTS, Record, last_transaction, try_commit_entries
from warehouse.record.tables import RecordTable
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import WriteConflict
from warehouse.tables.operations import LoadEntry

_SQL = sql_file(__name__, "own_tables")
# The metadata key of a commit that holds its ledger entry.
ENTRY_KEY = "sankofa.load"


def write_missing_entries(
    record: Record, tables: Iterable[RecordTable], entries: Iterable[LoadEntry] = ()
) -> None:
    """Enter all loads that were committed to tables and are not in the ledger yet, in one commit.

    Of ``entries``, those that appended nothing are entered as well: no commit has them. The
    ledger's transaction number for a table is the last load entered. Of two writers that do this
    at once, the second finds it done.
    """
    without_commit = [
        entry for entry in entries if not entry.appended + entry.withdrawn + (entry.retracted or 0)
    ]
    for _ in range(COMMIT_ATTEMPTS):
        with record.write_lock:
            ledger, missing, newest = record.table("loads"), list(without_commit), dict[str, int]()
            for table in tables:
                delta, entered = record.table(table.name), last_transaction(ledger, table.name)
                if last_transaction(delta) > entered:
                    newest[table.name] = last_transaction(delta)
                    missing += _entries_between(delta, entered, newest[table.name])
            if not missing or try_commit_entries(record, "loads", ledger, missing, newest):
                return
    raise WriteConflict("the ledger: other writers kept committing first; run the load again")


@dataclass(frozen=True)
class Reading:
    """The readings of one document by the version of a parser that read it last.

    ``first`` and ``last`` are the numbers of the loads that did, in order of time; ``read_at`` is
    the time of the last.
    """

    parser_version: str
    first: int
    last: int
    read_at: datetime


def readings(record: Record, source: str, table: RecordTable) -> dict[str, Reading]:
    """Return the documents of a source that were loaded into a table, by key."""
    loads = record.query(
        f"SELECT documents, parser_version, loaded_at FROM ({_unaffected_loads(record)}) "
        f"WHERE source = {sql_text(source)} AND table_name = {sql_text(table.name)} "
        "ORDER BY load_seq, loaded_at"
    ).to_pylist()
    found: dict[str, Reading] = {}
    for number, load in enumerate(loads):
        version, read_at = load["parser_version"], load["loaded_at"]
        for document in load["documents"]:
            before = found.get(document)
            same = before is not None and before.parser_version == version
            first = before.first if before is not None and same else number
            found[document] = Reading(version, first, number, read_at)
    return found


def loaded_documents(record: Record, source: str) -> set[str]:
    """Return the keys of the documents of a source that were ever read, by whatever version."""
    documents = record.query(
        f"SELECT DISTINCT unnest(documents) AS document FROM {record.relation('loads')} "
        f"WHERE source = {sql_text(source)}"
    )["document"]
    return set(documents.to_pylist())


def _unaffected_loads(record: Record) -> str:
    """Return the query of all loads, each with the documents that need not be read again."""
    loads = record.relation("loads")
    if not record.files("erased"):
        return f"SELECT * FROM {loads}"
    return _SQL.statement("unaffected_loads", loads=loads, erased=record.relation("erased"))


def _entries_between(delta: DeltaTable, entered: int, newest: int) -> list[LoadEntry]:
    """Return the entries in the commits after load ``entered`` up to ``newest``, in order."""
    # Compactions are commits as well, so the history is read further back until every load is
    # found or the history ends.
    limit = 2 * (newest - entered) + 4
    absent = dict.fromkeys(LoadEntry.model_fields)
    while True:
        history = delta.history(limit)
        in_commits = [
            # A commit made before a column was added says nothing of it.
            LoadEntry.model_validate(absent | json.loads(commit[ENTRY_KEY]))
            for commit in history
            if ENTRY_KEY in commit
        ]
        missing = [entry for entry in in_commits if entered < entry.load_seq <= newest]
        if len(missing) == newest - entered or len(history) < limit:
            return sorted(missing, key=lambda entry: entry.load_seq)
        limit *= 4
