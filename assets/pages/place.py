"""Where the pages of builds are: a folder, or an object store to which they are copied."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.file_store import FileStore, is_object_store, require_known_store


@contextmanager
def written_pages(place: str, data_version: str, work: Path) -> Iterator[Path]:
    """Yield the local folder to write the pages of a build to; they are in place afterwards.

    Pages for an object store are written below ``work`` and copied: they link to each other, and
    nobody is sent to them before the switch.
    """
    require_known_store(place, "SANKOFA_PAGES")
    if not is_object_store(place):
        yield Path(place) / data_version
        return
    folder = work / "pages" / data_version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
        store = FileStore.of(place)
        # Of a publisher that was killed while it copied.
        store.remove(data_version)
        store.upload_folder(folder, data_version)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
