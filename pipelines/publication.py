"""One publication: what each of its stages does. ``stages.py`` has their order.

Every stage works on the publication that was begun last, hands over files in its folder, and can
be run again by itself. No one can read any of it before ``switch``.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import msgspec
from pydantic import TypeAdapter

from assets.entities.list_files import community_lists
from assets.exports.export import changes_of_export, export, file_keys, switch_latest
from assets.ingest.sources import sources_of
from assets.page_data import page_data
from pipelines import stages
from pipelines.builds import (
    ACCEPTED,
    COUNTS,
    LEFT_OUT,
    MEASURED,
    clear_unpublished,
    delete_old_versions,
    refuse_empty,
)
from pipelines.guides import generated_guides
from pipelines.verify import is_incomplete
from quality.audit import audit, audit_tables, planned
from quality.data_docs import DATA_DOCS, data_docs
from quality.floors import with_freshness
from quality.personal_data_audit import audit_finished
from quality.report import Counts, Report, accepted_shares, append_history
from quality.withheld_search import Finding, described
from warehouse.publish.builds import NOTICE, SAMPLE_NOTICE, does_age, mart_folder, starter_notice
from warehouse.publish.candidate import FAILED, Candidate, steps_manifest
from warehouse.publish.manifest import BuildFile, with_results
from warehouse.publish.nodes import Plan
from warehouse.publish.shared_builds import pull_builds, push_builds
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.steps import Compute, ProcessPool
from warehouse.publish.write import MART_KEYS, MartFiles, write_mart_files
from warehouse.record.landing import open_landing
from warehouse.record.store import Record, open_record
from warehouse.record.versions import last_read, require_withheld_key, world_of
from warehouse.serve.catalogue import CHANGES, EXPORT_MANIFEST_KEY
from warehouse.serve.exports import Manifest, PublishedExports, encode_manifest
from warehouse.serve.finished_files import finished_files
from warehouse.shared.errors import AlreadyPublished, AuditFailed, SankofaError
from warehouse.shared.metrics import (
    PUBLICATION_SECONDS,
    PUBLICATIONS,
    PUBLISHED_AT,
    STAGE_SECONDS,
    counting,
)
from warehouse.shared.settings import Settings
from warehouse.shared.signing import SigningKey
from warehouse.tables.derived import DERIVED, LeftOut
from warehouse.tables.operations import QualityMetric

# The process that counts publications.
_PROCESS = "publish"
CONFIRMED, EXPORT_KEYS = "confirmed_losses", "export_keys"
_DOCS = "quality"
_NAMED = (
    "the audit failed; nothing was published. Names that were withheld are in the finished build:\n"
    "{}\nThe tables are kept under `stage/failed`. It is a mistake of ours: please report the "
    "places. To publish without these rows, withhold them (`sankofa withhold`)"
)
_MEASUREMENTS = TypeAdapter(list[QualityMetric])
_LEFT_OUT = TypeAdapter(list[LeftOut])
_SHARES = TypeAdapter(dict[str, Decimal])


class Audited(msgspec.Struct, frozen=True):
    """What the audit hands over: metadata of the build, files with their results, and Data Docs."""

    metadata: dict[str, str]
    files: list[BuildFile]
    docs: dict[str, str]


@dataclass
class Publication:
    """Where a build comes from and where it goes."""

    record: Record
    settings: Settings
    notice: str
    confirm_loss: str | None = None
    new_within: Mapping[str, int] = field(default_factory=dict)
    compute: Compute = field(default_factory=lambda: ProcessPool(1))

    @cached_property
    def candidate(self) -> Candidate:
        """The build that is made."""
        joins, *derived = stages.derivations(community_lists(self.settings.list_files))
        return Candidate(
            self.record,
            self.settings.work,
            stages.checks(),
            joins,
            derived,
            self.settings.withheld_key,
            self.compute,
            marts=self.settings.marts,
            notice=self.notice,
        )

    @property
    def data_version(self) -> str:
        """The data_version of the publication that was begun last."""
        return self.candidate.plan.data_version

    # -- stages ----------------------------------------------------------------------------------

    def begin(self) -> Plan | None:
        """Fix which loads belong to the publication; None if nothing changed since the last."""
        with counted_stage(self.settings.metrics, stages.SNAPSHOT):
            builds = self.candidate.builds
            if self.settings.shared_marts and not builds.names():
                # Another machine published before this one.
                pull_builds(self.settings.shared_marts, builds)
            if builds.current() is not None:
                # For a publisher that was killed right after its switch.
                self._settle()
            # If parts of the current build are missing, they are made again, as a new build.
            plan = self.candidate.begin(
                again=is_incomplete(self.settings.marts, self.settings.exports)
            )
        if plan is None:
            count_publication(self.settings.metrics, "unchanged")
        return plan

    def make(self, node: stages.Node) -> Mapping[str, Any]:
        """Run a node for the partitions that changed; return the metadata of its files."""
        names = stages.files_of([node.name])
        with self._stage(node.name):
            differs = [self.candidate.run_again(name) for name in names]
            if any(differs):
                self.candidate.forget(list(stages.stages_after(node.name)))
            files = [file for name in names for file in self.candidate.run(name)]
            counts: Mapping[str, Any] = {}
            if node.name in DERIVED:
                counts = stages.derived_counts(self.record.query, self.candidate.paths, node.name)
        return {**counts, **_described(files)}

    def check(self, node: stages.Node) -> Report:
        """Audit what a node made; the audit of the whole takes over what passed."""
        name = _checked(node.name)
        with counted_stage(self.settings.metrics, name), self.candidate.working():
            self.candidate.require([node.name])
            self.candidate.forget([name])
            files = self.candidate.shown_files()
            plan = planned(files, stages.suites_of(node), self._audited_before())
            report = audit_tables(
                self.data_version, plan, partial(self.candidate.open, self.candidate.folder)
            )
            if report.ok:
                files = with_results(files, plan.results(self.data_version))
                self.candidate.hand_over(name, [file for file in files if file.audit])
            else:
                self._keep_failed(report)
        return report

    def audit(self) -> Report:
        """Audit the snapshot as a whole; if that fails, nothing after it can be made."""
        with self._stage(stages.QUALITY):
            self.candidate.forget([stages.QUALITY, *stages.stages_after(stages.QUALITY)])
            with self.candidate.snapshot() as snapshot:
                report = self.audited(snapshot)
                files = with_results(self.candidate.files(), snapshot.results)
            if report.ok:
                docs = data_docs(report, board="../")
                audited = Audited(dict(self._metadata(report)), files, docs)
                self.candidate.hand_over(stages.QUALITY, audited)
            else:
                self._keep_failed(report)
        return report

    def audited(self, snapshot: Snapshot) -> Report:
        """Return the report of a snapshot."""
        before = self._metadata_before()
        return audit(
            snapshot,
            measured_at=datetime.now(UTC),
            previous=_counts(before),
            accepted=_SHARES.validate_json(before.get(ACCEPTED, "{}")),
            confirmed=self.confirm_loss or None,
            floors=with_freshness(
                self.new_within, is_sample=not does_age(self.candidate.plan.notice)
            ),
            before=self._audited_before(),
        )

    def export(self) -> Manifest:
        """Write the bulk files and return their manifest."""
        with self._stage(stages.EXPORTS), self.candidate.snapshot() as snapshot:
            self.candidate.forget([stages.EXPORTS, *stages.stages_after(stages.EXPORTS)])
            self.candidate.take_back()
            clear_unpublished(self.settings.marts, self.settings.exports)
            before = self.candidate.plan.before
            manifest = export(
                snapshot,
                self.settings.exports,
                signing_key=SigningKey.at(self.settings.signing_key),
                previous=before
                if before in PublishedExports(self.settings.exports).versions()
                else None,
                notice=self.candidate.plan.notice,
                made_before=msgspec.json.decode(self._metadata_before().get(EXPORT_KEYS, "{}")),
            )
            keys = msgspec.json.encode(file_keys(snapshot, self.candidate.plan.notice)).decode()
            exported = {
                EXPORT_MANIFEST_KEY: encode_manifest(manifest).decode(),
                EXPORT_KEYS: keys,
            }
            changes = changes_of_export(snapshot, self.settings.exports, before)
            if changes is not None:
                exported[CHANGES] = msgspec.json.encode(changes).decode()
            self.candidate.hand_over(stages.EXPORTS, exported)
        return manifest

    def write_mart(self) -> Sequence[BuildFile]:
        """Write the files of the mart that no build has yet; return all of them."""
        published, before = PublishedExports(self.settings.exports), self.candidate.plan.before
        manifest_before = None if before is None else self.candidate.builds.manifest(before)
        with self._stage(stages.MART), self.candidate.snapshot() as snapshot:
            shown = page_data(snapshot, published.manifest(self.data_version), published)
            docs = self.candidate.handed_over(stages.QUALITY, Audited).docs
            shown |= {f"{DATA_DOCS}/{name}": page for name, page in docs.items()}
            shown["guides"] = generated_guides()
            written = write_mart_files(
                snapshot, self.settings.marts, self.compute, shown, manifest_before
            )
            self.candidate.hand_over(stages.MART, written)
        return written.files

    def switch(self) -> str:
        """Make the build the one that readers see, and return its data_version.

        Raise ``AuditFailed`` if any of its files has a name that was withheld.
        """
        begun_at = self.candidate.begun_at
        with self._stage(stages.BUILD):
            audited = self.candidate.handed_over(stages.QUALITY, Audited)
            exported = self.candidate.handed_over(stages.EXPORTS, dict[str, str])
            files, keys = msgspec.structs.astuple(
                self.candidate.handed_over(stages.MART, MartFiles)
            )
            metadata = {**exported, **audited.metadata}
            metadata[MART_KEYS] = msgspec.json.encode(keys).decode()
            findings = self._withheld_names(files, metadata)
            if not findings:
                self.candidate.switch(metadata, files, audited.files)
            else:
                self._keep_named(described(findings))
        if findings:
            count_publication(self.settings.metrics, "refused")
            raise AuditFailed(_NAMED.format(described(findings)))
        self._settle()
        count_publication(self.settings.metrics, "published", begun_at)
        return self.data_version

    # --------------------------------------------------------------------------------------------

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Work on a stage whose inputs are there; raise if a published build would change."""
        with counted_stage(self.settings.metrics, name), self.candidate.working():
            self.candidate.require(stages.files_of(stages.DEPS[name]))
            if name not in stages.NODE_NAMES and self.candidate.is_published:
                raise AlreadyPublished(
                    f"{self.data_version} is published, and its files never change: `sankofa "
                    "publish` makes a new build if anything changed"
                )
            yield

    def _keep_failed(self, report: Report) -> None:
        self.candidate.keep_failed(_refusal(report))
        count_publication(self.settings.metrics, "refused")
        folder = self.settings.work / FAILED / self.data_version / _DOCS
        for name, page in data_docs(report).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(page, "utf-8")

    def _withheld_names(
        self, files: Sequence[BuildFile], metadata: Mapping[str, str]
    ) -> list[Finding]:
        """Return every place of the finished build that has a name that was withheld."""
        folder = mart_folder(self.settings.marts)
        finished = finished_files(folder, files, self.settings.exports, self.data_version, metadata)
        with self.candidate.snapshot() as snapshot:
            return audit_finished(
                snapshot, finished, self.settings.withheld_key.encode(), self.settings.work
            )

    def _keep_named(self, places: str) -> None:
        """Keep the tables for inspection, and delete the files: exports can be read by name."""
        self.candidate.keep_failed(_NAMED.format(places))
        self.candidate.forget([stages.EXPORTS, *stages.stages_after(stages.EXPORTS)])
        clear_unpublished(self.settings.marts, self.settings.exports)

    def _settle(self) -> None:
        """Finish after the switch; every run also does this for a publisher that was killed."""
        builds = self.candidate.builds
        with builds.publishing_lock():
            current = str(builds.current())
            metadata = builds.metadata(current)
            if MEASURED in metadata:
                append_history(self.record, _MEASUREMENTS.validate_json(metadata[MEASURED]))
            if current in PublishedExports(self.settings.exports).versions():
                switch_latest(self.settings.exports, current)
            push_builds(builds, self.settings.shared_marts)

    def _audited_before(self) -> list[BuildFile]:
        """Return files with results that may still hold: of the build before, of this one."""
        before = self.candidate.plan.before
        manifest = None if before is None else steps_manifest(self.settings.work, before)
        files = [] if manifest is None else list(manifest.files)
        for path in sorted(self.candidate.folder.glob(_checked("*") + ".json")):
            files += self.candidate.handed_over(path.stem, list[BuildFile])
        return files

    def _metadata_before(self) -> Mapping[str, str]:
        before = self.candidate.plan.before
        return {} if before is None else self.candidate.builds.metadata(before)

    def _metadata(self, report: Report) -> Mapping[str, str]:
        """Return what a build says of its audit."""
        accepted = _SHARES.validate_json(self._metadata_before().get(ACCEPTED, "{}"))
        # Later publications need not confirm these again.
        shares = dict(accepted_shares(report.left_out, report.excess, accepted))
        return {
            COUNTS: msgspec.json.encode(report.counts).decode(),
            MEASURED: _MEASUREMENTS.dump_json(list(report.measurements)).decode(),
            LEFT_OUT: _LEFT_OUT.dump_json(list(report.left_out)).decode(),
            ACCEPTED: _SHARES.dump_json(shares).decode(),
            **_confirmed(report),
        }


