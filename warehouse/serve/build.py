"""The published build as a process reads it: read-only, and always a complete one.

The current build is looked up once for each read, so that the next request sees a new one and no
answer mixes two. A build is a manifest of files; ``Build`` finds those that a question needs.
"""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from warehouse.publish.builds import mart_folder
from warehouse.publish.file_labels import bucket_name, cell_of, label_order, value_label
from warehouse.publish.manifest import BuildFile, BuildManifest
from warehouse.publish.tables import MART_TABLES, READABLE_SCHEMA_VERSIONS, Files
from warehouse.serve.engines import Engine, FileReader, SqlRows
from warehouse.shared.errors import (
    DamagedFile,
    DatastoreUnavailable,
    NothingPublished,
    SankofaError,
    UnknownVersion,
)

T = TypeVar("T")
# The current one, the one before, and one that is pinned: each keeps its manifest in memory.
_MAX_OPEN_BUILDS = 3
# As the metadata of a build has it.
READABLE = {str(version) for version in READABLE_SCHEMA_VERSIONS}
_FILES = {table.name: table.files for table in MART_TABLES}
_NONE: tuple[FileReader, ...] = ()


class Build:
    """One build: its data_version, its metadata, and readers of its files."""

    def __init__(
        self, manifest: BuildManifest, reader: Callable[[str, BuildFile], FileReader]
    ) -> None:
        self.data_version, self.metadata = manifest.data_version, manifest.metadata
        self._manifest, self._reader = manifest, reader
        self._tables: dict[str, _Files] = {}
        self._made: dict[str, Any] = {}

    @property
    def notice(self) -> str:
        """The licence notice that goes with every response."""
        return self.metadata["notice"]

    def files(self, table: str) -> Sequence[FileReader]:
        """Return all files of a table, in the order in which they follow each other."""
        return self._of(table).all

    def split(self, table: str) -> Files | None:
        """Return how the rows of a table are spread over its files; None if it is one file."""
        return _FILES.get(table)

    def files_with(self, table: str, column: str, value: str) -> Sequence[FileReader]:
        """Return the files in which rows with a value can lie: all if the column decides none."""
        files, decides = self._of(table), _FILES.get(table)
        return files.all if decides is None or decides.by != column else files.of_value(value)

    def made_once(self, name: str, make: Callable[[], T]) -> T:
        """Return what is made once for the build: its files never change."""
        if name not in self._made:
            self._made[name] = make()
        made: T = self._made[name]
        return made

    def rows(self, table: str, statement: str, *values: object) -> SqlRows:
        """Run a statement on every file of a table, whose name is ``{table}`` in it."""
        rows: SqlRows = []
        for file in self._of(table).all:
            rows += file.run(statement.replace("{table}", table), values)
        return rows

    def _of(self, table: str) -> "_Files":
        files = self._tables.get(table)
        if files is None:
            listed = self._manifest.of("mart", table)
            # A table without rows can have no file.
            decides = _FILES.get(table) if listed else None
            readers = [self._reader(self.data_version, file) for file in listed]
            self._tables[table] = files = _Files(readers, decides.how if decides else "")
        return files


class _Files:
    """The files of a table, by what decides which rows lie in them."""

    def __init__(self, readers: Sequence[FileReader], how: str) -> None:
        self.all = tuple(sorted(readers, key=lambda file: label_order(file.label)))
        self._how, self._by_value = how, dict[str, tuple[FileReader, ...]]()
        for file in self.all:
            value = file.label.partition("/")[0] if how == "value" else file.label
            self._by_value[value] = (*self._by_value.get(value, ()), file)
        self._buckets = int(self.all[0].label.partition("-")[0]) if how == "hash" else 0

    def of_value(self, value: str) -> tuple[FileReader, ...]:
        """Return the files with rows of a value."""
        if self._how == "hash":
            return self._by_value.get(bucket_name(cell_of(value), self._buckets), _NONE)
        return self._by_value.get(value_label(value), _NONE) if self._how else self.all


class Mart:
    """The builds of a folder; reads use the current one, or a pinned one."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = mart_folder(folder)
        self._engine, self._pinned = Engine(self.folder), ""
        # The builds that were read last; threads share them, and all that is open.
        self._builds: dict[str, Build] = {}

    def at(self, data_version: str) -> "Mart":
        """Return the same mart, pinned to one data_version whatever is published."""
        # A shallow copy: it shares the builds and all that is open.
        pinned = copy.copy(self)
        pinned._pinned = data_version
        return pinned

    def close(self) -> None:
        """Close what is open; the next read opens it again."""
        self._engine.close()

    def build(self) -> Build:
        """Return the build to read now."""
        data_version = self._pinned or self._engine.current()
        try:
            self._engine.check(data_version, is_current=not self._pinned)
            return self._builds.get(data_version) or self._opened(data_version)
        except (UnknownVersion, DamagedFile) as error:
            self._builds.pop(data_version, None)
            if not self._pinned and isinstance(error, UnknownVersion):
                # Whoever pinned nothing did nothing wrong.
                raise DatastoreUnavailable(str(error)) from error
            raise

    def check_files(self) -> None:
        """Raise ``DamagedFile`` if files of the build are missing or known to be damaged."""
        self._engine.check_files(self.build().data_version)

    def _opened(self, data_version: str) -> Build:
        manifest = self._engine.manifest(data_version)
        if manifest.metadata.get("layout") not in READABLE:
            raise self._wrong_schema(data_version)
        while len(self._builds) >= _MAX_OPEN_BUILDS:
            self._builds.pop(next(iter(self._builds)), None)
        self._builds[data_version] = build = Build(manifest, self._engine.reader)
        return build

    def _wrong_schema(self, data_version: str) -> SankofaError:
        reason = f"{data_version} was written by another version of the service"
        if not self._pinned:
            return NothingPublished(
                f"{reason}; if that is newer than this one, replace this one by it, else run "
                "`sankofa publish`"
            )
        return UnknownVersion(f"{reason} and cannot be read by this one")


def check_readable(mart: Mart) -> str:
    """Read a row of the current build, look at all its files, and return its data_version."""
    build = mart.build()
    mart.check_files()
    for file in build.files("countries"):
        file.query("SELECT row_number FROM countries LIMIT 1")
    return build.data_version
