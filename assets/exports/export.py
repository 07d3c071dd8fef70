"""Export a build: every file of a version, then its manifest; ``latest`` is switched afterwards.

A version with a manifest is complete, because the manifest is written last. A killed export leaves
a version without one, which the next export deletes. Files are described for other tools as well:
Frictionless Data Package and ML Croissant.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from assets.exports.artifacts import BUCKETED, EXPORT_FILES, LICENCES, SQL, ExportFile
from assets.exports.write_artifact import (
    failed_artifact,
    read_file,
    take_over_artifact,
    write_artifact,
)
from warehouse.publish.awards import add_stated_awards
from warehouse.publish.manifest import step_key
from warehouse.publish.snapshot import Snapshot
from warehouse.record.relations import register_store
from warehouse.serve.catalogue import ChangedDataset
from warehouse.serve.exports import (
    CROISSANT,
    DATAPACKAGE,
    LATEST,
    MANIFEST_FILE,
    PARQUET,
    PUBLIC_KEY,
    SIGNATURE,
    Artifact,
    ArtifactKind,
    Manifest,
    PublishedExports,
    encode_manifest,
    file_name,
    schema_name,
)
from warehouse.shared.code_version import code_version
from warehouse.shared.data_files import csv_rows
from warehouse.shared.errors import DamagedFile, SankofaError, UnknownVersion
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import CHECKS, check_of, checks_of_folder, encode_checks
from warehouse.shared.signing import SigningKey
from warehouse.shared.texts import DATA_VERSION

# Memory limit of DuckDB while files are written; larger sorts spill to disk.
_MEMORY_LIMIT = "3GB"
# The files of recorded rows; all others are made from them.
_RECORDED = ("af-fund-facts", "af-tender-releases", "af-macro-series", "af-macro-annual")
# Two files at a time: one is compressed while the other is sorted.
_THREADS = min(2, os.cpu_count() or 1)


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
    against. Addresses in the files are names of files next to them: at publication it is not known
    under which address they will be served. ``made_before`` are the keys (``file_keys``) of
    its files: a file with the same key is taken over from it, byte for byte.
    """
    store, version = FileStore.of(destination), snapshot.data_version
    _prepare(store, version)
    add_stated_awards(snapshot)
    files_before = _artifacts(destination, previous)
    # The tables of a snapshot are views over its Parquet files.
    views = snapshot.read("SELECT view_name FROM duckdb_views()")["view_name"].to_pylist()
    keys, tables = file_keys(snapshot, notice), set(views)
    buckets = f"SELECT DISTINCT left(md5(service_id), 1) AS bucket FROM {BUCKETED}"
    with_rows = snapshot.read(buckets)["bucket"].to_pylist() if BUCKETED in tables else []
    wanted = [
        each for each in EXPORT_FILES if each.needs != (BUCKETED,) or each.key[-1] in with_rows
    ]
    missing = [(file, [name for name in file.needs if name not in tables]) for file in wanted]
    possible = [file for file, names in missing if not names]
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
        failed=tuple(failed_artifact(file, names) for file, names in missing if names),
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


def changes_of_export(
    snapshot: Snapshot, destination: str, before: str | None
) -> list[ChangedDataset] | None:
    """Return how many vintages came and went since the version before; None if its files are gone.

    Without a version before, everything came.
    """
    store, files_before = FileStore.of(destination), _artifacts(destination, before)
    written = PublishedExports(destination).manifest(snapshot.data_version).artifacts
    checksums = {artifact.key: artifact.sha256 for artifact in written}
    changed: dict[str, Counter[str]] = {}
    for file in EXPORT_FILES:
        if file.sku is None or file.key not in _RECORDED:
            continue
        if before is not None and file.key not in files_before:
            return None
        if before is not None and files_before[file.key].sha256 == checksums[file.key]:
            # It was taken over.
            continue
        newer = read_file(store, snapshot.data_version, file)
        older = f"(FROM {newer} LIMIT 0)" if before is None else read_file(store, before, file)
        counts = SQL.statement("changes", id=file.id, newer=newer, older=older)
        (row,) = snapshot.read(counts).to_pylist()
        changed.setdefault(file.sku, Counter()).update(row)
    return [
        ChangedDataset(sku, **counts) for sku, counts in sorted(changed.items()) if counts.total()
    ]


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
        raise SankofaError(
            f"{version} is exported already and never changes; publish a new version"
        )


def _artifacts(destination: str, previous: str | None) -> dict[str, Artifact]:
    """Return the files of the version before that are intact; none if it was not exported."""
    if previous is None:
        return {}
    published = PublishedExports(destination)
    try:
        artifacts = published.manifest(previous).artifacts
        damaged = dict(published.damaged(previous))
    except (UnknownVersion, DamagedFile):
        return {}
    return {each.key: each for each in artifacts if file_name(each.key) not in damaged}


def file_keys(snapshot: Snapshot, notice: str) -> dict[str, str]:
    """Return for each file a key of what it is made from: tables by content, code and notice."""
    version = code_version("files", __name__)
    contents = {
        table: snapshot.content(table)
        for table in dict.fromkeys(name for file in EXPORT_FILES for name in file.needs)
    }
    return {
        file.key: step_key(
            *("export", version, file.key),
            {table: contents[table] for table in file.needs},
            {"notice": notice},
        )
        for file in EXPORT_FILES
    }


