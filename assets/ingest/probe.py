"""Whether a source answers us: its own first question, and not a byte more than needed."""

from datetime import UTC, datetime, timedelta
from typing import IO, Any

from assets.fetching.client import Client, FetchError, SourceResponse, Timeouts
from assets.fetching.fetchers import Window
from assets.source import Source, base_url_of, refuse_restricted
from warehouse.settings import Settings

_TIMES = Timeouts(connect=5.0, read=10.0, whole=20.0, download=20.0)


class _Answered(Exception):
    """The first piece of a good answer has come: there is nothing more to know."""


class _Refused(Exception):
    """The first question was refused; those that would follow are not asked."""

    def __init__(self, error: FetchError) -> None:
        self.error = error


class Prober(Client):
    """A client that asks each source one question."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(
            settings.contact, settings.turns, attempts=1, timeouts=_TIMES, progress=_stop
        )

    def _fetch(self, ask: Any, sink: IO[bytes]) -> SourceResponse:
        try:
            answer = super()._fetch(ask, sink)
        except FetchError as error:
            raise _Refused(error) from error
        raise _Answered(answer.url)


def probe(client: Prober, source: Source, settings: Settings) -> None:
    """Ask a source what it would be asked first; raise FetchError unless it answers well."""
    refuse_restricted(source)
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    base_url = base_url_of(source, settings)
    if source.fetch is None:
        raise FetchError(f"{source.key} cannot be fetched: read it from a folder")
    try:
        for _ in source.fetch(client, base_url, Window(yesterday, yesterday), settings):
            return
    except _Answered:
        return
    except _Refused as refused:
        raise refused.error from None


def _stop(received: int, length: int | None) -> None:
    raise _Answered
