"""Documents into the landing: fetched live, or read from a folder.

The folder is ``<source>/<day we read it>/<path at the source>``. Response headers that a parser
needs are in a JSON file beside the document, named like it plus ``.headers.json``.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

from assets.fetching.client import Client, FetchError, Progress, StoredHeaders
from assets.fetching.fetchers import FetchTask, Window
from assets.source import Source, base_url_of, refuse_restricted
from warehouse.errors import SankofaError
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.settings import Settings


def land_live(
    landing: Landing,
    source: Source,
    window: Window,
    settings: Settings,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Fetch a window of a source and land it; return how many documents came and were new."""
    refuse_restricted(source)
    base_url = base_url_of(source, settings)
    if source.fetch is None:
        raise FetchError(f"{source.key} cannot be fetched: read it from a folder")
    with Client(
        settings.contact,
        settings.turns,
        rates=source.rates,
        stored_headers=stored_headers(landing, source.key),
        progress=progress,
    ) as client:
        task = FetchTask(client, source.key, source.license_class, base_url, window, settings)
        return land_all(landing, source.fetch(task))


def land_all(landing: Landing, fetched: Iterable[FetchedResponse]) -> tuple[int, int]:
    """Land every response; return how many came and how many were new."""
    is_new = [landing.land(response)[1] for response in fetched]
    return len(is_new), sum(is_new)


def stored_headers(landing: Landing, source: str) -> StoredHeaders:
    """Return a lookup: the headers landed with the latest document of a URL."""
    # Documents come in the order they were observed, so that the last of a URL wins.
    latest = {document.url: document.headers for document in landing.documents(source)}
    return latest.get


# Base URL of the sample documents: a host name that can never exist.
SAMPLE_URL = "https://fictional.example"
_HEADERS = ".headers.json"


def fetch_folder(folder: Path, base: str, source: Source) -> Iterator[FetchedResponse]:
    """Yield the documents of a source in a folder, in the order in which they were read."""
    for day_folder in sorted(path for path in (folder / source.key).glob("*") if path.is_dir()):
        # The folder names only a day; a fixed hour keeps documents and their keys reproducible.
        observed_at = datetime.combine(_day(day_folder), time(6), UTC)
        for path in sorted(path for path in day_folder.rglob("*") if path.is_file()):
            if path.name.endswith(_HEADERS):
                continue
            with path.open("rb") as body:
                yield FetchedResponse(
                    source=source.key,
                    url=f"{base}/{source.key}/{path.relative_to(day_folder).as_posix()}",
                    body=body,
                    license_class=source.license_class,
                    observed_at=observed_at,
                    headers=_headers(path.with_name(path.name + _HEADERS)),
                )


def _headers(path: Path) -> dict[str, str]:
    try:
        headers = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SankofaError(f"{path}: not JSON ({error}); correct it or remove it") from None
    if not isinstance(headers, dict):
        raise SankofaError(f"{path}: write one JSON object of header names and values")
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _day(folder: Path) -> date:
    try:
        return date.fromisoformat(folder.name)
    except ValueError:
        raise SankofaError(
            f"{folder}: name the folder after the day its documents were read, YYYY-MM-DD"
        ) from None
