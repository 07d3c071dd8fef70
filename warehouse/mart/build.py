"""Publishing: stage, derive, audit, export, write, and only then one atomic switch.

What is derived, what must hold and what is exported is given by whoever publishes. Killed at
any point, the build before still answers and publishing again is all that is needed.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from warehouse.mart.audit import AuditFailed, refuse_unservable_rows
from warehouse.mart.builds import NOTICE, Builds, builds_at, is_postgres_url, sqlite_folder
from warehouse.mart.snapshot import Derivation, DerivedTables, Snapshot
from warehouse.mart.write import made_from, write_mart
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES, arrow_schema
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.tables import DERIVED

FAILED = "failed"
_FAILED_KEPT = 3


def _nothing(_: Snapshot, __: str | None) -> DerivedTables:
    return {}


def _told_nothing(_: Snapshot, __: str | None) -> Mapping[str, str]:
    return {}


def publish(
    record: Record,
    place: str | Path,
    notice: str = NOTICE,
    *,
    derivations: Sequence[Derivation] = (),
    audit: Callable[[Snapshot, str | None], DerivedTables] = _nothing,
    export: Callable[[Snapshot, str | None], Mapping[str, str]] = _told_nothing,
    work: Path | None = None,
) -> str:
    """Publish what the record holds now and give its data_version.

    With nothing new the current build stays and costs no work. ``audit`` gives the tables
    that tell what was measured, or raises ``AuditFailed``: the build is then kept under
    ``failed`` of the folder ``work`` and is never readable. ``export`` gives what the build
    says of its exports. Both are also told the version before.
    """
    builds, rules = builds_at(place), [each.version for each in derivations]
    with builds.alone():
        before = builds.current()
        if before is not None and _unchanged(record, builds.about(before), notice, rules):
            return before
        data_version = name_version(record)
        with _new_snapshot(work or _beside(place), record, data_version) as snapshot:
            snapshot.copy_record()
            snapshot.add({name: arrow_schema(row).empty_table() for name, row in DERIVED.items()})
            for derivation in derivations:
                snapshot.add(derivation.derive(snapshot))
            snapshot.add(audit(snapshot, before))
            refuse_unservable_rows(snapshot.sql)
            made = {"notice": notice, "made_from": made_from(snapshot.loads, rules)}
            write_mart(snapshot, place, {**made, **export(snapshot, before)})
        builds.switch(data_version)
        return data_version


def _beside(place: str | Path) -> Path:
    """Give where to stage if nobody says so."""
    if is_postgres_url(place):
        return Path(tempfile.gettempdir(), f"sankofa-stage-{os.getuid()}")
    return sqlite_folder(place) / "stage"


def delete_old_builds(place: str | Path, keep: int) -> list[str]:
    """Hold no more than the newest builds and the current one; name those let go of."""
    builds = builds_at(place)
    with builds.alone():
        return list(_retired(builds, max(keep, 1)))


def _retired(builds: Builds, keep: int) -> Iterator[str]:
    for name in builds.names()[:-keep]:
        if name != builds.current():
            builds.remove(name)
            yield name


@contextmanager
def _new_snapshot(work: Path, record: Record, data_version: str) -> Iterator[Snapshot]:
    """Give a stage of its own; what a killed publisher left is cleared away first."""
    work.mkdir(parents=True, exist_ok=True)
    for left in work.iterdir():
        if left.is_dir() and left.name != FAILED:
            shutil.rmtree(left)
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


def _keep_failed(work: Path, folder: Path, why: str) -> None:
    kept = work / FAILED
    kept.mkdir(exist_ok=True)
    (folder / "why.txt").write_text(why + "\n", encoding="utf-8")
    folder.rename(kept / folder.name)
    for old in sorted(kept.iterdir(), key=lambda path: path.stat().st_mtime)[:-_FAILED_KEPT]:
        shutil.rmtree(old)


def _unchanged(record: Record, about: Mapping[str, str], notice: str, rules: Sequence[str]) -> bool:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    return (about.get("made_from"), about.get("notice")) == (made_from(loads, rules), notice)
