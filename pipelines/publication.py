"""One publication: derive, audit, export, write the pages, then switch readers to the build."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from pydantic import TypeAdapter

from assets.entities import derive as entities
from assets.exports.export import export, file_keys, switch_latest
from assets.exports.signing import SigningKey
from assets.metrics import derive as metrics
from assets.pages.place import written_pages
from assets.pages.same_files import link_same_files
from assets.pages.site import PAGE_FILES, write_site
from assets.signals import derive as signals
from assets.signals.listed_issuers import EXTRACTS
from assets.tenders.portal_files import PORTALS
from assets.tenders.portals import Portal
from pipelines.builds import ACCEPTED, COUNTS, LEFT_OUT, MEASURED, clear_unpublished
from quality.audit import audit
from quality.data_docs import write_docs
from quality.floors import with_freshness
from quality.history import append_history
from quality.left_out import accepted_shares
from quality.personal_data_audit import leave_out_personal_data
from quality.report import Counts, Report
from warehouse.code_version import code_version
from warehouse.compute.task import Compute
from warehouse.exports.published import Manifest, PublishedExports, encode_manifest
from warehouse.file_store import is_object_store
from warehouse.mart.audit import AuditFailed
from warehouse.mart.awards import STATED_AWARDS
from warehouse.mart.build import publish, read_manifest
from warehouse.mart.builds import builds_at
from warehouse.mart.partitions import ISSUERS, TENDERS
from warehouse.mart.snapshot import Derivation, DerivedTables, RowCheck, Snapshot
from warehouse.methodology.metrics import METRIC_SET
from warehouse.methodology.signals import SIGNAL_SET
from warehouse.read.build_info import EXPORT_MANIFEST_KEY
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, TENDER_PARTIES, TENDER_RELEASES
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY
from warehouse.steps.files import BuildFile
from warehouse.tables import LeftOut, QualityMetric

CONFIRMED, EXPORT_KEYS = "confirmed_losses", "export_keys"
_MEASUREMENTS = TypeAdapter(list[QualityMetric])
_LEFT_OUT = TypeAdapter(list[LeftOut])
_SHARES = TypeAdapter(dict[str, Decimal])
# The schema version since which a series has one base: builds before counted each base.
_ONE_BASE_SINCE = 8


@cache
def checks() -> tuple[RowCheck, ...]:
    """Return what leaves rows out of a snapshot, under a version made from the code and its lists.

    The version covers the whole audit: a stricter floor or suite is applied at once, too.
    """
    tables = (TENDER_RELEASES, TENDER_PARTIES, ENTITIES)
    return (RowCheck(code_version("quality", "quality.audit"), leave_out_personal_data, tables),)


@cache
def derivations(portals: tuple[Portal, ...] = tuple(PORTALS.values())) -> tuple[Derivation, ...]:
    """Return what is derived from a snapshot, under versions made from the code that does it.

    ``portals`` are those of the installation.

    The first says which ids are one organisation; the others read canonical ids.
    The last two derive no table: a build is also made again if the code of its files, its mart,
    its pages, or of what is withheld changes.
    """
    files = code_version("files", "assets.exports.export", "warehouse.mart.build")
    return (
        entities.joins(),
        entities.derivation(),
        Derivation(
            code_version(METRIC_SET, "assets.metrics.derive"),
            metrics.metrics,
            makes=("metrics", "metrics_absent"),
            subject=ISSUERS,
            reads=("fundamentals", "statements"),
        ),
        Derivation(
            f"{code_version(SIGNAL_SET, 'assets.signals.derive')}.{_dates_hash(portals)}",
            partial(signals.signals, portals={portal.key: portal for portal in portals}),
            makes=("signals",),
            subject=TENDERS,
            reads=("tender_releases", "tender_parties", "party_matches", STATED_AWARDS),
            extracts=EXTRACTS,
        ),
        Derivation(files, lambda _: {}),
        Derivation(code_version("pages", "assets.pages.site", files=PAGE_FILES), lambda _: {}),
    )


def derived_counts(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Return what is told of each derived table: how many rows it has, and of which kinds."""

    def counted(table: str, column: str) -> dict[str, int]:
        statement = (
            f"SELECT {column} AS value, count(*) AS rows FROM {table} "
            f"WHERE {column} IS NOT NULL GROUP BY ALL ORDER BY rows DESC, value"
        )
        return {row["value"]: row["rows"] for row in snapshot.read(statement).to_pylist()}

    def total(table: str, where: str = "TRUE") -> int:
        rows = snapshot.read(f"SELECT count(*) AS rows FROM {table} WHERE {where}")
        return int(rows["rows"][0].as_py())

    parties, resolved = total("party_matches"), total("party_matches", "service_id IS NOT NULL")
    return {
        "same_as": {"ids": total("same_as"), **counted("same_as", "match_method")},
        "party_matches": {
            "parties": parties,
            "resolved": resolved,
            "resolution rate": round(resolved / parties, 4) if parties else None,
            **counted("party_matches", "match_method"),
            **counted("party_matches", "reason"),
        },
        "metrics": {"values": total("metrics"), **counted("metrics_absent", "reason")},
        "signals": {"rows": total("signals"), **counted("signals", "signal_key")},
    }


def _dates_hash(portals: tuple[Portal, ...]) -> str:
    """Return a hash of how portals write dates, which decides about signals."""
    dates = sorted(
        (portal.key, sorted(map(str, portal.sentinel_dates)), portal.zone_label_is_wrong)
        for portal in portals
        if portal.sentinel_dates or portal.zone_label_is_wrong
    )
    return hashlib.sha256(msgspec.json.encode(dates)).hexdigest()[:4]


