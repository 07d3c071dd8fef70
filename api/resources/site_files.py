"""The files of a build's site, from a folder or an object store."""

from functools import lru_cache

from warehouse.errors import DamagedFile
from warehouse.file_checks import FileCheck, check_of, stored_checks
from warehouse.file_store import FileStore, require_known_store

# Pages of a build never change. Those that were asked for last are kept, since an object store
# would have to be asked each time; a site is some hundred files of a few kB.
_KEPT = 512
_KEPT_LISTS = 16


class SiteFiles:
    """The pages of all builds: a folder for each data_version, with a list of its files."""

    def __init__(self, place: str) -> None:
        require_known_store(place, "SANKOFA_PAGES")
        self._store = FileStore.of(place)
        self._kept = lru_cache(_KEPT)(self._checked)
        self._checks = lru_cache(_KEPT_LISTS)(self._read_checks)

    def read(self, version: str, *parts: str) -> bytes | None:
        """Return a page of a version by its path; None if there is none.

        Raises ``DamagedFile`` for one that is missing or is not what was published.
        """
        return (self._checked if self._store.is_local else self._kept)(version, *parts)

    def _checked(self, version: str, *parts: str) -> bytes | None:
        body, checks = self._fetch(version, *parts), self._checks(version)
        if checks is None:
            # Versions that were published before there were lists cannot be checked.
            if body is None and not self._store.exists(version, "index.html"):
                raise DamagedFile(f"the pages of {version} are missing; run `sankofa verify`")
        else:
            expected = checks.get("/".join(parts))
            if (None if body is None else check_of(body)) != expected:
                path = self._store.path(version, *parts)
                raise DamagedFile(f"the page {path} is missing or damaged; run `sankofa verify`")
        return body

    def _read_checks(self, version: str) -> dict[str, FileCheck] | None:
        return stored_checks(self._store, version)

    def _fetch(self, *parts: str) -> bytes | None:
        try:
            return self._store.read(*parts)
        # A path that is a folder, or goes on below a file.
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
