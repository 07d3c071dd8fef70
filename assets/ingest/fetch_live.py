"""The live way of a source: from its configured address to the landing."""

from assets.fetching.client import Client, FetchError, Progress
from assets.fetching.fetchers import Window, kept_in
from assets.ingest.load import land_all
from assets.source import Source, base_url_of, refuse_restricted
from warehouse.record.landing import Landing


def land_live(
    landing: Landing, source: Source, window: Window, progress: Progress | None = None
) -> tuple[int, int]:
    """Fetch what a source shows of a window and land it; say how many came and were new."""
    refuse_restricted(source)
    base_url = base_url_of(source)
    if source.fetch is None:
        raise FetchError(f"{source.key} cannot be fetched: read it from a folder")
    with Client(kept=kept_in(landing, source.key), progress=progress) as client:
        return land_all(landing, source.fetch(client, base_url, window))
