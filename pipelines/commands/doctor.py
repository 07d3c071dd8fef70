"""``sankofa doctor``: what is wrong with an installation, and what to do.

``doctor_machine`` looks at the machine, stores, keys and settings; the other checks are here.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

import click
from rich.padding import Padding
from rich.text import Text

from assets.fetching.addresses import LOOPBACK
from assets.fetching.client import FetchError
from assets.ingest.failures import in_words
from assets.ingest.land import Prober, missing_setting, probe
from assets.ingest.load import failed_documents, lost_documents
from assets.ingest.sources import SOURCES, sources_of
from assets.source import Source, asked_url_of
from pipelines.builds import BEGIN, builds_before_withheld, is_loaded, last_published, list_builds
from pipelines.commands import doctor_machine as machine
from pipelines.commands.doctor_machine import CheckContext, Finding, fault, note, ok
from pipelines.commands.exit_status import Exit
from pipelines.commands.quality import current_quality
from pipelines.dagster_home import killed_runs
from pipelines.output import console, json_option, print_json
from pipelines.verify import damaged_record, damaged_sizes
from warehouse.publish.builds import PUBLISHING_LOCK, builds_at, does_age
from warehouse.publish.tables import READABLE_SCHEMA_VERSIONS
from warehouse.record.erase import erasures, stored_rows
from warehouse.record.landing import observed_at_of, open_landing
from warehouse.record.quarantine import sources_with_failures
from warehouse.record.store import open_record
from warehouse.record.tables import RECORD_TABLES
from warehouse.shared.errors import DatastoreUnavailable, SankofaError
from warehouse.shared.locks import lock_owner
from warehouse.shared.settings import readable_settings

_BLOCKED = frozenset({401, 403, 407, 429, 451})
_MAX_THREADS = 8
# Sources of which the same is to be said are counted from so many on; JSON has each.
_MOST_ALIKE = 2
# Faults of files that are listed; `sankofa verify` lists all.
_MOST_FILES = 5


def build(context: CheckContext) -> Iterator[Finding]:
    """Check that a build is served, that it is the newest, and its age."""
    builds = [
        build_info
        for build_info in list_builds(context.settings)
        # Newer code may publish alongside this version.
        if build_info.schema_version in (None, *READABLE_SCHEMA_VERSIONS)
    ]
    current = next((build_info for build_info in builds if build_info.current), None)
    if current is None:
        if is_loaded(open_record(context.settings)):
            yield fault("build", "what is loaded is not published", "`sankofa publish`")
        else:
            yield note("build", "nothing here yet", BEGIN)
        return
    if builds[0] != current:
        # Whoever rolled back did not want what was loaded since.
        says = f"readers see {current.data_version}, rolled back from {builds[0].data_version}"
        yield note("build", says, f"`sankofa rollback {builds[0].data_version}` goes forward again")
        return
    metadata = builds_at(context.settings.marts).metadata(current.data_version)
    published = json.loads(metadata.get("made_from", "{}")).get("loads", {})
    record, hours = open_record(context.settings), context.settings.stale_hours
    unpublished = [
        table.name
        for table in RECORD_TABLES
        if record.load_seq(table) > published.get(table.name, 0)
    ]
    if unpublished:
        says = f"stale: what was loaded since is not in it ({', '.join(unpublished)})"
        yield fault("build", says, "`sankofa publish`")
    age = datetime.now(UTC) - (current.published_at or datetime.now(UTC))
    if does_age(metadata.get("notice")) and age > timedelta(hours=hours):
        yield fault(
            "build",
            f"stale: {current.data_version} was published {age.days} days and "
            f"{age.seconds // 3600} hours ago, and {hours} hours are allowed",
            "turn on the schedules on Dagster's page, or `sankofa ingest --live` and `sankofa "
            "publish`; SANKOFA_STALE_HOURS sets another age",
        )
    elif not unpublished:
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
    newest = last_published(context.settings)
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


def _changed(path: Path) -> float:
    return path.stat().st_mtime


def files(context: CheckContext) -> Iterator[Finding]:
    """Check that the files of the record and of all that is published are there and whole."""
    settings = context.settings
    found = [
        *damaged_record(settings, thorough=False),
        *damaged_sizes(settings.marts, settings.exports),
    ]
    for damage in found[:_MOST_FILES]:
        yield fault(damage.what, damage.says, damage.do)
    if len(found) > _MOST_FILES:
        yield fault("files", f"{len(found) - _MOST_FILES} more are damaged", "`sankofa verify`")
    if not found:
        yield ok("files", "all are there with their sizes; `sankofa verify` checks every byte")


def sources(context: CheckContext) -> Iterator[Finding]:
    """Check every source; with ``--live``, also by one request."""
    try:
        known = sources_of(context.settings)
    except SankofaError as error:
        yield fault("SANKOFA_PORTALS", str(error), "correct the file; until then no command works")
        known = SOURCES
    with Prober(context.settings) as client, ThreadPoolExecutor(_MAX_THREADS) as executor:
        yield from executor.map(lambda source: _check_source(context, source, client), known)


def unread_documents(context: CheckContext) -> Iterator[Finding]:
    """Report documents on which a parser failed, and those that can no longer be read."""
    record, landing = open_record(context.settings), open_landing(context.settings)
    suspects = sources_with_failures(record)
    for source in sources_of(context.settings):
        failures = failed_documents(record, landing, source) if source.key in suspects else []
        if failures:
            last = failures[-1]
            yield fault(
                f"parser of {source.key}",
                f"failed on {len(failures):,} documents, which are unread, last on {last.url}: "
                f"{in_words(last)}",
                f"report it, or correct the parser; then `sankofa ingest {source.key}`",
            )
        lost = lost_documents(record, landing, source)
        if lost:
            yield fault(
                f"documents of {source.key}",
                f"{len(lost):,} bodies were removed from the landing after their time, and the "
                "record has no reading of them",
                "restore the record, or the landing, from your backup",
            )


def _check_source(context: CheckContext, source: Source, client: Prober) -> Finding:
    landed = _landed(context, source)
    if not source.permitted:
        return note(
            source.key,
            "refused: its licence does not permit serving, or none is stated",
            "`sankofa sources` names licences; once one is cleared, declare its class",
        )
    if source.fetch is None:
        return ok(source.key, f"read from recordings; {landed}")
    missing = missing_setting(client, source, context.settings)
    if missing is not None:
        report = fault if context.live else note
        do = "set it, or name the sources you want: `sankofa ingest SOURCE --live`"
        return report(source.key, f"a key or setting is missing: {missing}", do)
    return (
        _probe_source(context, client, source, landed) if context.live else ok(source.key, landed)
    )


def _probe_source(context: CheckContext, client: Prober, source: Source, landed: str) -> Finding:
    host = urlsplit(asked_url_of(source, context.settings)).hostname
    if not context.settings.contact and host not in LOOPBACK:
        return note(source.key, "not probed, because no contact is set: see Keys and settings")
    try:
        probe(client, source, context.settings)
    except FetchError as error:
        if error.status in _BLOCKED:
            says = f"blocked: {error}"
            do = "check SANKOFA_CONTACT and the key of this source, then write to its publisher"
            return fault(source.key, says, do)
        says = f"does not answer correctly: {error}"
        return fault(
            source.key, says, "try again later; until then the landed documents are served"
        )
    return ok(source.key, f"answers; {landed}")


def _landed(context: CheckContext, source: Source) -> str:
    keys = open_landing(context.settings).keys(source.key)
    if not keys:
        return "nothing landed yet"
    newest = max(map(observed_at_of, keys))
    return f"{len(keys):,} documents landed, the newest of {newest:%Y-%m-%d}"


Check = Callable[[CheckContext], Iterable[Finding]]
_CHECKS: dict[str, tuple[Check, ...]] = {
    "Machine": (
        machine.program,
        machine.compute,
        machine.disk_space,
        machine.folders,
    ),
    "Stores": (machine.stores,),
    "Keys and settings": (
        machine.api_keys,
        machine.signing_key,
        machine.contact,
        machine.withheld_key,
        machine.private_folders,
        machine.setting_values,
    ),
    "Build": (build, publishing, refused_build, held_back, freshness),
    "Files": (files,),
    "Sources": (sources, unread_documents),
}
_MARKS = {"ok": ("✓", "green"), "note": ("•", "yellow"), "fault": ("✗", "bold red")}


@click.command()
@click.option("--live", is_flag=True, help="Also send one request to every source.")
@json_option
@click.pass_context
def doctor(
    context: click.Context,
    live: bool,
    as_json: bool,
) -> None:
    """Check the machine, stores, keys, build and sources.

    Exits with 1 if there is a fault; notes do not count.
    """
    findings: list[tuple[str, Finding]] = []
    settings, errors = readable_settings(os.environ)
    for area, found in groupby(_examine(CheckContext(settings, live, errors)), itemgetter(0)):
        if not as_json:
            console().print(Text(f"\n{area}", "bold"))
        seen = [finding for _, finding in found]
        for finding in [] if as_json else _folded(seen):
            _show(finding)
        findings += ((area, finding) for finding in seen)
    counts = Counter(finding.state for _, finding in findings)
    if as_json:
        print_json([{"area": area, **vars(finding)} for area, finding in findings])
    else:
        faults = f"{counts['fault']} fault{'' if counts['fault'] == 1 else 's'}"
        click.echo(f"\n{faults}, {counts['note']} to note, {counts['ok']} OK")
    context.exit(Exit.FAILED if counts["fault"] else Exit.OK)


def _folded(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings; many that differ in their subject alone as one of so many sources."""
    alike: dict[Finding, list[Finding]] = {}
    for finding in findings:
        alike.setdefault(replace(finding, subject=""), []).append(finding)
    for finding, same in alike.items():
        if len(same) > _MOST_ALIKE:
            yield replace(finding, subject=f"{len(same)} sources")
        else:
            yield from same


def _show(finding: Finding) -> None:
    out = console()
    mark, style = _MARKS[finding.state]
    line = Text.assemble((f"{mark} ", style), (finding.subject, "bold"), f": {finding.says}")
    out.print(Padding(line, (0, 0, 0, 1), expand=False))
    if finding.do is not None:
        out.print(Padding(Text(f"→ {finding.do}", "cyan"), (0, 0, 0, 5), expand=False))


def _examine(context: CheckContext) -> Iterator[tuple[str, Finding]]:
    """Run all checks; yield each finding with its area as soon as there is one."""
    for area, checks in _CHECKS.items():
        for check in checks:
            subject = check.__name__.replace("_", " ")
            try:
                for finding in check(context):
                    yield area, finding
            except DatastoreUnavailable:
                says = "not checked, because the datastore does not answer: see Stores"
                yield area, note(subject, says)
            # Libraries raise exceptions of any kind; report them all.
            except Exception as error:
                do = "fix that, then run the check again"
                yield area, fault(subject, f"could not be checked: {error}", do)
