"""The live way of a source: from its configured address to the landing."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

from assets.fetching.client import Client, FetchError, Progress
from assets.fetching.fetchers import Window, stored_headers
from assets.ingest.load import land_all
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
    """Fetch what a source shows of a window and land it; say how many came and were new."""
    refuse_restricted(source)
    base_url = base_url_of(source, settings)
    if source.fetch is None:
        raise FetchError(f"{source.key} cannot be fetched: read it from a folder")
    with Client(
        settings.contact,
        settings.turns,
        kept=stored_headers(landing, source.key),
        progress=progress,
    ) as client:
        return land_all(landing, source.fetch(client, base_url, window, settings))


# Where the documents of the sample world say they come from: a host that can never exist.
SAMPLE_URL = "https://fictional.example"
_HEADERS = ".headers.json"


def fetch_folder(folder: Path, base: str, source: Source) -> Iterator[FetchedResponse]:
    """Give every document of a source in the order of the days on which it was read."""
    for day in sorted(path for path in (folder / source.key).glob("*") if path.is_dir()):
        observed_at = datetime.combine(_day(day), time(6), UTC)
        for path in sorted(each for each in day.rglob("*") if each.is_file()):
            if path.name.endswith(_HEADERS):
                continue
            with path.open("rb") as body:
                yield FetchedResponse(
                    source=source.key,
                    url=f"{base}/{source.key}/{path.relative_to(day).as_posix()}",
                    body=body,
                    license_class=source.license_class,
                    observed_at=observed_at,
                    headers=_headers(path.with_name(path.name + _HEADERS)),
                )


def _headers(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SankofaError(f"{path}: not JSON ({error}); mend it or remove it") from None
    if not isinstance(found, dict):
        raise SankofaError(f"{path}: give one JSON object of header names and their values")
    return {str(name).lower(): str(value) for name, value in found.items()}


def _day(folder: Path) -> date:
    try:
        return date.fromisoformat(folder.name)
    except ValueError:
        raise SankofaError(
            f"{folder}: the folder must be named by the day its documents were read, YYYY-MM-DD"
        ) from None
