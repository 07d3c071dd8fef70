"""A build that is being made, stage by stage: it cannot be read before ``switch``.

``work/<data_version>/`` has ``plan.json``, the loads that belong to it, and ``<stage>.json`` for
each stage that is done: what it hands over. A publication that was killed, or whose audit failed,
is taken up again if the same loads are published under the same rules.
"""

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from warehouse.publish.builds import Builds, builds_at, manifest_file, read_manifest, replace_file
from warehouse.publish.manifest import BuildFile, BuildManifest, decode_manifest, encode_manifest
from warehouse.publish.nodes import PLAN, STEPS, Nodes, Plan
from warehouse.publish.partitions import issuer_buckets
from warehouse.publish.snapshot import Derivation, RowCheck
from warehouse.publish.steps import StepStore
from warehouse.publish.write import made_from, manifest_of
from warehouse.record.integrity import note_files, require_intact
from warehouse.record.rules import rules_version
from warehouse.record.store import Record
from warehouse.record.tables import ELEMENTS, FUNDAMENTALS, RECORD_TABLES
from warehouse.record.versions import load_seqs_of, name_version
from warehouse.record.withheld import withheld_fingerprint
from warehouse.shared.errors import DamagedFile, SankofaError

FAILED, PUBLISHED = "failed", "published"
# Which files of steps each build was made from, and the number of its buckets there.
_BUILDS, _BUCKETS = "builds", "buckets"
# Rejected builds that are kept for inspection; older ones are deleted.
_MAX_FAILED = 3
Value = TypeVar("Value")


