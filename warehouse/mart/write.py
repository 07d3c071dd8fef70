"""Write one build from a snapshot: the same rows for both database engines."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import duckdb
import numpy as np
import pyarrow as pa
import pycountry

from warehouse.json_encoding import encode
from warehouse.mart.awards import add_tender_facts
from warehouse.mart.builds import is_postgres_url, sqlite_folder
from warehouse.mart.packs import KNOWN_FROM, KNOWN_UNTIL, PACK_COLUMNS, PACK_INDEXES, Packer
from warehouse.mart.row_json import is_integer_column, key_column_sql, row_json_sql
from warehouse.mart.search_index import NAMES, NAMES_SCHEMA, WORDS, WORDS_SCHEMA, names, postings
from warehouse.mart.served_rows import CURRENT_ENTITIES
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.tables import MART_SCHEMA_VERSION, MART_TABLES, Columns, MartTable

_BATCH = 20_000
_ARROW_TYPES = {"text": pa.string(), "integer": pa.int32(), "bytes": pa.binary()}


class Loader(Protocol):
    """Writes one build; the build is complete when its context is left without an error."""

    def write_metadata(self, metadata: Mapping[str, str]) -> None:
        """Write the metadata of the build."""

    def load(
        self, table: str, columns: Columns, rows: pa.RecordBatchReader, indexes: Sequence[str]
    ) -> None:
        """Create a table, load its rows in order, then create its indexes."""


def loader_at(url: str | Path, data_version: str) -> AbstractContextManager[Loader]:
    """Return the loader of a build at a mart URL; each engine's driver is imported on demand."""
    if is_postgres_url(url):
        from warehouse.mart.postgres_loader import PostgresLoader

        return PostgresLoader(str(url), data_version)
    from warehouse.mart.sqlite_loader import SqliteLoader

    return SqliteLoader(sqlite_folder(url), data_version)


def write_mart(snapshot: Snapshot, url: str | Path, metadata: Mapping[str, str]) -> None:
    """Write the complete build of a snapshot; no reader sees it before ``Builds.switch``.

    ``metadata`` goes into the build: its ``notice``, ``made_from``, the export manifest and
    whatever else readers need.
    """
    sql = snapshot.sql.cursor()
    try:
        sql.execute("SET TimeZone = 'UTC'")
        sql.register("countries", countries())
        add_tender_facts(snapshot)
        with loader_at(url, snapshot.data_version) as loader:
            # The metadata key is still called layout, as in every build published so far.
            version = {"data_version": snapshot.data_version, "layout": str(MART_SCHEMA_VERSION)}
            loader.write_metadata({**metadata, **version})
            for table in MART_TABLES:
                _write_table(sql, table, loader, snapshot.folder)
            _write_search(sql, loader)
    finally:
        sql.close()


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


def _write_table(
    sql: duckdb.DuckDBPyConnection, table: MartTable, loader: Loader, folder: Path
) -> None:
    # The type of a column decides how its JSON is written.
    described = sql.execute(f"DESCRIBE {table.rows}").fetchall()
    types = {name: kind for name, kind, *_ in described}
    columns: Columns = {
        name: "integer" if is_integer_column(types, name) else "text" for name in table.keys
    }
    selected = [f'{key_column_sql(types, name)} AS "{name}"' for name in table.keys]
    row = row_json_sql(types, table.members, table.inside)
    if table.packed is not None:
        selected += [f"{KNOWN_FROM} AS known_from", f"{KNOWN_UNTIL} AS known_until"]
        # With the comma, any run of rows can be cut out of a pack and sent as it is.
        selected.append(f"{row} || ',' AS row")
    elif table.members:
        columns["row"] = "bytes"
        selected.append(f"{row} AS row")
    statement = f"SELECT {', '.join(selected)} FROM ({table.rows}) ORDER BY {table.order}"
    if table.packed is None:
        loader.load(table.name, columns, _numbered(sql, statement, columns), table.indexes)
        return
    packer = Packer(folder / f"{table.packs}.arrow", table.packed.max_rows)
    # The order matters: the packs are complete once the rows of the table have been streamed.
    rows = _numbered(sql, statement, columns, packer, table.packed.by)
    loader.load(table.name, columns, rows, table.indexes)
    loader.load(table.packs, PACK_COLUMNS, packer.packs(), PACK_INDEXES)


def _write_search(sql: duckdb.DuckDBPyConnection, loader: Loader) -> None:
    entity_names = names(sql, CURRENT_ENTITIES)
    columns: Columns = {"folded": "text", "country": "text", "entity_row": "integer"}
    rows = pa.RecordBatchReader.from_batches(NAMES_SCHEMA, entity_names.to_batches())
    loader.load(NAMES, columns, rows, ("(folded, entity_row)",))
    columns = {"field": "text", "word": "text", "row_numbers": "bytes"}
    rows = pa.RecordBatchReader.from_batches(WORDS_SCHEMA, postings(sql, entity_names))
    loader.load(WORDS, columns, rows, ("(field, word)",))


def _numbered(
    sql: duckdb.DuckDBPyConnection,
    statement: str,
    columns: Columns,
    packer: Packer | None = None,
    packed_by: str = "",
) -> pa.RecordBatchReader:
    """Stream the rows of a statement, numbered from 1.

    Rows that are packed go to the packer; only their key columns are streamed.
    """
    typed_columns = [(name, _ARROW_TYPES[kind]) for name, kind in columns.items()]
    schema = pa.schema([("row_number", pa.int64()), *typed_columns])

    def batches() -> Iterator[pa.RecordBatch]:
        first = 1
        for batch in sql.sql(statement).to_arrow_reader(_BATCH):
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            if packer is not None:
                days = (batch["known_from"].to_numpy(), batch["known_until"].to_numpy())
                packer.add(first, batch[packed_by], days, batch["row"].cast(pa.binary()))
            first += batch.num_rows
            typed = [batch[name].cast(arrow_type) for name, arrow_type in typed_columns]
            yield pa.RecordBatch.from_arrays([numbers, *typed], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
