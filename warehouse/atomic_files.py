"""Replace a file at once: a reader sees the old one or the new one, also after a power cut."""

import os
from pathlib import Path


def move_into_place(partial: Path, target: Path) -> None:
    """Rename a finished file to its final name; it is on disk before it can be seen."""
    sync(partial)
    partial.replace(target)
    # The rename itself is durable only once the folder is synced too.
    sync(target.parent)


def create_file(path: Path, body: bytes, partial: Path) -> bool:
    """Write a file unless there is one by that name; return whether it was written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(body)
    sync(partial)
    try:
        # A link is refused if the name is taken, and what it names is complete.
        os.link(partial, path)
    except FileExistsError:
        return False
    finally:
        partial.unlink(missing_ok=True)
    sync(path.parent)
    return True


def sync(path: Path) -> None:
    """Write a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
