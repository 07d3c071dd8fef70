"""Erase a document from the record: the one exception to append-only.

An erasure is entered first, with the versions that it withdraws, and never removed. From then on
the writer accepts no row of the document. Then its rows are deleted, and with them every file
that contained one: data files, commits and checkpoints with their column statistics, indexes.
Each step can be repeated: an erasure that was killed is finished by running it again.

In a folder nothing appends meanwhile. In an object store others may: lifting and restoring the
protection of a table are changes of its metadata, with which every commit fails that began before
them, and is tried again without the document.

The landing erases bodies, ``pipelines`` builds and files.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from deltalake import DeltaTable, WriterProperties
from deltalake.exceptions import CommitFailedError

from warehouse.record import ledger
from warehouse.record.documents import Document, Removal
from warehouse.record.integrity import note_files, require_intact
from warehouse.record.relations import sql_text
from warehouse.record.row_index import SUMS, delete_stale_indexes
from warehouse.record.store import COMMIT_ATTEMPTS, NO_HOOKS, ROW_GROUP, Record, commit_entries
from warehouse.record.tables import RECORD_TABLES, RecordTable
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import WriteConflict
from warehouse.tables.operations import ErasedEntry

_SQL = sql_file(__name__, "own_tables")
_APPEND_ONLY = "delta.appendOnly"
# Sightings in one statement: Delta parses a longer list slowly.
_CHUNK = 2_000
# Object stores date files to the second.
_CLOCK_TICK = 1.1
_WRITER = WriterProperties(compression="ZSTD", max_row_group_size=ROW_GROUP)


def erasures(record: Record) -> list[ErasedEntry]:
    """Return every erasure, in the order of entry; a document has one for each of its sources.

    Documents of which the body alone was removed are none of them: their rows stay.
    """
    if not record.files("erased"):
        return []
    rows = record.query(
        f"SELECT * FROM {record.relation('erased')} WHERE kept_days IS NULL "
        "ORDER BY erased_at, document, source"
    ).to_pylist()
    return [ErasedEntry.model_validate(row) for row in rows]


def stored_rows(record: Record, document: str) -> dict[str, int]:
    """Return how many rows of a document each table has."""
    counts = {
        name: int(
            record.query(
                f"SELECT count(*) AS rows FROM {record.relation(name)} WHERE {_of(document)}"
            )["rows"][0].as_py()
        )
        for name in _tables_with_documents(record)
    }
    return {name: count for name, count in counts.items() if count}


def sources_with(record: Record, document: str) -> list[str]:
    """Return the sources of which a document has rows, or was erased."""
    names = [name for name in (*_tables_with_documents(record), "erased") if record.files(name)]
    sources = " UNION ".join(
        f"SELECT source FROM {record.relation(name)} WHERE {_of(document)}" for name in names
    )
    return sorted(record.query(sources)["source"].to_pylist()) if sources else []


def documents_like(record: Record, beginning: str) -> set[str]:
    """Return the SHA-256 of each document with rows, or erased, that begins like this."""
    names = [name for name in (*_tables_with_documents(record), "erased") if record.files(name)]
    documents = " UNION ".join(
        f"SELECT document[:64] AS document FROM {record.relation(name)} "
        f"WHERE starts_with(document, {sql_text(beginning)})"
        for name in names
    )
    return set(record.query(documents)["document"].to_pylist()) if documents else set()


def versions_with(record: Record, document: str) -> list[str]:
    """Return every data_version, published or not, that contains rows of a document."""
    first_loads = " UNION ALL ".join(
        f"SELECT {sql_text(table.name)} AS table_name, min(load_seq) AS first_load "
        f"FROM {record.relation(table.name)} WHERE {_of(document)}"
        for table in RECORD_TABLES
    )
    versions = record.relation("versions")
    rows = record.query(_SQL.statement("versions_with", versions=versions, first_loads=first_loads))
    return [str(name) for name in rows["data_version"].to_pylist()]


def enter_erasure(
    record: Record, document: str, source: str, first_observed_at: datetime, why: str, who: str
) -> ErasedEntry:
    """Enter the erasure of a document of a source, before anything is deleted; return the entry.

    It is entered once.
    """
    for entry in erasures(record):
        if (entry.document, entry.source) == (document, source):
            return entry
    entry = ErasedEntry(
        document=document,
        source=source,
        first_observed_at=first_observed_at,
        data_versions=versions_with(record, document),
        why=why,
        who=who,
        erased_at=datetime.now(UTC),
        kept_days=None,
    )
    commit_entries(record, "erased", [entry])
    return entry


def enter_removals(record: Record, documents: Iterable[Document], removal: Removal) -> None:
    """Enter the removal of bodies, before any is deleted: one entry for each of their sources."""
    first_read: dict[tuple[str, str], datetime] = {}
    for document in documents:
        key = (document.sha256, document.source)
        first_read[key] = min(document.observed_at, first_read.get(key, document.observed_at))
    entries = [
        ErasedEntry(
            document=sha256,
            source=source,
            first_observed_at=observed_at,
            data_versions=[],
            why=f"retention: older than {removal.days:,} days (SANKOFA_LANDING_DAYS)",
            who="sankofa compact",
            erased_at=removal.removed_at,
            kept_days=removal.days,
        )
        for (sha256, source), observed_at in sorted(first_read.items())
    ]
    if entries:
        commit_entries(record, "erased", entries)
        note_files(record, ["erased"])


def erase_rows(record: Record, document: str) -> None:
    """Delete every row that was read from a document, and the files that contained one.

    Call it with ``Record.exclusive`` and after ``enter_erasure``.
    """
    tables = _tables_with_documents(record)
    # The files that stay are written anew: damage would look like rows.
    require_intact(record, tables, thorough=not record.is_shared)
    # The ledger is completed from commits, which are deleted below.
    ledger.write_missing_entries(record, RECORD_TABLES)
    # First, while the rows still say which figures the document had shown: killed in between, the
    # erasure finds them again.
    for table in RECORD_TABLES:
        _delete_withdrawals(record, table, document)
    for name in tables:
        lifted = _delete(record, name, _of(document))
        _delete_old_files(record, name, lifted)
    note_files(record)


def _tables_with_documents(record: Record) -> list[str]:
    return [
        name
        for name, schema in record.schemas.items()
        if "document" in schema.names and name != "erased" and record.stored_table(name)
    ]


def _of(document: str) -> str:
    # Failures of parsers are entered under the key of a document, which begins with its SHA-256.
    return f"(document = {sql_text(document)} OR document LIKE {sql_text(f'{document}-%')})"


def _delete_withdrawals(record: Record, table: RecordTable, document: str) -> None:
    """Delete withdrawals of figures that the document alone had shown."""
    if record.stored_table(table.name) is None:
        return
    relation = record.relation(table.name)
    statement = _SQL.statement("unshown_withdrawals", relation=relation, of_document=_of(document))
    for chunk in _chunks(record.query(statement)["sighting"].to_pylist()):
        chosen = ", ".join(str(int(sighting)) for sighting in chunk)
        _delete(record, table.name, f"withdrawn AND sighting IN ({chosen})")


def _chunks(values: list[int]) -> Iterable[list[int]]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))


def _delete(record: Record, name: str, predicate: str) -> int:
    """Delete rows; return the version in which the protection of the table was lifted for it."""
    for _ in range(COMMIT_ATTEMPTS):
        delta = record.table(name)
        # Others may append to a table in an object store, and a deletion has to see their rows.
        with suppress(CommitFailedError), _deletions_allowed(delta):
            lifted = delta.version()
            delta.delete(predicate, _WRITER, post_commithook_properties=NO_HOOKS)
            if record.is_shared:
                # So that the two changes of the metadata have different seconds: see below.
                time.sleep(_CLOCK_TICK)
            record.forget(name)
            return lifted
        record.forget(name)
    raise WriteConflict(f"{name}: other writers kept committing first; erase again")


@contextmanager
def _deletions_allowed(delta: DeltaTable) -> Iterator[None]:
    """Lift the protection of a table for one deletion.

    Killed in between, the table stays unprotected until the erasure is run again; our code deletes
    nowhere else.
    """
    delta.alter.set_table_properties({_APPEND_ONLY: "false"})
    yield
    delta.alter.set_table_properties({_APPEND_ONLY: "true"})


def _delete_old_files(record: Record, name: str, lifted: int) -> None:
    """Delete all files of a table but those that it consists of now, commits included.

    ``lifted`` is the version in which the protection of the table was lifted.
    """
    delta = record.table(name)
    if delta.metadata().configuration.get(_APPEND_ONLY) != "true":
        delta.alter.set_table_properties({_APPEND_ONLY: "true"})
    if record.is_shared:
        _delete_replaced(record, name, lifted)
    else:
        delta.vacuum(
            retention_hours=0,
            dry_run=False,
            enforce_retention_duration=False,
            post_commithook_properties=NO_HOOKS,
            full=True,
        )
    delta.create_checkpoint()
    # Commits before the checkpoint have the least and the greatest value of each column of files
    # that are gone. The checkpoint has everything that is still needed, transactions included.
    log = [file.path for file in record.store.listing(name, "_delta_log")]
    newest = max(_version(path) for path in log if ".checkpoint" in path and "parquet" in path)
    for path in log:
        if _name(path)[:1].isdigit() and _version(path) < newest:
            record.store.delete(path)
    record.forget(name)
    delete_stale_indexes(record.index_folder(name), [file.path for file in record.files(name)])
    # A publication keeps the keys of all rows, which are made from what is erased.
    for sums in record.index_folder(name).glob(f"*{SUMS}"):
        sums.unlink(missing_ok=True)


def _delete_replaced(record: Record, name: str, lifted: int) -> None:
    """Delete the files of a table in an object store that were there before the protection was.

    A file that another machine has uploaded since then may still be committed. One that it
    uploaded before cannot: its commit fails. The store's own clock dates files and commits, to
    the second.
    """
    current = {file.path for file in record.files(name)}
    commit = f"{name}/_delta_log/{lifted:020}.json"
    files = record.store.listing(name)
    lifted_at = next(file.modified_at for file in files if file.path == commit)
    for file in files:
        is_data = not file.path.startswith(f"{name}/_delta_log/")
        is_current = f"{record.root}/{file.path}" in current
        if is_data and not is_current and file.modified_at <= lifted_at:
            record.store.delete(file.path)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _version(path: str) -> int:
    return int(_name(path).split(".", 1)[0])
