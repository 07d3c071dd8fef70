"""What only the user of the service may read: documents with people in them, keys, counters.

Exports, pages and builds hold nothing but what is published, and a web server of another user may
serve them: they stay as they are.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from warehouse.file_store import is_object_store
from warehouse.settings import Settings

_OTHERS = 0o077


def private_paths(settings: Settings) -> Iterator[Path]:
    """Yield the folders and files of an installation that are private to its user."""
    for url in (settings.landing, settings.record):
        if not is_object_store(url):
            yield Path(url)
    yield from (settings.work, settings.caches, settings.dagster, settings.logs)
    for url in (settings.keys, settings.usage):
        if "://" not in url:
            # Databases have files beside them.
            yield from sorted(Path(url).parent.glob(f"{Path(url).name}*"))


def readable_by_others(settings: Settings) -> list[Path]:
    """Return the private folders and files that other users of the machine can read."""
    return [path for path in private_paths(settings) if path.exists() and _is_open(path)]


def make_private(settings: Settings) -> None:
    """Create the private folders, and close those of an earlier version to other users.

    A folder that belongs to another user is left as it is: `sankofa doctor` reports it.
    """
    for path in private_paths(settings):
        if not path.exists():
            path.mkdir(0o700, parents=True)
        elif _is_open(path) and path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode & ~_OTHERS)


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & _OTHERS)
