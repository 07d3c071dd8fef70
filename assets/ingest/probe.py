"""Check that a source responds: send its first request, read no more than one chunk."""

from datetime import UTC, datetime, timedelta
from typing import IO, Any

from assets.fetching.client import Client, FetchError, SourceResponse, Timeouts
from assets.fetching.fetchers import Window
from assets.source import Source, fetch_task, refuse_restricted
from warehouse.settings import Settings

_TIMES = Timeouts(connect=5.0, read=10.0, whole=20.0, download=20.0)


class _Responded(Exception):
    """The first chunk of a good response has arrived: nothing more to learn."""


class _RequestFailed(Exception):
    """The first request failed; do not send those that would follow."""

    def __init__(self, error: FetchError) -> None:
        self.error = error


class Prober(Client):
    """A client that sends one request per source, then raises what came of it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(
            settings.contact, settings.turns, attempts=1, timeouts=_TIMES, progress=_stop
        )

    def _fetch(self, spec: Any, sink: IO[bytes]) -> SourceResponse:
        try:
            response = super()._fetch(spec, sink)
        except FetchError as error:
            raise _RequestFailed(error) from error
        raise _Responded(response.url)


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
    except _Responded:
        return
    except _RequestFailed as failed:
        raise failed.error from None


# Called after the first chunk of a body: raising ends the download there.
def _stop(received: int, length: int | None) -> None:
    raise _Responded
