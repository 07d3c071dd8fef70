"""Ingesting from a terminal: the jobs that Dagster runs, with an outcome for each source."""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from assets.fetching.fetchers import Window
from assets.ingest.assets import (
    COUNT_NAMES,
    FAILED_DOCUMENTS,
    counts_in_words,
    landed_key,
    listening,
    load_step,
    partitions_of,
    reporter,
    table_key,
)
from assets.ingest.land import land_all
from assets.ingest.recordings import ManifestEntry, Origin, Recordings, observed_at, read_manifest
from assets.ingest.sources import source_of, sources_of
from assets.ingest.workers import start_ahead
from assets.source import Source, refuse_restricted
from pipelines.alerts import StepFailure
from pipelines.dagster_home import COMPACT, INGEST
from pipelines.ingest_definitions import COMPACTED, fetch_job
from pipelines.jobs import Run, Runner, open_runner, run_job
from pipelines.output import ProgressDisplay
from warehouse.record.landing import FetchedResponse, Landing, open_landing
from warehouse.record.store import open_record
from warehouse.record.versions import require_withheld_key
from warehouse.shared.errors import LicenceError, SankofaError
from warehouse.shared.settings import Settings

_NO_LIVE_URL = "it has no live URL: read a recording of it with `sankofa ingest {key} PATH`"


@dataclass(frozen=True)
class Outcome:
    """The result of ingesting one source; ``failed`` is the error message, if any.

    Of recordings, ``skipped`` counts files that are no document of the source, by reason,
    and ``problems`` names files that could not be read. ``failures`` are documents on which the
    parser failed; the others were loaded.
    """

    source: str
    documents: int = 0
    documents_new: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: str | None = None
    failed: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    failures: tuple[Mapping[str, object], ...] = ()

    @property
    def words(self) -> str:
        """The result in one line."""
        if self.failed is not None and not self.failures:
            return f"failed: {self.failed}"
        if self.left_out is not None:
            return self.left_out
        counts = counts_in_words(self.counts)
        words = f"{self.documents} documents, {self.documents_new} new; {counts}"
        if self.skipped:
            reasons = ", ".join(f"{number:,} {why}" for why, number in self.skipped.items())
            words += f"; {sum(self.skipped.values()):,} left out: {reasons}"
        return f"{words}; {self.failed}" if self.failures else words


# Called with each outcome as soon as it is known.
Report = Callable[[Outcome], None]


def ingest_each(
    settings: Settings, keys: tuple[str, ...], live: bool, window: Window, report: Report
) -> None:
    """Fetch and load sources; report each when it is done. One that fails stops no other."""
    runnable = []
    if window.from_ and window.from_ > datetime.now(UTC).date():
        raise SankofaError(f"{window.from_} is in the future: give an earlier day")
    # Once, and not by every source.
    landing = open_landing(settings)
    # A place that is not known is refused before anything is fetched for it.
    open_record(settings).stored_table("loads")
    if live:
        landing.refuse_other_world("real")
    require_withheld_key(settings.withheld_key, "real" if live else landing.world())
    permitted = [source for source in sources_of(settings) if source.permitted]
    for source in [source_of(settings, key) for key in keys] if keys else permitted:
        try:
            refuse_restricted(source)
        except LicenceError as error:
            report(Outcome(source.key, failed=str(error)))
            continue
        if live and source.fetch is None:
            if keys:
                report(Outcome(source.key, failed=_NO_LIVE_URL.format(key=source.key)))
            else:
                report(Outcome(source.key, left_out="skipped: it has no live URL"))
        elif not live and not has_documents(settings, source):
            report(Outcome(source.key))
        else:
            runnable.append(source)
    if not runnable:
        return
    # It imports what it needs while Dagster does.
    start_ahead()
    with open_runner(settings) as runner, _progress(report) as report:
        if live:
            _live(runner, landing, runnable, window, report)
        else:
            load(runner, runnable, report)


@contextmanager
def _progress(report: Report) -> Iterator[Report]:
    """Show progress, except while an outcome is reported."""

    def paused(outcome: Outcome) -> None:
        with display.paused():
            report(outcome)

    with ProgressDisplay() as display, listening(display.show):
        yield paused


