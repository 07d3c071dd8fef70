"""Ingesting from a terminal: the same steps as the assets, with a progress bar."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assets.fetching.fetchers import Window
from assets.ingest.land import land_live, land_sample
from assets.ingest.load import load_source
from assets.ingest.metadata import counts_in_words, total_counts
from assets.ingest.sources import sources_of
from assets.source import Source, refuse_restricted
from pipelines.output import progress_console
from warehouse.errors import SankofaError
from warehouse.record.landing import Landing
from warehouse.record.store import Record
from warehouse.settings import Settings


@dataclass(frozen=True)
class Outcome:
    """The result of ingesting one source; ``failed`` is the error message, if any.

    Of recordings, ``skipped`` counts responses that are not documents of the source, by reason,
    and ``problems`` names files that could not be read.
    """

    source: str
    documents: int = 0
    documents_new: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: str | None = None
    failed: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The result in one line."""
        if self.failed is not None:
            return f"failed: {self.failed}"
        if self.left_out is not None:
            return self.left_out
        counts = counts_in_words(self.counts)
        words = f"{self.documents} documents, {self.documents_new} new; {counts}"
        if self.skipped:
            reasons = ", ".join(f"{number:,} {why}" for why, number in self.skipped.items())
            words += f"; {sum(self.skipped.values()):,} responses left out: {reasons}"
        return words


def ingest_each(
    settings: Settings, keys: tuple[str, ...], live: bool, from_: date | None, to: date | None
) -> Iterator[Outcome]:
    """Land and load source by source; one that fails is reported and the others go on."""
    for source in _selected_sources(settings, keys):
        try:
            yield _ingest_source(settings, source, live, Window(from_, to))
        except SankofaError as error:
            yield Outcome(source.key, failed=str(error))


def source_of(settings: Settings, key: str) -> Source:
    """Return the source with a key."""
    sources = {source.key: source for source in sources_of(settings)}
    if key not in sources:
        raise SankofaError(f"unknown source: {key}; one of {', '.join(sources)}")
    return sources[key]


def _selected_sources(settings: Settings, keys: tuple[str, ...]) -> list[Source]:
    if keys:
        return [source_of(settings, key) for key in keys]
    return [source for source in sources_of(settings) if source.permitted]


def _ingest_source(settings: Settings, source: Source, live: bool, window: Window) -> Outcome:
    refuse_restricted(source)
    source = source.with_withheld_key(settings.withheld_key)
    if live and source.fetch is None:
        return Outcome(source.key, left_out="skipped: it has no live URL")
    landing, record = Landing(settings.landing), Record(settings.record)
    with progress_bar() as bar:
        step = bar.add_task(f"{source.key}: fetching", total=None)
        if live:
            documents, new = land_live(
                landing,
                source,
                window,
                settings,
                lambda done, total: bar.update(step, completed=done, total=total),
            )
        else:
            documents, new = land_sample(landing, settings.sample, source)
        loading = bar.add_task(f"{source.key}: loading", total=None)
        entries = load_source(
            record,
            landing,
            source,
            lambda done, total: bar.update(loading, completed=done, total=total),
        )
    return Outcome(source.key, documents, new, total_counts(entries))


def progress_bar() -> Progress:
    """Return a progress bar on standard error that disappears when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        transient=True,
        console=progress_console(),
    )
