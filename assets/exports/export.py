"""Export a build: every file of a version, then its manifest; ``latest`` is switched afterwards.

A version with a manifest is complete, because the manifest is written last. A killed export leaves
a version without one, which the next export deletes.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import duckdb
import msgspec

from assets.exports import describe
from assets.exports.artifacts import EXPORT_FILES, ExportFile
from assets.exports.signing import SigningKey
from assets.exports.write_artifact import failed_artifact, take_over_artifact, write_artifact
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
    artifacts_before = _artifacts(destination, previous)
    tables = _table_names(snapshot)
    missing = {
        export_file.key: [name for name in export_file.needs if name not in tables]
        for export_file in EXPORT_FILES
    }
    possible = [export_file for export_file in EXPORT_FILES if not missing[export_file.key]]
    register_store(snapshot.sql, store)
    taken_over = _unchanged(
        possible, file_keys(snapshot, notice), made_before or {}, set(artifacts_before)
    )
    write = partial(write_artifact, snapshot, store, notice)

    def write_or_take_over(export_file: ExportFile, against: str | None) -> Artifact:
        if export_file.key not in taken_over or against is None:
            return write(export_file, against)
        before = artifacts_before[export_file.key]
        return take_over_artifact(store, version, export_file, before, against)

    with _memory_limit(snapshot.sql), ThreadPoolExecutor(_THREADS) as threads:
        against = {
            export_file.key: previous if export_file.key in artifacts_before else None
            for export_file in possible
        }
        written: dict[str, Artifact] = {}
        # Files made from what another file's reader collects are written in a second round.
        for second_round in (False, True):
            export_files = [
                export_file
                for export_file in possible
                if (export_file.after is not None) is second_round
            ]
            artifacts_written = threads.map(
                write_or_take_over,
                export_files,
                [against[export_file.key] for export_file in export_files],
            )
            written.update((artifact.key, artifact) for artifact in artifacts_written)
    artifacts = [written[export_file.key] for export_file in possible]
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
    version, contents = code_version("files", __name__), dict[str, str]()
    keys = {}
    for export_file in EXPORT_FILES:
        for table in export_file.needs:
            if table not in contents:
                contents[table] = snapshot.content(table)
        inputs = {table: contents[table] for table in export_file.needs}
        keys[export_file.key] = step_key(
            "export", version, export_file.key, inputs, {"notice": notice}
        )
    return keys


def _unchanged(
    export_files: Sequence[ExportFile],
    keys: Mapping[str, str],
    before: Mapping[str, str],
    exported: Collection[str],
) -> set[str]:
    """Return which files are those of the version before."""
    same = {
        file.key
        for file in export_files
        if file.key in exported and before.get(file.key) == keys[file.key]
    }
    # What another file is made from is collected while the first is written.
    needed = {file.after for file in export_files if file.after and file.key not in same}
    return same - needed


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
