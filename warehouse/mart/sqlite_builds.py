"""Which build is read: one small file that names it, replaced at once."""

import os
import re
from pathlib import Path

from warehouse.errors import UnknownVersion

_POINTER = "current"
_NAME = re.compile(r"[0-9]{8}\.[0-9]+")


def current_build_file(folder: Path) -> Path | None:
    """Give the file of the build that is read now; None before the first."""
    try:
        name = pointer_file(folder).read_text("ascii").strip()
    except FileNotFoundError:
        return None
    return build_file(folder, name)


def pointer_file(folder: Path) -> Path:
    """Give the file that names the build; each switch puts another file in its place."""
    return folder / _POINTER


def switch_pointer(folder: Path, name: str) -> None:
    """Let every reader see another complete build from its next request on."""
    if not build_file(folder, name).is_file():
        raise UnknownVersion(f"{name!r} is not a build that is held; see `sankofa builds`")
    beside = folder / f"{_POINTER}.partial"
    beside.write_text(name, "ascii")
    move_into_place(beside, pointer_file(folder))


def build_names(folder: Path) -> list[str]:
    """Name every complete build that is held, the oldest first."""
    names = [path.stem for path in folder.glob("*.sqlite") if _NAME.fullmatch(path.stem)]
    return sorted(names, key=lambda name: tuple(map(int, name.split("."))))


def build_file(folder: Path, name: str) -> Path:
    """Give the file of a build by its data_version."""
    return folder / f"{checked(name)}.sqlite"


def checked(name: str) -> str:
    """Give a data_version that is written as one; it becomes the name of a file or a schema."""
    if not _NAME.fullmatch(name):
        raise UnknownVersion(f"{name!r} is not a data_version")
    return name


def move_into_place(beside: Path, place: Path) -> None:
    """Move a finished file to its place; it is on disk before it can be seen."""
    _sync(beside)
    beside.replace(place)
    _sync(place.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
