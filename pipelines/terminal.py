"""Ingesting from a terminal: the same steps as the assets, with a progress bar."""

from datetime import date

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assets.fetching import Window
from assets.folder import SAMPLE_URL, fetch_folder
from assets.live import FETCH, land_live
from assets.load import land_all, load_source
from assets.sources import Source, refuse_restricted
from assets.told import sums
from pipelines.places import Places
from pipelines.sources import SOURCES
from warehouse.errors import SankofaError
from warehouse.landing import Landing
from warehouse.record.store import Record


def ingest(
    here: Places, keys: tuple[str, ...], live: bool, from_: date | None, to: date | None
) -> None:
    """Land and load each source; one that fails leaves the others running and is named."""
    console = Console()
    failed = []
    for source in _chosen(keys):
        try:
            console.print(f"{source.key:22} {_one(here, source, live, from_, to)}", soft_wrap=True)
        except SankofaError as error:
            failed.append(source.key)
            console.print(f"{source.key:22} failed: {error}", style="red", soft_wrap=True)
    if failed:
        raise SankofaError(f"{', '.join(failed)} failed; what was landed before is kept")


def _chosen(keys: tuple[str, ...]) -> list[Source]:
    known = {source.key: source for source in SOURCES}
    for key in keys:
        if key not in known:
            raise SankofaError(f"{key} is no source; one of {', '.join(known)}")
    permitted = [source.key for source in SOURCES if source.permitted]
    return [known[key] for key in keys or permitted]


def _one(here: Places, source: Source, live: bool, from_: date | None, to: date | None) -> str:
    refuse_restricted(source)
    landing, record = Landing(here.landing), Record(here.record)
    with _bar() as bar:
        step = bar.add_task(f"{source.key}: fetching", total=None)
        if live and source.key not in FETCH:
            return "has no live address: left out"
        if live:
            came, new = land_live(
                landing,
                source,
                Window(from_, to),
                lambda read, whole: bar.update(step, completed=read, total=whole),
            )
        else:
            files = fetch_folder(here.sample, SAMPLE_URL, source)
            came, new = land_all(landing, files)
        step = bar.add_task(f"{source.key}: loading", total=None)
        entries = load_source(
            record, landing, source, lambda n, all_: bar.update(step, completed=n, total=all_)
        )
    told = ", ".join(f"{number:,} {name}" for name, number in sums(entries).items() if number)
    return f"{came} documents, {new} new; {told or 'nothing new'}"


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        transient=True,
    )
