"""Publish a build. Start reading at ``publish``."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from warehouse.mart.audit import AuditFailed, refuse_unservable_rows
from warehouse.mart.builds import NOTICE, Builds, builds_at, is_postgres_url, sqlite_folder
from warehouse.mart.canonical_ids import use_canonical_ids
from warehouse.mart.snapshot import Derivation, DerivedTables, RowCheck, Snapshot
from warehouse.mart.withheld import withhold_rows
from warehouse.mart.write import made_from, write_mart
from warehouse.record.rules import rules_version
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES, arrow_schema
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.record.withheld import withheld_fingerprint
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY
from warehouse.tables import DERIVED

FAILED = "failed"
# Rejected builds that are kept for inspection; older ones are deleted.
_MAX_FAILED = 3


def _no_audit(_: Snapshot, __: str | None) -> DerivedTables:
    return {}


def _no_export(_: Snapshot, __: str | None) -> Mapping[str, str]:
    return {}


def publish(
    record: Record,
    mart_url: str | Path,
    notice: str = NOTICE,
    *,
    checks: Sequence[RowCheck] = (),
    joins: Derivation | None = None,
    derivations: Sequence[Derivation] = (),
    audit: Callable[[Snapshot, str | None], DerivedTables] = _no_audit,
    export: Callable[[Snapshot, str | None], Mapping[str, str]] = _no_export,
    work: Path | None = None,
    withheld_key: str = DEVELOPMENT_WITHHELD_KEY,
) -> str:
    """Publish what the record contains now and return its data_version.

    The steps, in this order:

    1. Take the publishing lock; a killed publisher's leftovers are deleted.
    2. Compare the record, the notice and the versions of all rules with those of the current
       build. If nothing changed, return its data_version.
    3. Name the data_version and fix which loads of each table belong to it.
    4. Copy every vintage of the record into a snapshot (Parquet files in ``work``), without
       what an operator withheld and without the rows that fail a rule of the rule book.
    5. Run ``checks``, which leave out more rows. Everything left out is counted.
    6. Run ``joins``, which returns ``same_as``: which ids are one organisation. Every row gets
       its canonical id.
    7. Run each derivation; its tables join the snapshot, so that later ones can read them.
    8. Run ``audit``, which returns tables of measurements, and the checks of ``audit.py``. On
       ``AuditFailed`` the snapshot moves to ``work/failed`` with the reason in ``why.txt``.
    9. Run ``export``, which writes the bulk files and returns metadata for the build.
    10. Write the mart: a SQLite file or a PostgreSQL schema that no reader sees yet.
    11. Switch the pointer: from their next read on, readers see the new build.

    ``audit`` and ``export`` also get the data_version of the build before. A process killed
    before step 11 leaves the old build current; publishing again is all that is needed.
    """
    builds = builds_at(mart_url)
    with builds.publishing_lock():
        rules = versions_of_rules(record, checks, [*([joins] if joins else []), *derivations])
        before = builds.current()
        if before is not None and _unchanged(record, builds.metadata(before), notice, rules):
            return before
        data_version = name_version(record)
        with _new_snapshot(work or _default_work(mart_url), record, data_version) as snapshot:
            withhold_rows(snapshot, withheld_key.encode())
            snapshot.apply_rules()
            # Figures are copied once their ids are known: no check reads them.
            snapshot.copy_record([table for table in RECORD_TABLES if table != FUNDAMENTALS])
            for check in checks:
                check.leave_out(snapshot)
            # Every derived table exists, also when nothing derives it.
            snapshot.add({name: arrow_schema(row).empty_table() for name, row in DERIVED.items()})
            snapshot.add({"left_out": snapshot.left_out()})
            if joins is not None:
                snapshot.add(joins.derive(snapshot))
            use_canonical_ids(snapshot)
            snapshot.copy_record([FUNDAMENTALS])
            for derivation in derivations:
                snapshot.add(derivation.derive(snapshot))
            snapshot.add(audit(snapshot, before))
            refuse_unservable_rows(snapshot.sql)
            metadata = {"notice": notice, "made_from": made_from(snapshot.loads, rules)}
            write_mart(snapshot, mart_url, {**metadata, **export(snapshot, before)})
        builds.switch(data_version)
        return data_version


def versions_of_rules(
    record: Record, checks: Sequence[RowCheck], derivations: Sequence[Derivation]
) -> list[str]:
    """Return the versions of everything that decides what a build makes of the loads."""
    withheld = withheld_fingerprint(record)
    return [
        rules_version(),
        *(check.version for check in checks),
        *(derivation.version for derivation in derivations),
        *([f"withheld {withheld}"] if withheld else []),
    ]


def delete_old_builds(mart_url: str | Path, keep: int) -> list[str]:
    """Delete all but the newest ``keep`` builds and the current one; return the deleted."""
    builds = builds_at(mart_url)
    with builds.publishing_lock():
        return list(_delete_old(builds, max(keep, 1)))


def _delete_old(builds: Builds, keep: int) -> Iterator[str]:
    for name in builds.names()[:-keep]:
        # After a rollback the current build can be an old one.
        if name != builds.current():
            builds.remove(name)
            yield name


def _default_work(mart_url: str | Path) -> Path:
    """Return where snapshots are written if the caller names no folder."""
    if is_postgres_url(mart_url):
        return Path(tempfile.gettempdir(), f"sankofa-stage-{os.getuid()}")
    return sqlite_folder(mart_url) / "stage"


@contextmanager
def _new_snapshot(work: Path, record: Record, data_version: str) -> Iterator[Snapshot]:
    """Open an empty snapshot; delete it at the end, and before that those of killed publishers."""
    # The publishing lock is taken: whatever is in here, nobody is writing it any more.
    work.mkdir(parents=True, exist_ok=True)
    for leftover in work.iterdir():
        if leftover.is_dir() and leftover.name != FAILED:
            shutil.rmtree(leftover)
    folder = work / data_version
    try:
        loads = load_seqs_of(record, data_version)
        with Snapshot(folder, record, loads, data_version) as snapshot:
            yield snapshot
    except AuditFailed as failure:
        _keep_failed(work, folder, str(failure))
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keep_failed(work: Path, folder: Path, reason: str) -> None:
    failed = work / FAILED
    failed.mkdir(exist_ok=True)
    (folder / "why.txt").write_text(reason + "\n", encoding="utf-8")
    folder.rename(failed / folder.name)
    for old in sorted(failed.iterdir(), key=lambda path: path.stat().st_mtime)[:-_MAX_FAILED]:
        shutil.rmtree(old)


def _unchanged(
    record: Record, metadata: Mapping[str, str], notice: str, rules: Sequence[str]
) -> bool:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    return (metadata.get("made_from"), metadata.get("notice")) == (made_from(loads, rules), notice)