def _comparable_counts(metadata: Mapping[str, str]) -> Counts | None:
    """Return the rows of a build by table and source, as far as they were counted as today."""
    if COUNTS not in metadata:
        return None
    counts: dict[str, dict[str, int]] = msgspec.json.decode(metadata[COUNTS])
    made_from = msgspec.json.decode(metadata.get("made_from", "{}"))
    if made_from.get("layout", 0) < _ONE_BASE_SINCE:
        return {table: rows for table, rows in counts.items() if not table.startswith("macro_")}
    return counts


@dataclass
class Publication:
    """Where a build goes, and its report and manifest; both None if nothing changed."""

    marts: str
    work: Path
    exports: str
    exports_url: str
    signing_key: Path
    pages: str
    notice: str
    confirm_loss: str | None = None
    portals: tuple[Portal, ...] = tuple(PORTALS.values())
    withheld_key: str = DEVELOPMENT_WITHHELD_KEY
    new_within: Mapping[str, int] = field(default_factory=dict)
    compute: Compute | None = None
    derived: dict[str, dict[str, Any]] = field(default_factory=dict)
    accepted: dict[str, Decimal] = field(default_factory=dict)
    report: Report | None = None
    manifest: Manifest | None = None

    def run(self, record: Record) -> str:
        """Publish the record and return the data_version."""
        joins, *derived = derivations(self.portals)
        data_version = publish(
            record,
            self.marts,
            self.notice,
            checks=checks(),
            joins=joins,
            derivations=derived,
            audit=self._audit,
            export=self._export,
            work=self.work,
            withheld_key=self.withheld_key,
            compute=self.compute,
        )
        self._settle(record)
        return data_version

    def _settle(self, record: Record) -> None:
        """Finish after the switch; every run also does this for a publisher that was killed."""
        builds = builds_at(self.marts)
        with builds.publishing_lock():
            current = str(builds.current())
            metadata = builds.metadata(current)
            if MEASURED in metadata:
                append_history(record, _MEASUREMENTS.validate_json(metadata[MEASURED]))
            if current in PublishedExports(self.exports).versions():
                switch_latest(self.exports, current)

    def _audit(self, snapshot: Snapshot, before: str | None) -> DerivedTables:
        """Measure the snapshot; raise if it must not be published."""
        metadata = {} if before is None else builds_at(self.marts).metadata(before)
        self.accepted = _SHARES.validate_json(metadata.get(ACCEPTED, "{}"))
        self.report = audit(
            snapshot,
            measured_at=datetime.now(UTC),
            previous=_comparable_counts(metadata),
            accepted=self.accepted,
            confirmed=self.confirm_loss or None,
            floors=with_freshness(self.new_within),
            before=self._files_of(before),
        )
        if not self.report.ok:
            write_docs(self.report, snapshot.folder / "quality")
            raise AuditFailed(f"the audit failed; nothing was published.\n{self.report.problems}")
        return {}

    def _files_of(self, data_version: str | None) -> Sequence[BuildFile]:
        """Return the files of a build with the results of their audit, as far as they are kept."""
        manifest = None if data_version is None else read_manifest(self.work, data_version)
        return () if manifest is None else manifest.files

    def _export(self, snapshot: Snapshot, before: str | None) -> Mapping[str, str]:
        assert self.report is not None
        self.derived = derived_counts(snapshot)
        clear_unpublished(self.marts, self.exports, self.pages)
        metadata = {} if before is None else builds_at(self.marts).metadata(before)
        exported = PublishedExports(self.exports).versions()
        self.manifest = export(
            snapshot,
            self.exports,
            base_url=self.exports_url,
            signing_key=SigningKey.at(self.signing_key),
            previous=before if before in exported else None,
            notice=self.notice,
            made_before=msgspec.json.decode(metadata.get(EXPORT_KEYS, "{}")),
        )
        with written_pages(self.pages, snapshot.data_version, self.work) as pages:
            published = PublishedExports(self.exports)
            write_site(snapshot, self.manifest, published, pages, self._api, self.notice)
            write_docs(self.report, pages / "quality" / "data-docs", board="../index.html")
        if before is not None and not is_object_store(self.pages):
            link_same_files(pages, Path(self.pages) / before)
        return {
            EXPORT_MANIFEST_KEY: encode_manifest(self.manifest).decode(),
            EXPORT_KEYS: msgspec.json.encode(file_keys(snapshot, self.notice)).decode(),
            COUNTS: msgspec.json.encode(self.report.counts).decode(),
            MEASURED: _MEASUREMENTS.dump_json(list(self.report.measurements)).decode(),
            LEFT_OUT: _LEFT_OUT.dump_json(list(self.report.left_out)).decode(),
            ACCEPTED: _SHARES.dump_json(self._accepted(self.report)).decode(),
            **self._confirmed(self.report),
        }

    @property
    def _api(self) -> str:
        """Base URL of the service, derived from the URL of its exports."""
        return self.exports_url.removesuffix("/exports")

    def _accepted(self, report: Report) -> dict[str, Decimal]:
        """Return the shares of left-out rows that later publications need not confirm again."""
        return dict(accepted_shares(report.left_out, report.excess, self.accepted))

    def _confirmed(self, report: Report) -> Mapping[str, str]:
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
