"""The build and its files: is there one, is it stale, refused, in the making, and whole."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipelines.builds import BEGIN, BuildInfo, builds_before_withheld, is_loaded, list_builds
from pipelines.commands.quality import current_quality
from pipelines.dagster_home import killed_runs
from pipelines.doctor.findings import CheckContext, Finding, fault, note, ok
from pipelines.verify import damaged_record, damaged_sizes
from warehouse.publish.builds import PUBLISHING_LOCK, SAMPLE_NOTICE, builds_at
from warehouse.publish.tables import READABLE_SCHEMA_VERSIONS
from warehouse.record.erase import erasures, stored_rows
from warehouse.record.store import open_record
from warehouse.record.tables import RECORD_TABLES
from warehouse.shared.locks import lock_owner


def build(context: CheckContext) -> Iterator[Finding]:
    """Check that a build is served, that it is the newest, and its age."""
    builds = [
        build_info
        for build_info in list_builds(context.settings)
        # Newer code may publish beside this one.
        if build_info.schema_version in (None, *READABLE_SCHEMA_VERSIONS)
    ]
    current = next((build_info for build_info in builds if build_info.current), None)
    if current is None:
        if is_loaded(open_record(context.settings)):
            yield fault("build", "what is loaded is not published", "`sankofa publish`")
        else:
            yield note("build", "nothing here yet", BEGIN)
        return
    metadata = builds_at(context.settings.marts).metadata(current.data_version)
    if builds[0] != current:
        # Whoever rolled back did not want what was loaded since.
        says = f"readers see {current.data_version}, rolled back from {builds[0].data_version}"
        yield note("build", says, f"`sankofa rollback {builds[0].data_version}` goes forward again")
        return
    stale = [
        *_not_published(context, metadata),
        *_too_old(current, metadata, context.settings.stale_hours),
    ]
    yield from stale
    if not stale:
        yield ok("build", f"readers see {current.data_version}, the newest")


def publishing(context: CheckContext) -> Iterator[Finding]:
    """Name the process that the next publication would wait for, and runs that were killed."""
    owner = lock_owner(builds_at(context.settings.marts).path / PUBLISHING_LOCK)
    if owner is not None:
        yield note(
            "publication",
            f"the builds are in use by {owner}; other publications wait for it",
            "nothing while it works; if it hangs, end that process: `sankofa publish` takes up "
            "what it left",
        )
    killed = killed_runs(context.settings)
    if killed:
        yield note(
            "runs",
            f"killed, and perhaps still in progress for Dagster: {', '.join(killed)}",
            "nothing waits for them; the next `sankofa publish` or `sankofa ingest` ends them",
        )


def refused_build(context: CheckContext) -> Iterator[Finding]:
    """Check that the last publication was not refused."""
    failed = sorted((context.settings.work / "failed").glob("*/why.txt"), key=_changed)
    newest = max(
        (
            build_info.published_at
            for build_info in list_builds(context.settings)
            if build_info.published_at
        ),
        default=None,
    )
    if failed and (newest is None or _changed(failed[-1]) > newest.timestamp()):
        yield fault(
            "audit",
            f"the last publication was refused: {failed[-1].read_text('utf-8').splitlines()[0]}",
            f"read {failed[-1]}, fix what it names, then `sankofa publish`",
        )


def freshness(context: CheckContext) -> Iterator[Finding]:
    """Check that every source has something new, as old as its publisher usually lets it get."""
    if builds_at(context.settings.marts).current() is None:
        return
    for row in current_quality(context.settings):
        if row.metric == "days_since_new" and row.status == "FAIL":
            yield note(
                "freshness",
                f"{row.scope}: its newest publication was {row.value} days old when "
                f"{row.data_version} was published, and {row.floor} are usual",
                f"`sankofa ingest {row.scope} --live`; if nothing newer comes, look at the "
                "publisher's page whether its address changed",
            )


def held_back(context: CheckContext) -> Iterator[Finding]:
    """Check that what is withheld or erased is in nothing that is served."""
    record, builds = open_record(context.settings), builds_at(context.settings.marts)
    names = builds.names()
    # The entries of a document, one for each source, differ in nothing that is checked here.
    for entry in {entry.document: entry for entry in erasures(record)}.values():
        left = [name for name in entry.data_versions if name in names]
        if left or stored_rows(record, entry.document):
            yield fault(
                "erased",
                f"the erasure of {entry.document} was interrupted",
                f'`sankofa erase {entry.document} --why "{entry.why}"`',
            )
    current, behind = builds.current(), builds_before_withheld(context.settings)
    if current is None:
        return
    if current in behind:
        says = "the build being served still contains what was withheld since"
        yield fault("withheld", says, "`sankofa publish`")
    elif behind:
        says = f"{len(behind)} older builds were made before the last change of what is withheld"
        yield note("withheld", says, "`sankofa builds drop` deletes those that must not be read")


def _not_published(context: CheckContext, metadata: dict[str, str]) -> Iterator[Finding]:
    if not Path(context.settings.record, "loads").is_dir():
        return
    record, made_from = open_record(context.settings), json.loads(metadata.get("made_from", "{}"))
    published_loads = made_from.get("loads", {})
    unpublished = [
        table.name
        for table in RECORD_TABLES
        if record.load_seq(table) > published_loads.get(table.name, 0)
    ]
    if unpublished:
        yield fault(
            "build",
            f"stale: what was loaded since is not in it ({', '.join(unpublished)})",
            "`sankofa publish`",
        )


def _too_old(current: BuildInfo, metadata: dict[str, str], hours: int) -> Iterator[Finding]:
    """Report a build that is too old; sample data does not age."""
    if current.published_at is None or metadata.get("notice") == SAMPLE_NOTICE:
        return
    age = datetime.now(UTC) - current.published_at
    if age > timedelta(hours=hours):
        yield fault(
            "build",
            f"stale: {current.data_version} was published {age.days} days and "
            f"{age.seconds // 3600} hours ago, and {hours} hours are allowed",
            "turn on the schedules on Dagster's page, or `sankofa ingest --live` and `sankofa "
            "publish`; SANKOFA_STALE_HOURS sets another age",
        )


def _changed(path: Path) -> float:
    return path.stat().st_mtime


# Faults of one kind that are listed; `sankofa verify` lists all.
_MOST = 5


def files(context: CheckContext) -> Iterator[Finding]:
    """Check that the files of the record and of all that is published are there and whole."""
    settings = context.settings
    found = [
        *damaged_record(settings, thorough=False),
        *damaged_sizes(settings.marts, settings.exports),
    ]
    for damage in found[:_MOST]:
        yield fault(damage.what, damage.says, damage.do)
    if len(found) > _MOST:
        yield fault("files", f"{len(found) - _MOST} more are damaged", "`sankofa verify`")
    if not found:
        yield ok("files", "all are there with their sizes; `sankofa verify` checks every byte")
