"""Ingesting from a terminal: the same steps as the assets, with a progress bar."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assets.fetching.fetchers import Window
from assets.ingest.land import SAMPLE_URL, fetch_folder, land_all, land_live
from assets.ingest.load import load_source
from assets.ingest.metadata import counts_in_words, total_counts
from assets.ingest.sources import SOURCES
from assets.source import Source, refuse_restricted
from pipelines.output import progress_console
from warehouse.errors import SankofaError
from warehouse.record.landing import Landing
from warehouse.record.store import Record
from warehouse.settings import Settings


@dataclass(frozen=True)
class Outcome:
    """What came of one source; ``failed`` says why nothing more did."""

    source: str
    documents: int = 0
    documents_new: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: str | None = None
    failed: str | None = None

    @property
    def words(self) -> str:
        """Say it in a line."""
        if self.failed is not None:
            return f"failed: {self.failed}"
        if self.left_out is not None:
            return self.left_out
        counts = counts_in_words(self.counts)
        return f"{self.documents} documents, {self.documents_new} new; {counts}"


def ingest_each(
    settings: Settings, keys: tuple[str, ...], live: bool, from_: date | None, to: date | None
) -> Iterator[Outcome]:
    """Land and load each source; one that fails is reported and the others go on."""
    for source in _chosen(keys):
        try:
            yield _one(settings, source, live, Window(from_, to))
        except SankofaError as error:
            yield Outcome(source.key, failed=str(error))


def _chosen(keys: tuple[str, ...]) -> list[Source]:
    sources = {source.key: source for source in SOURCES}
    for key in keys:
        if key not in sources:
            raise SankofaError(f"unknown source: {key}; one of {', '.join(sources)}")
    permitted = [source.key for source in SOURCES if source.permitted]
    return [sources[key] for key in keys or permitted]


def _one(settings: Settings, source: Source, live: bool, window: Window) -> Outcome:
    refuse_restricted(source)
    source = source.with_withheld_key(settings.withheld_key)
    if live and source.fetch is None:
        return Outcome(source.key, left_out="skipped: it has no live URL")
    landing, record = Landing(settings.landing), Record(settings.record)
    with progress_bar() as bar:
        step = bar.add_task(f"{source.key}: fetching", total=None)
        if live:
            came, new = land_live(
                landing,
                source,
                window,
                settings,
                lambda read, whole: bar.update(step, completed=read, total=whole),
            )
        else:
            files = fetch_folder(settings.sample, SAMPLE_URL, source)
            came, new = land_all(landing, files)
        loading = bar.add_task(f"{source.key}: loading", total=None)
        entries = load_source(
            record, landing, source, lambda n, all_: bar.update(loading, completed=n, total=all_)
        )
    return Outcome(source.key, came, new, total_counts(entries))


def progress_bar() -> Progress:
    """Give a progress bar on standard error that leaves nothing behind."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        transient=True,
        console=progress_console(),
    )
