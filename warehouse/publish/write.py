"""Write one build from a snapshot: the files whose rows changed, and the manifest."""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pycountry

from warehouse.publish.awards import add_tender_facts
from warehouse.publish.builds import builds_at, mart_folder
from warehouse.publish.file_labels import (
    CELLS,
    bucket_count,
    bucket_name,
    cell_sql,
    time_labels,
    value_label,
)
from warehouse.publish.manifest import BuildFile, BuildManifest, step_key
from warehouse.publish.mart_files import write_task
from warehouse.publish.row_json import unknown_day
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.steps import Compute, Task
from warehouse.publish.tables import MART_SCHEMA_VERSION, MART_TABLES, Files, MartTable
from warehouse.record.relations import sql_text
from warehouse.shared.code_version import code_hash
from warehouse.shared.json_encoding import encode
from warehouse.shared.settings import cores

# Which files a table has in a build, by what their rows are: a key for each, and rows to write.
#
# A key is made from the rows themselves, not from where they came from: a table that was derived
# again and has the same rows keeps its files.

# Two hashes of 64 bits, of which one is a sum: together they identify the rows in any order.
_DIGEST = """
SELECT value, part, count(*), concat(sum(hash(served)), '/', bit_xor(hash(served, 1)))
FROM (SELECT served, {value} AS value, {part} AS part FROM ({rows}) AS served)
GROUP BY ALL ORDER BY ALL
"""
_WANTED = pa.schema(
    [
        *((name, pa.string()) for name in ("value", "part", "file_key")),
        ("file_group", pa.int32()),
    ]
)
_VERSION_OF = "warehouse.publish.mart_files"


@dataclass(frozen=True)
class TableFile:
    """A file that a build needs: its label, its key, and the cells of rows that lie in it."""

    label: str
    key: str
    rows: int
    cells: tuple[tuple[str, str], ...]


def files_of(sql: duckdb.DuckDBPyConnection, table: MartTable) -> tuple[TableFile, ...]:
    """Return the files of a table."""
    value, part = _cell_sql(table.files)
    statement = _DIGEST.format(value=value, part=part, rows=table.rows)
    cells = {(str(v), str(p)): (int(n), str(h)) for v, p, n, h in sql.execute(statement).fetchall()}
    labels = _labels(table.files, {cell: rows for cell, (rows, _) in cells.items()})
    by_label: dict[str, dict[tuple[str, str], str]] = {}
    for cell, (rows, digest) in cells.items():
        by_label.setdefault(labels[cell], {})[cell] = f"{rows}/{digest}"
    if not by_label and table.files is None:
        # Also without rows: a table in one file is always there.
        by_label = {"": {}}
    version, settings = _version(), {"duckdb": duckdb.__version__}
    return tuple(
        TableFile(
            label,
            step_key(
                f"mart/{table.name}",
                version,
                label,
                {f"{v}/{p}": digest for (v, p), digest in digests.items()},
                settings,
            ),
            sum(cells[cell][0] for cell in digests),
            tuple(digests),
        )
        for label, digests in sorted(by_label.items())
    )


def write_rows(
    sql: duckdb.DuckDBPyConnection,
    table: MartTable,
    groups: Sequence[Sequence[TableFile]],
    folder: Path,
) -> list[list[str]]:
    """Write the rows of groups of files as Parquet, each row with its file_key; return the paths.

    All groups are written in one pass over the table.
    """
    cells = [
        {"value": value, "part": part, "file_key": file.key, "file_group": number}
        for number, group in enumerate(groups)
        for file in group
        for value, part in file.cells
    ]
    wanted = pa.Table.from_pylist(cells, _WANTED)
    sql.register("wanted_cells", wanted)
    value, part = _cell_sql(table.files)
    rows = (
        f"SELECT served.*, file_key, file_group FROM ({table.rows}) AS served JOIN wanted_cells "
        f"ON wanted_cells.value = {value} AND wanted_cells.part = {part}"
    )
    options = "FORMAT parquet, COMPRESSION lz4_raw"
    # A killed publication may have left half of it, and is taken up again.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        if len(groups) > 1:
            path = sql_text(str(folder))
            sql.execute(f"COPY ({rows}) TO {path} ({options}, PARTITION_BY (file_group))")
            found = [(folder / f"file_group={n}").glob("*.parquet") for n in range(len(groups))]
            return [sorted(map(str, paths)) for paths in found]
        only = str(folder / "rows.parquet")
        sql.execute(f"COPY ({rows}) TO {sql_text(only)} ({options})")
        return [[only]]
    finally:
        sql.unregister("wanted_cells")


def _cell_sql(files: Files | None) -> tuple[str, str]:
    """Return SQL of what decides the file of a row of ``served``: a value, and a part of it."""
    if files is None:
        return "''", "''"
    if files.how == "hash":
        return f"CAST({cell_sql(f'served.{files.by}')} AS VARCHAR)", "''"
    value = f"coalesce(CAST(served.{files.by} AS VARCHAR), '')"
    if not files.day:
        return value, "''"
    day = f"coalesce(CAST(served.{files.day} AS VARCHAR), '{unknown_day(files.day)}')"
    return value, f"left({day}, 7)"


def _labels(files: Files | None, rows: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], str]:
    """Return the label of the file of each cell."""
    if files is None:
        return dict.fromkeys(rows, "")
    if files.how == "hash":
        buckets = bucket_count(sum(rows.values()), files.max_rows, CELLS)
        return {cell: bucket_name(int(cell[0]), buckets) for cell in rows}
    if not files.day:
        return {cell: value_label(cell[0]) for cell in rows}
    return dict(_labels_by_time(rows, files.max_rows))