@dataclass(kw_only=True)
class Candidate(Nodes):
    """The build that is made of a record; its stages are those of the publication begun last."""

    marts: str | Path
    notice: str

    def begin(self, *, again: bool = False) -> Plan | None:
        """Name a data_version and fix which loads belong to it; None if nothing changed.

        With ``again`` also then: files of the current build are missing.
        """
        with self.working():
            require_intact(self.record)
            before = self.builds.current()
            if self.is_current and not again:
                # For a publisher that was killed right after its switch.
                _delete_old_steps(self.work, str(before))
                return None
            begun = self.begun()
            if begun is not None and self._is_open(begun, before):
                shutil.rmtree(self.work / FAILED / begun.data_version, ignore_errors=True)
                return begun
            self._clear_work()
            self.builds.clean_up()
            return self._plan(before)

    @property
    def is_current(self) -> bool:
        """True if the current build was made from what is loaded, by these rules."""
        current = self.builds.current()
        metadata = {} if current is None else self.builds.metadata(current)
        made = metadata.get("made_from"), metadata.get("notice")
        return made == (self._origin, self.notice)

    @property
    def _origin(self) -> str:
        loads = {table.name: self.record.load_seq(table) for table in RECORD_TABLES}
        return made_from(loads, self._rules)

    @cached_property
    def _rules(self) -> list[str]:
        return versions_of_rules(self.record, self.checks, [self.joins, *self.derivations])

    def _is_open(self, begun: Plan, before: str | None) -> bool:
        """Return whether what was begun is what would be begun now, and is not published."""
        published = self.work / begun.data_version / _name(PUBLISHED)
        return (begun.before, begun.made_from, begun.notice) == (
            before,
            self._origin,
            self.notice,
        ) and not published.exists()

    def _plan(self, before: str | None) -> Plan:
        data_version = name_version(self.record, taken=self.builds.names())
        # After the name, so that the commit of it is noted as well.
        note_files(self.record)
        loads = load_seqs_of(self.record, data_version)
        stored = (self.record.files(table.name) for table in (FUNDAMENTALS, ELEMENTS))
        rows = sum(file.rows for files in stored for file in files)
        last = None if before is None else steps_manifest(self.work, before)
        buckets = None if last is None else int(last.metadata[_BUCKETS])
        origin = made_from(loads, self._rules)
        buckets = issuer_buckets(rows, buckets)
        plan = Plan(data_version, loads, before, buckets, origin, self.notice)
        folder = self.work / data_version
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / PLAN, msgspec.json.encode(plan))
        return plan

    @property
    def builds(self) -> Builds:
        """The builds that it will be one of."""
        return builds_at(self.marts)

    @property
    def begun_at(self) -> float:
        """When the publication was begun, in seconds since 1970."""
        return (self.folder / PLAN).stat().st_mtime

    @property
    def is_published(self) -> bool:
        """True if readers can see it: then none of its files changes any more."""
        name = self.plan.data_version
        return (self.folder / _name(PUBLISHED)).exists() or self.builds.current() == name

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let one publisher work at a time, of this machine or another."""
        with self.builds.publishing_lock(), self.record.publishing():
            yield

    # -- stages ----------------------------------------------------------------------------------

    def require(self, stages: Collection[str]) -> None:
        """Raise unless all the given stages are done."""
        for stage in stages:
            if not (self.folder / _name(stage)).exists():
                raise SankofaError(
                    f"`{stage}` of {self.plan.data_version} has not been made, or was made from "
                    "something else: materialise it first, or run `sankofa publish`"
                )

    def hand_over(self, stage: str, value: object) -> None:
        """Write what a stage gives to those after it; from now on it is done."""
        replace_file(self.folder / _name(stage), msgspec.json.encode(value))

    def handed_over(self, stage: str, kind: type[Value]) -> Value:
        """Read what a stage gave."""
        return msgspec.json.decode((self.folder / _name(stage)).read_bytes(), type=kind)

    def forget(self, stages: Collection[str]) -> None:
        """Let stages count as not done."""
        for stage in stages:
            (self.folder / _name(stage)).unlink(missing_ok=True)

    def take_back(self) -> None:
        """Delete the complete build of a publisher that was killed before its switch."""
        if self.plan.data_version in self.builds.names():
            self.builds.remove(self.plan.data_version)

    def switch(
        self,
        metadata: Mapping[str, str],
        mart_files: Sequence[BuildFile],
        files: Sequence[BuildFile],
    ) -> str:
        """Make it the build that readers see, and return its data_version.

        ``files`` are those of its nodes, with the results of their audit.
        """
        data_version = self.plan.data_version
        origin = {"notice": self.plan.notice, "made_from": self.plan.made_from}
        self.builds.add(manifest_of(data_version, {**origin, **metadata}, mart_files))
        self._write_manifest(files)
        self.builds.switch(data_version)
        self.hand_over(PUBLISHED, data_version)
        _delete_old_steps(self.work, data_version)
        return data_version

    def keep_failed(self, reason: str) -> None:
        """Keep the tables for inspection in ``work/failed``, with the reason in ``why.txt``."""
        failed = self.work / FAILED / self.plan.data_version
        failed.mkdir(parents=True, exist_ok=True)
        for file in self.files():
            # A folder for each table, with a file for each partition.
            path = failed / file.table / f"{file.partition}.parquet"
            # What is left out is listed by several steps, whose partitions can have one name.
            source = self.store.path(file)
            if path.exists() and not path.samefile(source):
                path = path.with_stem(f"{file.partition}-{file.key[:8]}")
            _link(source, path)
        for path in self.folder.glob("*.parquet"):
            _link(path, failed / path.name)
        with (failed / "why.txt").open("a", encoding="utf-8") as why:
            why.write(reason + "\n")
        kept = sorted(failed.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in kept[:-_MAX_FAILED]:
            shutil.rmtree(old)

    def _clear_work(self) -> None:
        """Delete what earlier publications left, but for files that later ones find."""
        self.work.mkdir(parents=True, exist_ok=True)
        for leftover in self.work.iterdir():
            if leftover.is_dir() and leftover.name not in (FAILED, STEPS, _BUILDS):
                shutil.rmtree(leftover)

    def _write_manifest(self, files: Sequence[BuildFile]) -> None:
        """Write which files of steps the build is made from, so that the next one finds them."""
        metadata = {_BUCKETS: str(self.plan.buckets)}
        manifest = BuildManifest(self.plan.data_version, metadata, tuple(files))
        (self.work / _BUILDS).mkdir(exist_ok=True)
        path = manifest_file(self.work / _BUILDS, manifest.data_version)
        replace_file(path, encode_manifest(manifest))


def steps_manifest(work: Path, data_version: str) -> BuildManifest | None:
    """Return which files of steps a build was made from; None if they are not kept, or damaged."""
    return read_manifest(work / _BUILDS, data_version)


def damaged_manifests(work: Path) -> Iterator[tuple[Path, str]]:
    """Yield the lists of files of steps that are damaged, with what is wrong."""
    for path in sorted((work / _BUILDS).glob("*.json")):
        try:
            decode_manifest(path.read_bytes(), str(path))
        except DamagedFile as error:
            yield path, str(error)


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


def _delete_old_steps(work: Path, data_version: str) -> None:
    """Delete the files of steps that a build was not made from: they serve the next one only.

    If the build was made in another work folder, nothing is known of its files, and all stay.
    """
    manifest = steps_manifest(work, data_version)
    if manifest is None:
        return
    for path in (work / _BUILDS).glob("*.json"):
        if path.stem != data_version:
            path.unlink()
    StepStore(work / STEPS).delete_all_but({file.key for file in manifest.files})


def _name(stage: str) -> str:
    return f"{stage}.json"


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    target.hardlink_to(source)
