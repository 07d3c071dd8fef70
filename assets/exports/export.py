"""Exporting a build: every file of a version first, the manifest last, then the switch.

A version is complete when its manifest is there, which is written last. What a killed
export left has none; the next one clears it away.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import duckdb
import msgspec

from assets.exports import describe
from assets.exports.artifacts import EXPORT_FILES, ExportFile
from assets.exports.signing import SigningKey
from assets.exports.write_artifact import failed_artifact, write_artifact
from warehouse.data_version import DATA_VERSION
from warehouse.errors import SankofaError, UnknownVersion
from warehouse.exports.file_store import FileStore
from warehouse.exports.published import (
    CROISSANT,
    DATAPACKAGE,
    LATEST,
    MANIFEST_FILE,
    PUBLIC_KEY,
    SIGNATURE,
    Artifact,
    Manifest,
    PublishedExports,
    encode_manifest,
    schema_name,
)
from warehouse.mart.snapshot import Snapshot

# What the engine may hold while files are written; more than that is sorted on disk.
_MEMORY = "3GB"
# Files are written side by side: one is compressed while another is sorted.
_AT_ONCE = min(2, os.cpu_count() or 1)


class AlreadyExported(SankofaError):
    """A version that is complete was to be written again; versions never change."""


def export(
    snapshot: Snapshot,
    destination: str,
    *,
    base_url: str,
    signing_key: SigningKey,
    previous: str | None,
    notice: str,
    now: datetime | None = None,
) -> Manifest:
    """Write every file of a build and give its manifest; nobody is pointed to it yet.

    ``destination`` is a folder or a URL that fsspec knows, ``base_url`` the address at which
    others read it, ``previous`` the version that deltas are against.
    """
    place, version = FileStore.of(destination), snapshot.data_version
    _make_room(place, version)
    address = f"{base_url.rstrip('/')}/{version}"
    before = _keys(destination, previous)
    staged = _staged(snapshot)
    missing = {
        part.key: [name for name in part.needs if name not in staged] for part in EXPORT_FILES
    }
    made = [part for part in EXPORT_FILES if not missing[part.key]]
    _let_read(snapshot.sql, place)
    one = partial(write_artifact, snapshot, place, address, notice)
    with _frugal(snapshot.sql), ThreadPoolExecutor(_AT_ONCE) as threads:
        against = {part.key: previous if part.key in before else None for part in made}
        written: dict[str, Artifact] = {}
        for later in (False, True):
            parts = [part for part in made if (part.after is not None) is later]
            found = threads.map(one, parts, [against[part.key] for part in parts])
            written.update((each.key, each) for each in found)
    artifacts = [written[part.key] for part in made]
    manifest = Manifest(
        data_version=version,
        generated_at=(now or datetime.now(UTC)).astimezone(UTC),
        artifacts=tuple(artifacts),
        failed=tuple(
            failed_artifact(part, missing[part.key]) for part in EXPORT_FILES if missing[part.key]
        ),
        signature_url=f"{address}/{SIGNATURE}",
        datapackage_url=f"{address}/{DATAPACKAGE}",
    )
    _describe(place, manifest, list(zip(made, artifacts, strict=True)), notice)
    body = encode_manifest(manifest)
    place.put(signing_key.public_pem(), version, PUBLIC_KEY)
    place.put(signing_key.sign(body), version, SIGNATURE)
    place.put(body, version, MANIFEST_FILE)
    return manifest


def switch_latest(destination: str, data_version: str) -> None:
    """Let every reader of ``latest`` see another complete version from now on."""
    place = FileStore.of(destination)
    if not DATA_VERSION.fullmatch(data_version) or not place.exists(data_version, MANIFEST_FILE):
        raise UnknownVersion(f"{data_version!r} has no complete export; export it first")
    place.put(data_version.encode("ascii"), LATEST)


def _make_room(place: FileStore, version: str) -> None:
    """Refuse to write a version twice, and clear what killed exports left."""
    if not DATA_VERSION.fullmatch(version):
        raise UnknownVersion(f"{version!r} is not a data_version")
    for name in place.folders():
        if DATA_VERSION.fullmatch(name) and not place.exists(name, MANIFEST_FILE):
            place.remove(name)
    if place.exists(version, MANIFEST_FILE):
        raise AlreadyExported(f"{version} is exported already and never changes; name a new one")


def _keys(destination: str, previous: str | None) -> set[str]:
    """Name the files that the version before has; none where it was not exported."""
    if previous is None:
        return set()
    try:
        return {each.key for each in PublishedExports(destination).manifest(previous).artifacts}
    except UnknownVersion:
        return set()


def _staged(snapshot: Snapshot) -> set[str]:
    return set(snapshot.read("SELECT view_name FROM duckdb_views()")["view_name"].to_pylist())


def _let_read(sql: duckdb.DuckDBPyConnection, place: FileStore) -> None:
    """Let the engine read files of a store that it does not know by itself."""
    protocol = place.address().split("://")[0]
    if not place.is_local and protocol not in sql.list_filesystems():
        sql.register_filesystem(place.files)


@contextmanager
def _frugal(sql: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let the engine sort on disk what does not fit into little memory."""
    (before,) = sql.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    sql.execute(f"SET GLOBAL memory_limit = '{_MEMORY}'")
    try:
        yield
    finally:
        sql.execute(f"SET GLOBAL memory_limit = '{before}'")


def _describe(
    place: FileStore, manifest: Manifest, described: list[tuple[ExportFile, Artifact]], notice: str
) -> None:
    version, created = manifest.data_version, manifest.generated_at
    for part, _ in described:
        schema = msgspec.json.encode(describe.table_schema(part))
        place.put(schema, version, schema_name(part.key))
    for name, make in ((DATAPACKAGE, describe.datapackage), (CROISSANT, describe.croissant)):
        body = msgspec.json.encode(make(described, version, notice, created))
        place.put(msgspec.json.format(body, indent=1), version, name)