def _labels_by_time(
    rows: Mapping[tuple[str, str], int], max_rows: int
) -> Iterator[tuple[tuple[str, str], str]]:
    months: dict[str, dict[str, int]] = {}
    for (value, month), count in rows.items():
        months.setdefault(value, {})[month] = count
    for value, counts in months.items():
        for month, label in time_labels(value, counts, max_rows).items():
            yield (value, month), label


@cache
def _version() -> str:
    # What a file is made of depends on its rows and on the code that encodes them, no more.
    others = ("warehouse.record", "warehouse.publish.steps", "warehouse.shared.settings")
    return f"{MART_SCHEMA_VERSION} {code_hash(_VERSION_OF, without=others)[:16]}"


# A task opens a database of its own; that should not take longer than its files.
_ROWS_OF_A_TASK = 50_000
# Where the metadata of a build has the keys of its tables.
MART_KEYS = "mart_keys"
_decode_keys = msgspec.json.Decoder(dict[str, str]).decode


def manifest_of(
    data_version: str, metadata: Mapping[str, str], files: Sequence[BuildFile]
) -> BuildManifest:
    """Return the manifest of a build."""
    version = {"data_version": data_version, "layout": str(MART_SCHEMA_VERSION)}
    return BuildManifest(data_version, {**metadata, **version}, tuple(files))


class MartFiles(msgspec.Struct, frozen=True):
    """The files of a mart, and for each table a key of all that its rows are made from."""

    files: list[BuildFile]
    keys: dict[str, str]


def write_mart_files(
    snapshot: Snapshot,
    mart: str | Path,
    compute: Compute,
    page_data: Mapping[str, Any] = MappingProxyType({}),
    before: BuildManifest | None = None,
) -> MartFiles:
    """Write the files of a snapshot that no build has yet, and return all of them.

    ``page_data`` is what pages show of the whole build, by name. A table that is made from the
    same as in the build ``before`` keeps its files, without a look at its rows.
    """
    add_tender_facts(snapshot)
    existing = builds_at(mart).intact_files()
    keys_before = {} if before is None else _decode_keys(before.metadata.get(MART_KEYS, "{}"))
    bodies = [msgspec.json.encode(value).decode() for value in page_data.values()]
    columns = {"name": pa.array(page_data, pa.string()), "body": pa.array(bodies, pa.string())}
    given = {"countries": countries(), "page_data": pa.table(columns)}
    keys = _table_keys(snapshot, given)
    kept: dict[str, Sequence[BuildFile]] = {}
    for table in MART_TABLES:
        made = () if before is None else before.of("mart", table.name)
        is_same = keys[table.name] == keys_before.get(table.name)
        if is_same and all(file.key in existing for file in made):
            kept[table.name] = made
    rows_folder = snapshot.folder / "mart-rows"

    def look(table: MartTable) -> tuple[Sequence[TableFile], Sequence[Task]]:
        """Return the files of a table, and the tasks that write those that are missing."""
        with snapshot.cursor() as sql:
            sql.execute("SET TimeZone = 'UTC'")
            for name, rows in given.items():
                sql.register(name, rows)
            files = files_of(sql, table)
            missing = [file for file in files if file.key not in existing]
            return files, _tasks(sql, table, mart, missing, rows_folder / table.name)

    try:
        changed = [table for table in MART_TABLES if table.name not in kept]
        with ThreadPoolExecutor(cores()) as threads:
            looked = list(threads.map(look, changed))
        tasks = [task for _, writing in looked for task in writing]
        written = {file.key: file for made in compute.run(tasks) for file in made}
    finally:
        shutil.rmtree(rows_folder, ignore_errors=True)
    for table, (files, _) in zip(changed, looked, strict=True):
        kept[table.name] = [written.get(file.key) or existing[file.key] for file in files]
    return MartFiles([file for table in MART_TABLES for file in kept[table.name]], keys)


def _table_keys(snapshot: Snapshot, given: Mapping[str, pa.Table]) -> dict[str, str]:
    """Return for each table a key of its SQL and of the content of every table that this names.

    A word of the SQL that is the name of a table counts as one, even if it is a column here: then
    the files are looked for by their rows, as they always can be.
    """
    contents = {name: snapshot.content(name) for name in snapshot.names()}
    contents |= {
        name: hashlib.sha256(msgspec.json.encode(rows.to_pylist())).hexdigest()
        for name, rows in given.items()
    }
    contents["this_version"] = snapshot.data_version
    keys = {}
    for table in MART_TABLES:
        words = set(re.findall(r"\w+", table.rows))
        named = {name: content for name, content in contents.items() if name in words}
        keys[table.name] = step_key("mart", _version(), table.rows, named)
    return keys


def _tasks(
    sql: duckdb.DuckDBPyConnection,
    table: MartTable,
    mart: str | Path,
    files: Sequence[TableFile],
    folder: Path,
) -> list[Task]:
    """Write the rows of files of a table; return the tasks that make the files of them."""
    groups = list(_groups(files))
    rows = write_rows(sql, table, groups, folder) if groups else []
    return [
        Task(
            f"mart/{table.name}/{group[0].label}",
            write_task,
            {"rows": tuple(paths)},
            # Another process may be in another folder.
            str(mart_folder(mart).absolute()),
            settings={
                "table": table.name,
                "labels": {file.key: file.label for file in group},
            },
        )
        for group, paths in zip(groups, rows, strict=True)
    ]


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