class Publishing:
    """The publications of an installation, computed by processes that are started once a run."""

    def __init__(self, settings: Settings, compute: Compute) -> None:
        self.settings, self._compute = settings, compute

    @cached_property
    def _record(self) -> Record:
        # One for all stages of a run: to open a table takes four times as long as to look what is
        # new in one that is open.
        return open_record(self.settings)

    def publication(self, confirm_loss: str = "", notice: str = "") -> Publication:
        """Return the publication that was begun last, or one to begin, which has a notice."""
        refuse_empty(self._record)
        return Publication(
            self._record,
            self.settings,
            notice,
            confirm_loss or None,
            {source.key: source.new_within for source in sources_of(self.settings)},
            self._compute,
        )

    def begin(self) -> Plan | None:
        """Begin a publication; None, after cleaning up, if nothing changed since the last."""
        return self._begin(self._to_begin())

    def ends_unchanged(self) -> bool:
        """Return whether nothing is to be published; if so, all that is left to do is done.

        False if that cannot be known: then whoever begins a publication is told why.
        """
        with suppress(SankofaError):
            publication = self._to_begin()
            return publication.candidate.is_current and self._begin(publication) is None
        return False

    def _to_begin(self) -> Publication:
        landing, record = open_landing(self.settings), self._record
        world = world_of(record, landing)
        require_withheld_key(self.settings.withheld_key, world)
        refuse_empty(record)
        notice = SAMPLE_NOTICE if world == "fictional" else NOTICE
        if world == "starter":
            notice = starter_notice(last_read(record))
        return self.publication(notice=notice)

    def _begin(self, publication: Publication) -> Plan | None:
        plan = publication.begin()
        if plan is None:
            delete_old_versions(self.settings)
        return plan


