"""Documents into the landing: fetched live, or of an unpacked world. Recordings: ``recordings.py``.

A world is a folder ``<source>/<day it was read>/<path at the source>`` with a ``world.json``.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

from assets.fetching.client import (
    Client,
    FetchError,
    Progress,
    SourceResponse,
    StoredHeaders,
    Timeouts,
)
from assets.fetching.containers import container_url
from assets.fetching.fetchers import Window
from assets.ingest.recordings import headers_beside, is_document, start_of_reading
from assets.source import Source, fetch_task, in_world, refuse_restricted
from warehouse.record.landing import FetchedResponse, Landing, World
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings

# The file of an unpacked world that says which it is.
WORLD = "world.json"

# Check that a source responds: send its first request, read no more than one chunk.

_TIMES = Timeouts(connect=5.0, read=10.0, whole=20.0, download=20.0)


class _Answered(Exception):
    """The first request was answered, or failed with an error; no more are sent."""

    def __init__(self, error: FetchError | None = None) -> None:
        self.error = error


class Prober(Client):
    """A client that sends one request per source, then raises what came of it."""

    def __init__(self, settings: Settings) -> None:
        # After the first chunk of a body: raising ends the download there.
        def stop(received: int, length: int | None) -> None:
            raise _Answered

        super().__init__(
            settings.contact, settings.turns, attempts=1, timeouts=_TIMES, progress=stop
        )

    def _fetch(self, spec: Any, sink: IO[bytes]) -> SourceResponse:
        try:
            super()._fetch(spec, sink)
        except FetchError as error:
            raise _Answered(error) from error
        raise _Answered


def probe(client: Prober, source: Source, settings: Settings) -> None:
    """Send the first request of a source's fetcher; raise FetchError unless it succeeds."""
    refuse_restricted(source)
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    if source.fetch is None:
        raise FetchError(f"{source.key} cannot be fetched: read it from a recording")
    task = fetch_task(client, source, Window(yesterday, yesterday), settings)
    try:
        for _ in source.fetch(task):
            return
    except _Answered as answered:
        if answered.error is not None:
            raise answered.error from None


def missing_setting(client: Client, source: Source, settings: Settings) -> str | None:
    """Return which key or setting a source that can be fetched lacks; nothing is requested."""
    if source.fetch is None:
        return f"{source.key} cannot be fetched: `sankofa ingest {source.key} PATH` reads files"
    try:
        # Not iterated: a fetcher checks its settings when called and sends its first request later.
        source.fetch(fetch_task(client, source, Window(), settings))
    except SankofaError as error:
        return str(error)
    return None


def land_live(
    landing: Landing,
    source: Source,
    window: Window,
    settings: Settings,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Fetch a window of a source and land it; return how many documents came and were new."""
    refuse_restricted(source)
    if source.fetch is None:
        raise FetchError(f"{source.key} cannot be fetched: read it from a recording")
    # Before the first request: what came could not be kept.
    landing.refuse_other_world(source.world)
    with Client(
        settings.contact,
        settings.turns,
        rates=source.rates,
        stored_headers=stored_headers(landing, source.key),
        progress=progress,
        hosts=source.published_at,
    ) as client:
        task = fetch_task(client, source, window, settings, landing)
        landed = land_all(landing, source.fetch(task))
    landing.mark_fetched(source.key, datetime.now(UTC))
    return landed


def land_all(landing: Landing, fetched: Iterable[FetchedResponse]) -> tuple[int, int]:
    """Land every response; return how many came and how many were new."""
    is_new = [landing.land(response)[1] for response in fetched]
    return len(is_new), sum(is_new)


def stored_headers(landing: Landing, source: str) -> StoredHeaders:
    """Return a lookup: the headers landed with the latest document of a URL."""
    # Documents come in the order they were observed, so that the last of a URL wins.
    # What came in a container is requested by the address of the container.
    documents = landing.documents(source)
    latest = {container_url(document.url): document.headers for document in documents}
    return latest.get


def land_sample(landing: Landing, folder: Path, source: Source) -> tuple[int, int]:
    """Land the documents that an unpacked world has of a source, unless the landing is real."""
    if landing.world() == "real":
        return 0, 0
    return land_all(landing, fetch_sample(folder, source))


def world_in(folder: Path) -> World:
    """Return which world is unpacked in a folder."""
    path = folder / WORLD
    # There was none but the fictional one at first.
    world = json.loads(path.read_bytes()).get("world") if path.exists() else None
    return cast(World, world or "fictional")


def fetch_sample(folder: Path, source: Source) -> Iterator[FetchedResponse]:
    """Yield the documents that an unpacked world has of a source, in the order they were read."""
    source = in_world(source, world_in(folder))
    for day_folder in sorted(path for path in (folder / source.key).glob("*") if path.is_dir()):
        observed_at = start_of_reading(_day(day_folder))
        for path in sorted(path for path in day_folder.rglob("*") if is_document(path)):
            with path.open("rb") as body:
                yield FetchedResponse(
                    source=source.key,
                    url=f"{source.base_url}/{path.relative_to(day_folder).as_posix()}",
                    body=body,
                    license_class=source.license_class,
                    observed_at=observed_at,
                    headers=headers_beside(path),
                    world=source.world,
                )


def _day(folder: Path) -> date:
    try:
        return date.fromisoformat(folder.name)
    except ValueError:
        raise SankofaError(
            f"{folder}: name the folder after the day its documents were read, YYYY-MM-DD"
        ) from None
