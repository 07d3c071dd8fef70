"""Ingesting recordings from a terminal: land what files contain, then load it."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from assets.ingest.assets import landed_key
from assets.ingest.land import land_all
from assets.ingest.progress import listening, reporter
from assets.ingest.recording_manifest import ManifestEntry, read_manifest
from assets.ingest.recordings import Origin, Recordings, observed_at
from assets.ingest.sources import source_of
from assets.source import Source, refuse_restricted
from pipelines.ingest import Outcome, load
from pipelines.jobs import open_runner
from pipelines.progress_display import ProgressDisplay
from warehouse.errors import SankofaError
from warehouse.record.landing import FetchedResponse, Landing, open_landing
from warehouse.record.worlds import require_withheld_key
from warehouse.settings import Settings


@dataclass(frozen=True)
class RecordingOptions:
    """What the command was given: a source and paths, or a manifest."""

    source: str | None
    paths: tuple[Path, ...]
    origin: str | None = None
    observed_at: str | None = None
    manifest: Path | None = None


def ingest_recordings(settings: Settings, options: RecordingOptions) -> Iterator[Outcome]:
    """Land and load recordings, source by source; what could not be read is in the outcome."""
    by_source = [(source_of(settings, key), found) for key, found in _entries(options).items()]
    landing = open_landing(settings)
    # Before anything is landed: a manifest is checked as a whole.
    for source, _ in by_source:
        refuse_restricted(source)
        landing.refuse_other_world(source.world)
        require_withheld_key(settings.withheld_key, source.world)
    with open_runner(settings) as runner, ProgressDisplay() as display, listening(display.show):
        for source, entries in by_source:
            landed = _land(landing, source, entries)
            if source.fetch is not None:
                runner.observe(landed_key(source), {"recordings": len(entries), **_counts(landed)})
            if landing.world() is None:
                # Nothing could be landed, and a load would take the sample world.
                yield landed
                continue
            for loaded in load(runner, [source]):
                with display.paused():
                    yield replace(
                        landed,
                        counts=loaded.counts,
                        failed=loaded.failed,
                        failures=loaded.failures,
                    )


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


def _counts(landed: Outcome) -> dict[str, int]:
    return {
        "documents": landed.documents,
        "documents_new": landed.documents_new,
        "left out": sum(landed.skipped.values()),
        "not read": len(landed.problems),
    }


def _responses(recordings: Recordings, entry: ManifestEntry) -> Iterator[FetchedResponse]:
    try:
        entry.verify()
    except (SankofaError, OSError) as error:
        words = error.strerror if isinstance(error, OSError) else error
        recordings.failed.append(f"{entry.path}: {words}")
        return
    yield from recordings.read([entry.path], entry.origin)
