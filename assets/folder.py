"""Fetching from a folder: ``<source>/<day we read it>/<path at the source>``."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

from assets.sources import Source
from warehouse.errors import SankofaError
from warehouse.landing import Fetched

# Where the documents of the sample world say they come from: a host that can never exist.
SAMPLE_URL = "https://fictional.example"


def fetch_folder(folder: Path, base: str, source: Source) -> Iterator[Fetched]:
    """Give every document of a source in the order of the days on which it was read."""
    for day in sorted(path for path in (folder / source.key).glob("*") if path.is_dir()):
        observed_at = datetime.combine(_day(day), time(6), UTC)
        for path in sorted(each for each in day.rglob("*") if each.is_file()):
            yield Fetched(
                source=source.key,
                url=f"{base}/{source.key}/{path.relative_to(day).as_posix()}",
                body=path.read_bytes(),
                license_class=source.license_class,
                observed_at=observed_at,
            )


def _day(folder: Path) -> date:
    try:
        return date.fromisoformat(folder.name)
    except ValueError:
        raise SankofaError(
            f"{folder}: the folder must be named by the day its documents were read, YYYY-MM-DD"
        ) from None
