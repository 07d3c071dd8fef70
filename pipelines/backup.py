"""A home as one file, and a home made from that file.

A backup is a tar archive whose first names are those of stores (``landing``, ``record`` …), so it
can be restored into a home whose settings place them elsewhere. What can be made again is not in
it: Dagster's history, the stage, caches, logs.
"""

import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import lmdb

from warehouse.publish.builds import builds_at
from warehouse.record.landing import open_landing
from warehouse.record.store import open_record
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import SETTINGS_FILE, Settings

# The last member: an archive without it was cut off.
_END = "complete"
# Both have a way of their own to be copied while servers write to them.
_CONTROL, _USAGE = "control.sqlite", "usage.lmdb"


def back_up(settings: Settings, file: Path) -> list[str]:
    """Write the stores of a home into a new file; return the addresses of those elsewhere.

    Servers go on. Whoever fetches, loads or publishes waits until it is written, so that all stores
    are of one moment.
    """
    if file.exists():
        raise SankofaError(f"{file} exists: name a new file")
    places, elsewhere = _stores(settings)
    partial = file.with_name(f".{file.name}.partial")
    partial.unlink(missing_ok=True)
    # It contains keys.
    partial.touch(0o600)
    with (
        builds_at(settings.marts).publishing_lock(),
        open_record(settings).exclusive(),
        open_landing(settings).bodies_kept(exclusively=True),
        tarfile.open(partial, "w") as archive,
        TemporaryDirectory(dir=file.parent, prefix=".backup-") as folder,
    ):
        for name, place in places.items():
            if place.exists():
                _add(archive, name, place, Path(folder))
        archive.addfile(tarfile.TarInfo(_END))
    partial.rename(file)
    return elsewhere


def restore_into(settings: Settings, file: Path) -> None:
    """Put the stores of a backup where the settings place them; there must be none yet."""
    places, _ = _stores(settings)
    present = [str(place) for place in places.values() if place.exists()]
    if present:
        raise SankofaError(
            f"there are {', '.join(present)}, and a backup is restored into an empty home: set "
            "SANKOFA_HOME to a new folder, or move these away"
        )
    settings.home.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.home, prefix=".restoring-") as folder:
        try:
            with tarfile.open(file) as archive:
                archive.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise SankofaError(f"{file} is no backup, or is damaged: {error}") from error
        if not Path(folder, _END).exists():
            raise SankofaError(f"{file} is no backup, or its end is missing")
        for name, place in places.items():
            if (restored := Path(folder, name)).exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(restored, place)


def _stores(settings: Settings) -> tuple[dict[str, Path], list[str]]:
    """Return the stores of this machine by their names in a backup, and addresses of others."""
    stores = {
        "landing": settings.landing,
        "record": settings.record,
        "marts": settings.marts,
        "exports": settings.exports.removeprefix("file://"),
        _CONTROL: settings.control,
        _USAGE: settings.usage,
        settings.signing_key.name: str(settings.signing_key),
        SETTINGS_FILE: str(settings.home / SETTINGS_FILE),
    }
    local = {name: Path(place) for name, place in stores.items() if "://" not in place}
    return local, [place for name, place in stores.items() if name not in local]


def _add(archive: tarfile.TarFile, name: str, place: Path, folder: Path) -> None:
    if (copy := _COPIES.get(name)) is not None:
        copy(place, folder / name)
        place = folder / name
    archive.add(place, name)


def _copy_control(place: Path, copy: Path) -> None:
    with closing(sqlite3.connect(place)) as control, closing(sqlite3.connect(copy)) as written:
        control.backup(written)


def _copy_usage(place: Path, copy: Path) -> None:
    with lmdb.open(str(place), subdir=False, readonly=True) as usage:
        usage.copy(str(copy))


_COPIES: dict[str, Callable[[Path, Path], None]] = {_CONTROL: _copy_control, _USAGE: _copy_usage}