def run_upkeep(settings: Settings) -> dict[str, Any]:
    """Merge small files of the record and delete old ones; return what was done, by table."""
    return run_job(settings, COMPACT).get(COMPACTED, {})


def has_documents(settings: Settings, source: Source) -> bool:
    """Return whether there is anything to load; a run for nothing would take its time, too."""
    sample = settings.sample / source.key
    return sample.is_dir() or bool(open_landing(settings).keys(source.key))


def _live(
    runner: Runner,
    landing: Landing,
    sources: Iterable[Source],
    window: Window,
    report: Report,
) -> None:
    """Fetch each source in a run of its own, since each has its own partitions, and load it."""
    for source in sources:
        fetched = _fetch(runner, source, window)
        # In a home without any document a load would take the sample world.
        if fetched.failed is not None or landing.world() is None:
            report(fetched)
            continue
        documents, new = fetched.documents, fetched.documents_new

        def loaded(outcome: Outcome, documents: int = documents, new: int = new) -> None:
            report(replace(outcome, documents=documents, documents_new=new))

        load(runner, [source], loaded)


def _fetch(runner: Runner, source: Source, window: Window) -> Outcome:
    asset = landed_key(source)
    name = asset.to_user_string()
    config = {"first_day": window.from_, "last_day": window.to}
    days = {label: str(day) for label, day in config.items() if day is not None}
    run = runner.run(
        fetch_job(asset),
        tags=_partitions(source, window),
        config={"ops": {name: {"config": days}}},
    )
    if run.failures:
        return _failed(source, *run.failures.values())
    metadata = run.metadata[name]
    return Outcome(source.key, metadata["documents"], metadata["documents_new"])


def _partitions(source: Source, window: Window) -> dict[str, str]:
    """Return the tags of the partitions to fetch: whole ones, that the window touches.

    Without a first day there are none: the source decides how far back it goes.
    """
    partitions = partitions_of(source)
    if partitions is None:
        return {}
    keys = partitions.get_partition_keys()
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return _partition_range(keys[0], keys[-1])
    # A partition of time is named after its first day.
    starts = [date.fromisoformat(key) for key in keys]
    if window.from_ is None or window.from_ < starts[0]:
        return {}
    first, last = (bisect_right(starts, day) - 1 for day in (window.from_, window.to or starts[-1]))
    return _partition_range(keys[first], keys[last])


def _partition_range(first: str, last: str) -> dict[str, str]:
    """Return the tags of a run that fetches a range of partitions at once."""
    return {
        "dagster/asset_partition_range_start": first,
        "dagster/asset_partition_range_end": last,
    }


def load(runner: Runner, sources: Sequence[Source], report: Report) -> None:
    """Load the landed documents of some sources, in one run."""
    assets = [table_key(source, table) for source in sources for table in source.tables]
    by_step = {load_step(source): source for source in sources}

    def step_ended(run: Run, step: str) -> None:
        report(_loaded(by_step.pop(step), run))

    run = runner.run(INGEST, assets=assets, when_step_ends=step_ended)
    # A run that could not begin fails as a whole.
    for source in by_step.values():
        report(_failed(source, *run.failures.values()))


def _loaded(source: Source, run: Run) -> Outcome:
    failure = run.failures.get(load_step(source))
    failures = () if failure is None else tuple(failure.metadata.get(FAILED_DOCUMENTS, ()))
    if failure is not None and not failures:
        return _failed(source, failure)
    tables = [run.metadata[table_key(source, table).to_user_string()] for table in source.tables]
    counts = {name: sum(table[name] for table in tables) for name in COUNT_NAMES}
    documents, new = tables[0]["documents"], tables[0]["documents_new"]
    outcome = Outcome(source.key, documents, new, counts)
    # All that could be read was loaded before the step failed.
    return (
        outcome if failure is None else replace(outcome, failed=failure.message, failures=failures)
    )


