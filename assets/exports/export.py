"""Export a build: every file of a version, then its manifest; ``latest`` is switched afterwards.

A version with a manifest is complete, because the manifest is written last. A killed export leaves
a version without one, which the next export deletes.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import msgspec

from assets.exports import describe
from assets.exports.artifacts import EXPORT_FILES, ExportFile
from assets.exports.signing import SigningKey
from assets.exports.write_artifact import failed_artifact, take_over_artifact, write_artifact
from warehouse.publish.awards import add_stated_awards
from warehouse.publish.manifest import step_key
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import register_store
from warehouse.serve.exports import (
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
    file_name,
    schema_name,
)
from warehouse.shared.code_version import code_version
from warehouse.shared.errors import DamagedFile, SankofaError, UnknownVersion
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import CHECKS, check_of, checks_of_folder, encode_checks
from warehouse.shared.texts import DATA_VERSION

# Memory limit of DuckDB while files are written; larger sorts spill to disk.
_MEMORY_LIMIT = "3GB"
# Two files at a time: one is compressed while the other is sorted.
_THREADS = min(2, os.cpu_count() or 1)


class AlreadyExported(SankofaError):
    """The version is exported already; versions never change."""


def export(
    snapshot: Snapshot,
    destination: str,
    *,
    signing_key: SigningKey,
    previous: str | None,
    notice: str,
    now: datetime | None = None,
    made_before: Mapping[str, str] | None = None,
) -> Manifest:
    """Write every file of a build and return its manifest; ``latest`` is switched separately.

    ``destination`` is a folder or an fsspec URL, ``previous`` the version that deltas are computed
    against. Addresses in the files are names of files beside them: nobody knows at publication
    under which address they will be served. ``made_before`` are the keys (``file_keys``) of
    its files: a file with the same key is taken over from it, byte for byte.
    """
    store, version = FileStore.of(destination), snapshot.data_version
    _prepare(store, version)
    add_stated_awards(snapshot)
    files_before = _artifacts(destination, previous)
    keys, tables = file_keys(snapshot, notice), _table_names(snapshot)
    missing = {
        file.key: [name for name in file.needs if name not in tables] for file in EXPORT_FILES
    }
    possible = [file for file in EXPORT_FILES if not missing[file.key]]
    register_store(snapshot.sql, store)

    def write(file: ExportFile) -> Artifact:
        before = files_before.get(file.key)
        if before is None or previous is None:
            return write_artifact(snapshot, store, notice, file, None)
        if (made_before or {}).get(file.key) == keys[file.key]:
            return take_over_artifact(store, version, file, before, previous)
        return write_artifact(snapshot, store, notice, file, previous)

    with _memory_limit(snapshot.sql), ThreadPoolExecutor(_THREADS) as threads:
        artifacts = list(threads.map(write, possible))
    manifest = Manifest(
        data_version=version,
        generated_at=(now or datetime.now(UTC)).astimezone(UTC),
        artifacts=tuple(artifacts),
        failed=tuple(
            failed_artifact(export_file, missing[export_file.key])
            for export_file in EXPORT_FILES
            if missing[export_file.key]
        ),
        signature_url=SIGNATURE,
        datapackage_url=DATAPACKAGE,
    )
    _describe(store, manifest, list(zip(possible, artifacts, strict=True)), notice)
    body = encode_manifest(manifest)
    store.put(signing_key.public_pem(), version, PUBLIC_KEY)
    # Signed as the very bytes that are stored: another encoding of the same manifest would not
    # verify.
    store.put(signing_key.sign(body), version, SIGNATURE)
    if store.is_local:
        # An object store checks its own objects.
        checks = checks_of_folder(Path(store.path(version)))
        store.put(encode_checks({**checks, MANIFEST_FILE: check_of(body)}), version, CHECKS)
    store.put(body, version, MANIFEST_FILE)
    return manifest


def switch_latest(destination: str, data_version: str) -> None:
    """Point ``latest`` to another complete version."""
    store = FileStore.of(destination)
    if not DATA_VERSION.fullmatch(data_version) or not store.exists(data_version, MANIFEST_FILE):
        raise UnknownVersion(f"{data_version!r} has no complete export; export it first")
    store.put(data_version.encode("ascii"), LATEST)


def _prepare(store: FileStore, version: str) -> None:
    """Raise if the version exists, and delete the incomplete versions of killed exports."""
    if not DATA_VERSION.fullmatch(version):
        raise UnknownVersion(f"{version!r} is not a data_version")
    for name in store.folders():
        if DATA_VERSION.fullmatch(name) and not store.exists(name, MANIFEST_FILE):
            store.remove(name)
    if store.exists(version, MANIFEST_FILE):
        raise AlreadyExported(
            f"{version} is exported already and never changes; publish a new version"
        )


def _artifacts(destination: str, previous: str | None) -> dict[str, Artifact]:
    """Return the files of the version before that are intact; none if it was not exported."""
    if previous is None:
        return {}
    published = PublishedExports(destination)
    try:
        artifacts, damaged = (
            published.manifest(previous).artifacts,
            dict(published.damaged(previous)),
        )
    except (UnknownVersion, DamagedFile):
        return {}
    return {
        artifact.key: artifact for artifact in artifacts if file_name(artifact.key) not in damaged
    }


def file_keys(snapshot: Snapshot, notice: str) -> dict[str, str]:
    """Return for each file a key of what it is made from: tables by content, code and notice."""
    version = code_version("files", __name__)
    contents = {
        table: snapshot.content(table)
        for table in dict.fromkeys(name for file in EXPORT_FILES for name in file.needs)
    }
    return {
        file.key: step_key(
            "export",
            version,
            file.key,
            {table: contents[table] for table in file.needs},
            {"notice": notice},
        )
        for file in EXPORT_FILES
    }


def _table_names(snapshot: Snapshot) -> set[str]:
    # The tables of a snapshot are views over its Parquet files.
    return set(snapshot.read("SELECT view_name FROM duckdb_views()")["view_name"].to_pylist())


@contextmanager
def _memory_limit(sql: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Lower DuckDB's memory limit for a while; sorts that do not fit spill to disk."""
    (before,) = sql.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    sql.execute(f"SET GLOBAL memory_limit = '{_MEMORY_LIMIT}'")
    try:
        yield
    finally:
        sql.execute(f"SET GLOBAL memory_limit = '{before}'")


def _describe(
    store: FileStore, manifest: Manifest, described: list[tuple[ExportFile, Artifact]], notice: str
) -> None:
    version, created = manifest.data_version, manifest.generated_at
    for export_file, _ in described:
        schema = msgspec.json.encode(describe.table_schema(export_file))
        store.put(schema, version, schema_name(export_file.key))
    for name, make in ((DATAPACKAGE, describe.datapackage), (CROISSANT, describe.croissant)):
        body = msgspec.json.encode(make(described, version, notice, created))
        store.put(msgspec.json.format(body, indent=1), version, name)
