"""The files of a build's site, from a folder or an object store."""

from functools import lru_cache

from warehouse.file_store import FileStore, require_known_store

# Pages of a build never change. Those that were asked for last are kept, since an object store
# would have to be asked each time; a site is some hundred files of a few kB.
_KEPT = 512


class SiteFiles:
    """The pages of all builds: a folder for each data_version."""

    def __init__(self, place: str) -> None:
        require_known_store(place, "SANKOFA_PAGES")
        self._store = FileStore.of(place)
        self._kept = lru_cache(_KEPT)(self._fetch)

    def read(self, *parts: str) -> bytes | None:
        """Return a file by its path; None if there is none."""
        try:
            return self._fetch(*parts) if self._store.is_local else self._kept(*parts)
        # A path that is a folder, or goes on below a file.
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def _fetch(self, *parts: str) -> bytes:
        return self._store.read(*parts)