@contextmanager
def _memory_limit(sql: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Lower DuckDB's memory limit for a while; sorts that do not fit spill to disk."""
    (before,) = sql.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    sql.execute(f"SET GLOBAL memory_limit = '{_MEMORY_LIMIT}'")
    try:
        yield
    finally:
        sql.execute(f"SET GLOBAL memory_limit = '{before}'")


# Descriptions of an export for other tools.

_NAME = "sankofa-exports"
_TITLE = "Sankofa: what was knowable on any past day, for African and emerging markets"
_LICENCE_PAGES: dict[ArtifactKind, str | None] = {
    "open-panel": "https://creativecommons.org/licenses/by/4.0/",
    "licensed": None,
}
# The terms of Croissant, some with the type of their values.
_CONTEXT: dict[str, Any] = {
    row["term"]: {"@id": row["id"], "@type": row["type"]} if row["type"] else row["id"]
    for row in csv_rows(__name__, "croissant_terms")
}
Described = Sequence[tuple[ExportFile, Artifact]]


def _describe(store: FileStore, manifest: Manifest, described: Described, notice: str) -> None:
    version, created = manifest.data_version, manifest.generated_at
    for export_file, _ in described:
        schema = msgspec.json.encode(table_schema(export_file))
        store.put(schema, version, schema_name(export_file.key))
    for name, make in ((DATAPACKAGE, datapackage), (CROISSANT, croissant)):
        body = msgspec.json.encode(make(described, version, notice, created))
        store.put(msgspec.json.format(body, indent=1), version, name)


def table_schema(export_file: ExportFile) -> dict[str, Any]:
    """Describe the columns of a file as a Frictionless Table Schema."""
    fields = [
        {
            "name": column.name,
            "type": _type_names(column.field.type)[0],
            "description": column.meaning,
            "example": _json_example(column.example),
            "constraints": {"required": not column.field.nullable},
        }
        for column in export_file.columns
    ]
    return {"fields": fields, "primaryKey": [export_file.id]}


def datapackage(described: Described, data_version: str, notice: str, created: datetime) -> Any:
    """Describe all files as a Data Package, version 2."""
    kinds = dict.fromkeys(export_file.kind for export_file, _ in described)
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": _NAME,
        "title": _TITLE,
        "description": notice,
        "version": data_version,
        "created": created.isoformat().replace("+00:00", "Z"),
        "licenses": [_licence(kind) for kind in kinds],
        "resources": [
            {
                "name": file.key,
                "title": file.title,
                "path": file_name(file.key),
                "format": "parquet",
                "mediatype": PARQUET,
                "bytes": artifact.size_bytes,
                "hash": f"sha256:{artifact.sha256}",
                "licenses": [_licence(file.kind)],
                "schema": table_schema(file),
            }
            for file, artifact in described
        ],
    }


def croissant(described: Described, data_version: str, notice: str, created: datetime) -> Any:
    """Describe all files and their fields as ML Croissant 1.0."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": _NAME,
        "description": f"{_TITLE}. {notice}",
        "citeAs": f"Sankofa, data_version {data_version}",
        "version": data_version,
        "datePublished": created.isoformat(),
        "license": list(
            dict.fromkeys(_LICENCE_PAGES[file.kind] or LICENCES[file.kind] for file, _ in described)
        ),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": export_file.key,
                "name": file_name(export_file.key),
                "description": export_file.title,
                "contentUrl": artifact.url,
                "contentSize": f"{artifact.size_bytes} B",
                "encodingFormat": "application/x-parquet",
                "sha256": artifact.sha256,
            }
            for export_file, artifact in described
        ],
        "recordSet": [_record_set(file) for file, _ in described],
    }


def _record_set(export_file: ExportFile) -> dict[str, Any]:
    name = f"{export_file.key}-rows"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": export_file.title,
        "key": {"@id": f"{name}/{export_file.id}"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column.name}",
                "name": f"{name}/{column.name}",
                "description": column.meaning,
                "dataType": _type_names(column.field.type)[1],
                "source": {
                    "fileObject": {"@id": export_file.key},
                    "extract": {"column": column.name},
                },
                **({"repeated": True} if pa.types.is_list(column.field.type) else {}),
            }
            for column in export_file.columns
        ],
    }


def _licence(kind: ArtifactKind) -> dict[str, str]:
    page = _LICENCE_PAGES[kind]
    return {"name": LICENCES[kind]} | ({"path": page} if page else {})


def _type_names(data_type: pa.DataType) -> tuple[str, str]:
    """Return the names of an Arrow type in Table Schema and in Croissant."""
    if pa.types.is_list(data_type):
        return "array", _type_names(data_type.value_type)[1]
    return {
        pa.string(): ("string", "sc:Text"),
        pa.int64(): ("integer", "sc:Integer"),
        pa.bool_(): ("boolean", "sc:Boolean"),
        pa.date32(): ("date", "sc:Date"),
        pa.timestamp("us", tz="UTC"): ("datetime", "sc:DateTime"),
    }.get(data_type, ("number", "sc:Float"))


def _json_example(example: Any) -> Any:
    if isinstance(example, Decimal):
        return str(example)
    return example.isoformat() if isinstance(example, date) else example
