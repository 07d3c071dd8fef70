"""Ingesting from a terminal: the jobs that Dagster runs, with a line for each source."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

import dagster as dg

from assets.fetching.fetchers import Window
from assets.ingest.assets import FAILED_DOCUMENTS, landed_key, load_step, partitions_of, table_key
from assets.ingest.metadata import COUNT_NAMES, counts_in_words
from assets.ingest.progress import listening
from assets.ingest.sources import source_of, sources_of
from assets.ingest.workers import start_ahead
from assets.source import Source, refuse_restricted
from pipelines.fetch_jobs import fetch_job, partition_range
from pipelines.jobs import INGEST, Run, Runner, StepFailure, open_runner
from pipelines.progress_display import ProgressDisplay
from warehouse.errors import LicenceError, SankofaError
from warehouse.record.landing import Landing, open_landing
from warehouse.record.worlds import require_withheld_key
from warehouse.settings import Settings

_NO_LIVE_URL = "it has no live URL: read a recording of it with `sankofa ingest {key} PATH`"


@dataclass(frozen=True)
class Outcome:
    """The result of ingesting one source; ``failed`` is the error message, if any.

    Of recordings, ``skipped`` counts what is no document of the source, by reason,
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


def ingest_each(
    settings: Settings, keys: tuple[str, ...], live: bool, from_: date | None, to: date | None
) -> Iterator[Outcome]:
    """Fetch and load sources; yield each when it is done. One that fails stops no other."""
    window, runnable = Window(from_, to), []
    if from_ and from_ > datetime.now(UTC).date():
        raise SankofaError(f"{from_} is in the future: give an earlier day")
    # Once, and not by every source.
    landing = open_landing(settings)
    if live:
        landing.refuse_other_world("real")
    require_withheld_key(settings.withheld_key, "real" if live else landing.world())
    for source in _selected_sources(settings, keys):
        try:
            refuse_restricted(source)
        except LicenceError as error:
            yield Outcome(source.key, failed=str(error))
            continue
        if live and source.fetch is None:
            if keys:
                yield Outcome(source.key, failed=_NO_LIVE_URL.format(key=source.key))
            else:
                yield Outcome(source.key, left_out="skipped: it has no live URL")
        elif not live and not has_documents(settings, source):
            yield Outcome(source.key)
        else:
            runnable.append(source)
    if not runnable:
        return
    # It imports what it needs while Dagster does.
    start_ahead()
    with open_runner(settings) as runner, ProgressDisplay() as display, listening(display.show):
        outcomes = _live(runner, landing, runnable, window) if live else load(runner, runnable)
        for outcome in outcomes:
            with display.paused():
                yield outcome


def has_documents(settings: Settings, source: Source) -> bool:
    """Return whether there is anything to load; a run for nothing would take its time, too."""
    sample = settings.sample / source.key
    return sample.is_dir() or bool(open_landing(settings).keys(source.key))


def _selected_sources(settings: Settings, keys: tuple[str, ...]) -> list[Source]:
    if keys:
        return [source_of(settings, key) for key in keys]
    return [source for source in sources_of(settings) if source.permitted]


def _live(
    runner: Runner,
    landing: Landing,
    sources: Iterable[Source],
    window: Window,
) -> Iterator[Outcome]:
    """Fetch each source in a run of its own, since each has its own partitions, and load it."""
    for source in sources:
        fetched = _fetch(runner, source, window)
        # In a home without any document a load would take the sample world.
        if fetched.failed is not None or landing.world() is None:
            yield fetched
            continue
        for loaded in load(runner, [source]):
            yield replace(loaded, documents=fetched.documents, documents_new=fetched.documents_new)


def _fetch(runner: Runner, source: Source, window: Window) -> Outcome:
    asset = landed_key(source)
    name = asset.to_user_string()
    config = {"first_day": window.from_, "last_day": window.to}
    days = {label: str(day) for label, day in config.items() if day is not None}
    run = runner.start(
        fetch_job(asset),
        tags=_partitions(source, window),
        config={"ops": {name: {"config": days}}},
    )
    for _ in run:
        pass
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
        return partition_range(keys[0], keys[-1])
    # A partition of time is named after its first day.
    starts = [date.fromisoformat(key) for key in keys]
    if window.from_ is None or window.from_ < starts[0]:
        return {}
    first, last = (bisect_right(starts, day) - 1 for day in (window.from_, window.to or starts[-1]))
    return partition_range(keys[first], keys[last])


def load(runner: Runner, sources: Sequence[Source]) -> Iterator[Outcome]:
    """Load what is landed of some sources, in one run."""
    assets = [table_key(source, table) for source in sources for table in source.tables]
    by_step = {load_step(source): source for source in sources}
    run = runner.start(INGEST, assets=assets)
    for event in run:
        if event.is_step_success or event.is_step_failure:
            yield _loaded(by_step.pop(str(event.step_key)), run)
    # A run that could not begin fails as a whole.
    for source in by_step.values():
        yield _failed(source, *run.failures.values())


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
