"""Publish a record in one call: the stages of a ``Candidate`` and what else a test needs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.publish.builds import NOTICE, builds_at, mart_folder
from warehouse.publish.candidate import Candidate
from warehouse.publish.manifest import with_results
from warehouse.publish.nodes import Nodes
from warehouse.publish.partitions import REGISTERS
from warehouse.publish.snapshot import SAME_AS, Derivation, DerivedTables, RowCheck, Snapshot
from warehouse.publish.steps import Compute, ProcessPool
from warehouse.publish.write import MART_KEYS, manifest_of, write_mart_files
from warehouse.record.store import Record
from warehouse.record.tables import arrow_schema
from warehouse.shared.errors import AuditFailed
from warehouse.tables.derived import SameAs


def _no_joins(_: Snapshot) -> DerivedTables:
    return {SAME_AS: arrow_schema(SameAs).empty_table()}


# Every id is an organisation of its own.
NO_JOINS = Derivation("none", _no_joins, (SAME_AS,), REGISTERS)


def _no_audit(_: Snapshot, __: str | None) -> DerivedTables:
    return {}


def _no_export(_: Snapshot, __: str | None) -> Mapping[str, str]:
    return {}


def _no_page_data(_: Snapshot) -> Mapping[str, Any]:
    return {}


def publish(
    record: Record,
    marts: str | Path,
    notice: str = NOTICE,
    *,
    checks: Sequence[RowCheck] = (),
    joins: Derivation = NO_JOINS,
    derivations: Sequence[Derivation] = (),
    audit: Callable[[Snapshot, str | None], DerivedTables] = _no_audit,
    export: Callable[[Snapshot, str | None], Mapping[str, str]] = _no_export,
    page_data: Callable[[Snapshot], Mapping[str, Any]] = _no_page_data,
    work: Path | None = None,
    withheld_key: str = WITHHELD_KEY,
    compute: Compute | None = None,
) -> str:
    """Publish what the record contains now and return its data_version.

    The stages of a ``Candidate``, in this order:

    1. Compare the record, the notice and the versions of all rules with those of the current
       build. If nothing changed, return its data_version. Otherwise name a new one and fix which
       loads of each table belong to it.
    2. Run the nodes of the snapshot (``nodes.py``), each for the partitions that changed: every
       vintage of the record, without what an operator withheld and without the rows that fail a
       rule of the rule book or of ``checks``; ``joins``, after which every row has its canonical
       id; and the derivations that have a subject.
    3. Open the snapshot over the files of all partitions and run the other derivations.
    4. Run ``audit``, which returns tables of measurements and sets ``snapshot.results``. On
       ``AuditFailed`` the tables are kept in ``work/failed`` with the reason in ``why.txt``.
    5. Run ``export``, which writes the bulk files and returns metadata for the build.
    6. Write the mart: the files whose rows changed, which no reader sees yet, with ``page_data``.
    7. Switch the pointer: from their next read on, readers see the new build.

    ``audit`` and ``export`` also get the data_version of the build before. A process killed
    before step 7 leaves the old build current; publishing again is all that is needed.
    """
    candidate = Candidate(
        record,
        work or mart_folder(marts) / "stage",
        checks,
        joins,
        derivations,
        withheld_key,
        compute or ProcessPool(1),
        marts=marts,
        notice=notice,
    )
    plan = candidate.begin()
    if plan is None:
        return str(candidate.builds.current())
    with candidate.working():
        if candidate.is_published:
            # By somebody else, meanwhile.
            return plan.data_version
        run_all(candidate)
        with candidate.snapshot() as snapshot:
            for derivation in derivations:
                if derivation.subject is None:
                    snapshot.add(derivation.derive(snapshot))
            try:
                snapshot.add(audit(snapshot, plan.before))
            except AuditFailed as failed:
                candidate.keep_failed(str(failed))
                raise
            metadata = export(snapshot, plan.before)
            before = None if plan.before is None else candidate.builds.manifest(plan.before)
            files, keys = msgspec.structs.astuple(
                write_mart_files(snapshot, marts, candidate.compute, page_data(snapshot), before)
            )
        metadata = {**metadata, MART_KEYS: msgspec.json.encode(keys).decode()}
        return candidate.switch(metadata, files, with_results(candidate.files(), snapshot.results))


def run_all(nodes: Nodes) -> None:
    """Run every node that is not done, as the assets of a publication do one by one."""
    for name in nodes.names():
        nodes.run(name)
    nodes.delete_copies()


def write_mart(snapshot: Snapshot, mart: str | Path, metadata: Mapping[str, str]) -> None:
    """Write the complete build of a snapshot; no reader sees it before ``Builds.switch``."""
    files = write_mart_files(snapshot, mart, ProcessPool(1)).files
    builds_at(mart).add(manifest_of(snapshot.data_version, metadata, files))