def refuse_failed(report: Report) -> None:
    """Raise ``AuditFailed`` if what a report speaks of must not be published."""
    if not report.ok:
        raise AuditFailed(_refusal(report))


def _refusal(report: Report) -> str:
    return f"the audit failed; nothing was published.\n{report.problems}"


def _checked(node: str) -> str:
    return f"{node}-checked"


def _described(files: Sequence[BuildFile]) -> Mapping[str, Any]:
    """Return the metadata of the files of a node: rows by table, number and size."""
    rows: dict[str, int] = {}
    for file in files:
        rows[file.table] = rows.get(file.table, 0) + file.rows
    return {
        **{f"rows of {table}": number for table, number in rows.items()},
        "partitions": len({file.partition for file in files}),
        "bytes": sum(file.bytes for file in files),
    }


def _counts(metadata: Mapping[str, str]) -> Counts | None:
    """Return the rows of a build by table and source; None if it does not say."""
    return msgspec.json.decode(metadata[COUNTS]) if COUNTS in metadata else None


def _confirmed(report: Report) -> Mapping[str, str]:
    """Return as metadata which losses of rows an operator confirmed, and why."""
    if not report.to_confirm:
        return {}
    lost = [
        f"{excess.rule}: left out {excess.rows} of {excess.rows_stored} rows"
        for excess in report.excess
    ]
    lost += [
        f"{loss.table}: {loss.what} of {loss.source} fell from {loss.before} to {loss.after}"
        for loss in report.losses
    ]
    metadata = {"why": report.confirmed, "losses": lost}
    return {CONFIRMED: msgspec.json.encode(metadata).decode()}


@contextmanager
def counted_stage(folder: str | None, stage: str) -> Iterator[None]:
    """Count how long a stage takes; one that fails ends its publication."""
    started = time.monotonic()
    with counting(folder, _PROCESS) as counts:
        try:
            yield
        except AlreadyPublished:
            # By another run, meanwhile.
            raise
        except BaseException:
            counts.add(PUBLICATIONS, "failed")
            raise
        finally:
            counts.add(STAGE_SECONDS, stage, value=time.monotonic() - started)


def count_publication(folder: str | None, outcome: str, begun_at: float | None = None) -> None:
    """Count a publication; if it ended well, also when, and how long it took since it was begun."""
    with counting(folder, _PROCESS) as counts:
        counts.add(PUBLICATIONS, outcome)
        if outcome != "refused":
            counts.set(PUBLISHED_AT, value=time.time())
        if begun_at is not None:
            counts.set(PUBLICATION_SECONDS, value=time.time() - begun_at)
