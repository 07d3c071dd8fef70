"""Pages that are those of the version before take no space of their own."""

import filecmp
from contextlib import suppress
from pathlib import Path


def link_same_files(folder: Path, before: Path) -> int:
    """Replace each file that has the same bytes in ``before`` by a link; return how many.

    Files of a version never change, so two names of one file are as good as two files.
    """
    linked = 0
    for path in sorted(folder.rglob("*")):
        other = before / path.relative_to(folder)
        if path.is_file() and other.is_file() and filecmp.cmp(path, other, shallow=False):
            # Not every file system has links.
            with suppress(OSError):
                link = path.with_name(f"{path.name}.partial")
                link.hardlink_to(other)
                link.replace(path)
                linked += 1
    return linked
