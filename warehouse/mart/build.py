"""Publish a build. Start reading at ``publish``."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from warehouse.compute.pool import ProcessPool
from warehouse.compute.task import Compute
from warehouse.mart.audit import AuditFailed
from warehouse.mart.builds import NOTICE, Builds, builds_at, is_postgres_url, sqlite_folder
from warehouse.mart.nodes import STEPS, Nodes, Plan
from warehouse.mart.partitions import bucket_count
from warehouse.mart.snapshot import Derivation, DerivedTables, RowCheck, Snapshot
from warehouse.mart.sqlite_builds import move_into_place
from warehouse.mart.write import made_from, write_mart
from warehouse.record.rules import rules_version
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.record.withheld import withheld_fingerprint
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY
from warehouse.steps.files import BuildFile, BuildManifest, with_results
from warehouse.steps.store import StepStore

FAILED = "failed"
# Which files of steps each build was made from, and the number of its buckets there.
_BUILDS, _BUCKETS = "builds", "buckets"
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
    compute: Compute | None = None,
) -> str:
    """Publish what the record contains now and return its data_version.

    The steps, in this order:

    1. Take the publishing lock; a killed publisher's leftovers are deleted.
    2. Compare the record, the notice and the versions of all rules with those of the current
       build. If nothing changed, return its data_version.
    3. Name the data_version and fix which loads of each table belong to it.
    4. Run the nodes of the snapshot (``nodes.py``), each for the partitions that changed: every
       vintage of the record, without what an operator withheld and without the rows that fail a
       rule of the rule book or of ``checks``; ``joins``, after which every row has its canonical
       id; and the derivations that have a subject.
    5. Open the snapshot over the files of all partitions and run the other derivations.
    6. Run ``audit``, which returns tables of measurements and sets ``snapshot.results``. On
       ``AuditFailed`` the snapshot moves to ``work/failed`` with the reason in ``why.txt``.
    7. Run ``export``, which writes the bulk files and returns metadata for the build.
    8. Write the mart: the files whose rows changed, and a manifest that no reader sees yet.
    9. Switch the pointer: from their next read on, readers see the new build.
    10. Delete the files of steps that this build was not made from.

    ``audit`` and ``export`` also get the data_version of the build before. A process killed
    before step 9 leaves the old build current; publishing again is all that is needed.
    """
    builds = builds_at(mart_url)
    work = work or _default_work(mart_url)
    with builds.publishing_lock(), record.publishing():
        rules = versions_of_rules(record, checks, [*([joins] if joins else []), *derivations])
        before = builds.current()
        if before is not None and _unchanged(record, builds.metadata(before), notice, rules):
            return before
        clear_work(work)
        plan = begin(record, work, before, rules)
        nodes = Nodes(
            record,
            work,
            plan,
            compute or ProcessPool(1),
            checks=checks,
            joins=joins,
            derivations=derivations,
            secret=withheld_key.encode(),
        )
        with _kept_if_rejected(nodes):
            nodes.run_all()
            with nodes.snapshot() as snapshot:
                for derivation in derivations:
                    if derivation.subject is None:
                        snapshot.add(derivation.derive(snapshot))
                snapshot.add(audit(snapshot, before))
                metadata = {"notice": notice, "made_from": plan.made_from}
                write_mart(snapshot, mart_url, {**metadata, **export(snapshot, before)}, compute)
        write_manifest(work, plan, with_results(nodes.files(), snapshot.results))
        builds.switch(plan.data_version)
        delete_old_steps(work, {plan.data_version})
        return plan.data_version


def begin(record: Record, work: Path, before: str | None, rules: Sequence[str]) -> Plan:
    """Name the data_version and fix what belongs to it."""
    data_version = name_version(record)
    loads = load_seqs_of(record, data_version)
    rows = sum(file.rows for file in record.files(FUNDAMENTALS.name))
    last = None if before is None else read_manifest(work, before)
    buckets = None if last is None else int(last.metadata[_BUCKETS])
    plan = Plan(data_version, loads, before, bucket_count(rows, buckets), made_from(loads, rules))
    (work / data_version).mkdir(parents=True, exist_ok=True)
    (work / data_version / "plan.json").write_bytes(msgspec.json.encode(plan))
    return plan


def write_manifest(work: Path, plan: Plan, files: Sequence[BuildFile]) -> None:
    """Write which files of steps a build was made from, so that the next one finds them."""
    metadata = {_BUCKETS: str(plan.buckets)}
    manifest = BuildManifest(plan.data_version, metadata, tuple(files))
    (work / _BUILDS).mkdir(exist_ok=True)
    partial = work / _BUILDS / f"{plan.data_version}.partial"
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    move_into_place(partial, work / _BUILDS / f"{plan.data_version}.json")


def read_manifest(work: Path, data_version: str) -> BuildManifest | None:
    """Return which files of steps a build was made from; None if they are not kept."""
    try:
        body = (work / _BUILDS / f"{data_version}.json").read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(body, type=BuildManifest)


def delete_old_steps(work: Path, keep: Collection[str]) -> None:
    """Delete the files of steps that none of the given builds was made from.

    Files of steps serve the next publication only: those of the last one are enough.
    """
    keys: set[str] = set()
    for path in (work / _BUILDS).glob("*.json"):
        manifest = read_manifest(work, path.stem) if path.stem in keep else None
        if manifest is None:
            path.unlink()
        else:
            keys.update(file.key for file in manifest.files)
    StepStore(work / STEPS).delete_all_but(keys)


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
        database = hashlib.sha256(str(mart_url).encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir(), f"sankofa-stage-{os.getuid()}", database)
    return sqlite_folder(mart_url) / "stage"


def clear_work(work: Path) -> None:
    """Delete what killed publishers left; the publishing lock is taken."""
    work.mkdir(parents=True, exist_ok=True)
    for leftover in work.iterdir():
        if leftover.is_dir() and leftover.name not in (FAILED, STEPS, _BUILDS):
            shutil.rmtree(leftover)


@contextmanager
def _kept_if_rejected(nodes: Nodes) -> Iterator[None]:
    """Delete the folder of a publication at the end; keep its tables if the audit rejects them."""
    try:
        yield
    except AuditFailed as failure:
        _keep_failed(nodes, str(failure))
        raise
    finally:
        shutil.rmtree(nodes.folder, ignore_errors=True)


def _keep_failed(nodes: Nodes, reason: str) -> None:
    failed, folder = nodes.work / FAILED, nodes.folder
    failed.mkdir(exist_ok=True)
    for private in ("stored", "withheld", "extracts"):
        shutil.rmtree(folder / private, ignore_errors=True)
    for file in nodes.files():
        if file.kind != "work":
            # A folder for each table, with a file for each partition.
            path = folder / file.table / f"{file.partition}.parquet"
            path.parent.mkdir(exist_ok=True)
            # What is left out is listed by several steps, whose partitions can have one name.
            if path.exists():
                path = path.with_stem(f"{file.partition}-{file.key[:8]}")
            path.hardlink_to(nodes.path(file))
    (folder / "why.txt").write_text(reason + "\n", encoding="utf-8")
    folder.rename(failed / folder.name)
    for old in sorted(failed.iterdir(), key=lambda path: path.stat().st_mtime)[:-_MAX_FAILED]:
        shutil.rmtree(old)


def _unchanged(
    record: Record, metadata: Mapping[str, str], notice: str, rules: Sequence[str]
) -> bool:
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    return (metadata.get("made_from"), metadata.get("notice")) == (made_from(loads, rules), notice)
