"""Write one build from a snapshot: the files whose rows changed, and the manifest."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pycountry

from warehouse.compute import ProcessPool, Task
from warehouse.json_encoding import encode
from warehouse.mart.awards import add_tender_facts
from warehouse.mart.builds import builds_at, mart_folder
from warehouse.mart.changed_files import TableFile, files_of, write_rows
from warehouse.mart.mart_files import write_task
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.tables import MART_SCHEMA_VERSION, MART_TABLES, MartTable
from warehouse.steps.files import BuildFile, BuildManifest

# A task opens a database of its own; that should not take longer than its files.
_ROWS_OF_A_TASK = 50_000


def write_mart(
    snapshot: Snapshot,
    mart: str | Path,
    metadata: Mapping[str, str],
    compute: ProcessPool | None = None,
) -> None:
    """Write the complete build of a snapshot; no reader sees it before ``Builds.switch``.

    ``metadata`` goes into the build: its ``notice``, ``made_from``, the export manifest and
    whatever else readers need.
    """
    files = write_mart_files(snapshot, mart, compute)
    builds_at(mart).add(manifest_of(snapshot.data_version, metadata, files))


def manifest_of(
    data_version: str, metadata: Mapping[str, str], files: Sequence[BuildFile]
) -> BuildManifest:
    """Return the manifest of a build."""
    version = {"data_version": data_version, "layout": str(MART_SCHEMA_VERSION)}
    return BuildManifest(data_version, {**metadata, **version}, tuple(files))


def write_mart_files(
    snapshot: Snapshot,
    mart: str | Path,
    compute: ProcessPool | None = None,
    page_data: Mapping[str, Any] = MappingProxyType({}),
) -> list[BuildFile]:
    """Write the files of a snapshot that no build has yet, and return all of them.

    ``page_data`` is what pages show of the whole build, by name.
    """
    add_tender_facts(snapshot)
    existing = builds_at(mart).intact_files()
    sql = snapshot.sql.cursor()
    try:
        sql.execute("SET TimeZone = 'UTC'")
        sql.register("countries", countries())
        bodies = [msgspec.json.encode(value).decode() for value in page_data.values()]
        columns = {"name": pa.array(page_data, pa.string()), "body": pa.array(bodies, pa.string())}
        sql.register("page_data", pa.table(columns))
        files: list[BuildFile] = []
        for table in MART_TABLES:
            files += _files_of_table(sql, table, mart, existing, snapshot.folder, compute)
        return files
    finally:
        sql.close()


def _files_of_table(
    sql: duckdb.DuckDBPyConnection,
    table: MartTable,
    mart: str | Path,
    existing: Mapping[str, BuildFile],
    folder: Path,
    compute: ProcessPool | None,
) -> list[BuildFile]:
    files = files_of(sql, table)
    missing = [file for file in files if file.key not in existing]
    rows_folder = folder / f"mart-{table.name}"
    try:
        written = _write(sql, table, mart, missing, rows_folder, compute) if missing else {}
    finally:
        shutil.rmtree(rows_folder, ignore_errors=True)
    return [written.get(file.key) or existing[file.key] for file in files]


def _write(
    sql: duckdb.DuckDBPyConnection,
    table: MartTable,
    mart: str | Path,
    files: Sequence[TableFile],
    folder: Path,
    compute: ProcessPool | None,
) -> dict[str, BuildFile]:
    groups = list(_groups(files))
    tasks = [
        Task(
            f"mart/{table.name}/{group[0].label}",
            write_task,
            {"rows": tuple(paths)},
            settings={
                "table": table.name,
                # Another process may be in another folder.
                "folder": str(mart_folder(mart).absolute()),
                "labels": {file.key: file.label for file in group},
            },
        )
        for group, paths in zip(groups, write_rows(sql, table, groups, folder), strict=True)
    ]
    made = compute.run(tasks) if compute is not None else [write_task(task, sql) for task in tasks]
    return {file.key: file for files_of_task in made for file in files_of_task}


def _groups(files: Sequence[TableFile]) -> Iterator[list[TableFile]]:
    """Yield files together until they are worth a task."""
    group: list[TableFile] = []
    for file in files:
        group.append(file)
        if sum(each.rows for each in group) >= _ROWS_OF_A_TASK:
            yield group
            group = []
    if group:
        yield group


def made_from(loads: Mapping[str, int], rules: Sequence[str] = ()) -> str:
    """Return a fingerprint of what a build is made from: loads, schema version, derivations."""
    parts = {
        "layout": MART_SCHEMA_VERSION,
        "loads": dict(sorted(loads.items())),
        "rules": list(rules),
    }
    return encode(parts).decode()


def countries() -> pa.Table:
    """Return both ISO codes and the name of each country."""
    rows = [
        {"country": country.alpha_2, "country_iso3": country.alpha_3, "name": country.name}
        for country in pycountry.countries
    ]
    return pa.Table.from_pylist(rows)
