"""Builds: the pointer, every manifest, and every file that a manifest names."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pipelines.verify.damage import PUBLISH_AGAIN, Damage, restore
from warehouse.errors import DamagedFile
from warehouse.file_checks import damage_of
from warehouse.mart.builds import builds_at, is_postgres_url, sqlite_folder
from warehouse.mart.postgres_builds import PostgresBuilds
from warehouse.mart.sqlite_builds import (
    current_build_file,
    read_manifest,
    single_file,
)
from warehouse.steps.files import SEALED, StoredFile


def damaged_builds(marts: str, *, thorough: bool = True) -> Iterator[Damage]:
    """Yield what is damaged of the builds: by names and sizes, or by every byte."""
    if is_postgres_url(marts):
        yield from _damaged_schemas(marts)
        return
    folder = sqlite_folder(marts)
    try:
        current = current_build_file(folder)
    except DamagedFile as error:
        do = "`sankofa rollback DATA_VERSION` to the build to serve; see `sankofa builds`"
        yield Damage("pointer to the current build", str(error), do)
        current = None
    else:
        if current is None and builds_at(marts).names():
            do = "`sankofa rollback DATA_VERSION` to one of them, or `sankofa publish`"
            says = "there are builds, and none of them is served"
            yield Damage("pointer to the current build", says, do)
    if current is not None and not current.is_file():
        says = f"a pointer in {folder} names it, and it is not there"
        yield Damage(f"build {current.stem}", says, _lost(current), remake=True)
    checked: dict[str, str | None] = {}
    for name in builds_at(marts).names():
        is_current = current is not None and current.stem == name
        yield from _damaged_build(folder, name, checked, is_current=is_current, thorough=thorough)


def versions_with_lists(marts: str) -> frozenset[str]:
    """Return the versions whose exports and pages were written with a list of their files."""
    builds = builds_at(marts)
    return frozenset(name for name in builds.names() if SEALED in builds.metadata(name))


def _damaged_build(
    folder: Path, name: str, checked: dict[str, str | None], *, is_current: bool, thorough: bool
) -> Iterator[Damage]:
    manifest = read_manifest(folder, name)
    if manifest is None:
        path = folder / f"{name}.json"
        says = "its manifest cannot be read, or is not what was written"
        yield Damage(f"build {name}", says, _lost(path), remake=is_current)
        return
    for file in manifest.files:
        for stored in file.stored:
            if stored.path not in checked:
                checked[stored.path] = _damage(folder, name, stored, thorough=thorough)
            if (reason := checked[stored.path]) is not None:
                path = folder / stored.path
                yield Damage(
                    f"build {name}",
                    f"{path.name} ({file.table or 'all tables'}): {reason}",
                    PUBLISH_AGAIN if is_current else _lost(path, name),
                    remake=is_current,
                    delete=path if is_current else None,
                )


def _damage(folder: Path, name: str, file: StoredFile, *, thorough: bool) -> str | None:
    path = folder / file.path
    if not thorough:
        return damage_of(path, file.bytes)
    if not file.sha256 and path == single_file(folder, name):
        return _damage_of_database(path)
    return file.damage(folder)


def _damage_of_database(path: Path) -> str | None:
    """Return what SQLite says of a file that has no check; a changed value it cannot see."""
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            ((found,),) = database.execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.Error as error:
        return f"SQLite cannot read it ({error})"
    return None if found == "ok" else f"SQLite says: {found}"


def _lost(path: Path, name: str = "") -> str:
    otherwise = f"`sankofa builds drop {name}`" if name else "`sankofa publish` makes a new build"
    return restore(str(path), otherwise)


def _damaged_schemas(marts: str) -> Iterator[Damage]:
    """Yield the files in a database that are missing or have another number of rows."""
    # Imported here: psycopg is an optional dependency.
    builds = PostgresBuilds(marts)
    for name in builds.names():
        manifest = builds.manifest(name)
        if manifest is None:
            do = "restore the database from your backup, or `sankofa publish`"
            yield Damage(f"build {name}", "its manifest cannot be read", do)
            continue
        for file in manifest.files:
            rows = builds.count_rows(file) if file.key else None
            if file.key and rows != file.rows:
                found = "is missing" if rows is None else f"has {rows:,} rows"
                yield Damage(
                    f"build {name}",
                    f"the schema {file.path} ({file.table}) {found} instead of {file.rows:,}",
                    f"restore the database from your backup, or `sankofa builds drop {name}` and "
                    "`sankofa publish`",
                )