def _failed(source: Source, *failures: StepFailure) -> Outcome:
    words = ". ".join(failure.message for failure in failures if failure.message)
    return Outcome(source.key, failed=words or "the run ended before it; see the log of the run")


@dataclass(frozen=True)
class RecordingOptions:
    """What the command was given: a source and paths, or a manifest."""

    source: str | None
    paths: tuple[Path, ...]
    origin: str | None = None
    observed_at: str | None = None
    manifest: Path | None = None


def ingest_recordings(settings: Settings, options: RecordingOptions, report: Report) -> None:
    """Land and load recordings, source by source; what could not be read is in the outcome."""
    by_source = [(source_of(settings, key), found) for key, found in _entries(options).items()]
    landing = open_landing(settings)
    # Before anything is landed: a manifest is checked as a whole.
    for source, _ in by_source:
        refuse_restricted(source)
        landing.refuse_other_world(source.world)
        require_withheld_key(settings.withheld_key, source.world)
    with open_runner(settings) as runner, _progress(report) as report:
        for source, entries in by_source:
            landed = _land(landing, source, entries)
            if source.fetch is not None:
                counts = {
                    "recordings": len(entries),
                    "documents": landed.documents,
                    "documents_new": landed.documents_new,
                    "left out": sum(landed.skipped.values()),
                    "not read": len(landed.problems),
                }
                runner.observe(landed_key(source), counts)
            if landing.world() is None:
                # Nothing could be landed, and a load would take the sample world.
                report(landed)
                continue

            def loaded(outcome: Outcome, landed: Outcome = landed) -> None:
                counts, failed, failures = outcome.counts, outcome.failed, outcome.failures
                report(replace(landed, counts=counts, failed=failed, failures=failures))

            load(runner, [source], loaded)


def _entries(options: RecordingOptions) -> dict[str, list[ManifestEntry]]:
    """Return what to read, by source."""
    if options.manifest is None:
        if options.source is None:
            raise SankofaError("name the source of the recordings: sankofa ingest SOURCE PATH…")
        return {options.source: _given(options)}
    if options.paths or options.origin or options.observed_at:
        raise SankofaError("a manifest names the files, their addresses and days: give it alone")
    entries: dict[str, list[ManifestEntry]] = {}
    for entry in read_manifest(options.manifest):
        key = entry.source or options.source
        if key is None:
            raise SankofaError(
                f"{options.manifest}: {entry.path.name} has no source: add a column source, or "
                "name one on the command line"
            )
        if options.source in (None, key):
            entries.setdefault(key, []).append(entry)
    if not entries:
        raise SankofaError(f"{options.manifest} names no file of {options.source}")
    return entries


def _given(options: RecordingOptions) -> list[ManifestEntry]:
    if bool(options.origin) != bool(options.observed_at):
        missing = "--observed-at, the day it was read" if options.origin else "--origin"
        raise SankofaError(f"give --origin and --observed-at together: {missing} is missing")
    origin = None
    if options.origin and options.observed_at:
        is_base = len(options.paths) > 1 or options.origin.endswith("/")
        origin = Origin(options.origin, observed_at(options.observed_at), is_base)
    return [ManifestEntry(path, options.source, origin) for path in options.paths]


def _land(landing: Landing, source: Source, entries: Sequence[ManifestEntry]) -> Outcome:
    recordings, progress = Recordings(source), reporter(f"{source.key}: reading")

    def responses() -> Generator[FetchedResponse, None, None]:
        for number, entry in enumerate(entries):
            progress(number, len(entries))
            yield from _responses(recordings, entry)

    with closing(responses()) as fetched:
        documents, new = land_all(landing, fetched)
    return Outcome(
        source.key,
        documents,
        new,
        skipped=dict(recordings.skipped),
        problems=tuple(recordings.failed),
    )


def _responses(recordings: Recordings, entry: ManifestEntry) -> Iterator[FetchedResponse]:
    try:
        entry.verify()
    except (SankofaError, OSError) as error:
        words = error.strerror if isinstance(error, OSError) else error
        recordings.failed.append(f"{entry.path}: {words}")
        return
    yield from recordings.read([entry.path], entry.origin)
