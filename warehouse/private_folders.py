"""What only its user may read: documents and rows with people in them, keys, counters.

Exports, pages and builds hold nothing but what is published, and a web server of another user may
serve them: they stay as they are.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from warehouse.settings import Settings

_OTHERS = 0o077


def private_paths(settings: Settings) -> Iterator[Path]:
    """Yield the folders and files of an installation that are private to its user."""
    for url in (settings.landing, settings.record):
        if "://" not in url:
            yield Path(url)
    yield from (settings.work, settings.caches, settings.dagster, settings.logs)
    yield Path(settings.metrics)
    for url in (settings.control, settings.usage):
        if "://" not in url:
            # Databases have files beside them.
            yield from sorted(Path(url).parent.glob(f"{Path(url).name}*"))


def readable_by_others(settings: Settings) -> list[Path]:
    """Return the private folders and files that other users of the machine can read."""
    return [path for path in private_paths(settings) if path.exists() and _is_open(path)]


def make_private(settings: Settings) -> None:
    """Create the private folders, and close those that other users can read."""
    for path in private_paths(settings):
        if not path.exists():
            private_folder(path)
    close_private(settings)


def close_private(settings: Settings) -> None:
    """Close private folders and files to other users, as far as they exist.

    What belongs to another user is left as it is: `sankofa doctor` reports it.
    """
    for path in private_paths(settings):
        if path.exists():
            _close(path)


def private_folder(path: Path) -> Path:
    """Create a folder that only its user can open, whatever the umask, or close it; return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(0o700)
        # A umask can only take rights away, also those of the user.
        path.chmod(0o700)
    _close(path)
    return path


def _close(path: Path) -> None:
    if _is_open(path) and path.stat().st_uid == os.geteuid():
        # A home on a disk that cannot be written stays as it is.
        with suppress(OSError):
            path.chmod(path.stat().st_mode & ~_OTHERS)


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & _OTHERS)
