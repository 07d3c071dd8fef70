"""One build, written whole from what is staged: the same bytes for every engine."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import duckdb
import numpy as np
import pyarrow as pa
import pycountry

from warehouse.json_encoding import encode
from warehouse.mart.awards import add_awards
from warehouse.mart.builds import is_postgres_url, sqlite_folder
from warehouse.mart.packs import KNOWN_FROM, KNOWN_UNTIL, Packer
from warehouse.mart.packs import PACK_COLUMNS as PACK_COLUMNS
from warehouse.mart.packs import PACK_INDEXES as PACK_INDEXES
from warehouse.mart.row_json import is_integer_column, key_column_sql, row_json_sql
from warehouse.mart.search_index import NAMES, NAMES_SCHEMA, WORDS, WORDS_SCHEMA, names, postings
from warehouse.mart.served_rows import CURRENT_ENTITIES
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.tables import MART_SCHEMA_VERSION, MART_TABLES, Columns, MartTable

_BATCH = 20_000


class Loader(Protocol):
    """Writes one build; whoever leaves it without an error has a complete one."""

    def tell(self, about: Mapping[str, str]) -> None:
        """Keep what the build says of itself."""

    def load(
        self, table: str, columns: Columns, rows: pa.RecordBatchReader, indexes: Sequence[str]
    ) -> None:
        """Make a table of rows, in their order, and then its indexes."""


def loader_at(place: str | Path, data_version: str) -> AbstractContextManager[Loader]:
    """Give the loader of a build at a place: a folder, or a PostgreSQL database."""
    if is_postgres_url(place):
        from warehouse.mart.postgres_loader import PostgresLoader

        return PostgresLoader(str(place), data_version)
    from warehouse.mart.sqlite_loader import SqliteLoader

    return SqliteLoader(sqlite_folder(place), data_version)


def write_mart(snapshot: Snapshot, place: str | Path, about: Mapping[str, str]) -> None:
    """Write the complete build of the stage's data_version; no reader sees it before that.

    ``about`` is what the build says of itself: its ``notice``, what it was made from, and
    whatever else its readers are told, such as the manifest of its exports.
    """
    sql = snapshot.sql.cursor()
    try:
        sql.execute("SET TimeZone = 'UTC'")
        sql.register("countries", countries())
        add_awards(snapshot)
        with loader_at(place, snapshot.data_version) as loader:
            loader.tell(
                {**about, "data_version": snapshot.data_version, "layout": str(MART_SCHEMA_VERSION)}
            )
            for table in MART_TABLES:
                _write(sql, table, loader, snapshot.folder)
            _write_search(sql, loader)
    finally:
        sql.close()


def made_from(loads: Mapping[str, int], rules: Sequence[str] = ()) -> str:
    """Say what a build was made from: the loads of each table, its form, the rules derived by."""
    made = {
        "layout": MART_SCHEMA_VERSION,
        "loads": dict(sorted(loads.items())),
        "rules": list(rules),
    }
    return encode(made).decode()


def _write(sql: duckdb.DuckDBPyConnection, table: MartTable, loader: Loader, folder: Path) -> None:
    described = sql.execute(f"DESCRIBE {table.rows}").fetchall()
    types = {name: kind for name, kind, *_ in described}
    columns: Columns = {
        name: "integer" if is_integer_column(types, name) else "text" for name in table.keys
    }
    asked = [f'{key_column_sql(types, name)} AS "{name}"' for name in table.keys]
    row = f"{row_json_sql(types, table.members, table.inside)}"
    if table.packed is not None:
        asked += [f"{KNOWN_FROM} AS known_from", f"{KNOWN_UNTIL} AS known_until"]
        asked.append(f"{row} || ',' AS row")
    elif table.members:
        columns["row"] = "bytes"
        asked.append(f"{row} AS row")
    ordered = f"SELECT {', '.join(asked)} FROM ({table.rows}) ORDER BY {table.order}"
    if table.packed is None:
        loader.load(table.name, columns, _placed(sql, ordered, columns), table.indexes)
        return
    packer = Packer(folder / f"{table.packs}.arrow", table.packed.most)
    rows = _placed(sql, ordered, columns, packer, table.packed.by)
    loader.load(table.name, columns, rows, table.indexes)
    loader.load(table.packs, PACK_COLUMNS, packer.packs(), PACK_INDEXES)


def _write_search(sql: duckdb.DuckDBPyConnection, loader: Loader) -> None:
    named = names(sql, CURRENT_ENTITIES)
    columns: Columns = {"folded": "text", "country": "text", "entity": "integer"}
    rows = pa.RecordBatchReader.from_batches(NAMES_SCHEMA, named.to_batches())
    loader.load(NAMES, columns, rows, ("(folded, entity)",))
    columns = {"field": "text", "word": "text", "places": "bytes"}
    rows = pa.RecordBatchReader.from_batches(WORDS_SCHEMA, postings(sql, named))
    loader.load(WORDS, columns, rows, ("(field, word)",))


def _placed(
    sql: duckdb.DuckDBPyConnection,
    statement: str,
    columns: Columns,
    packer: Packer | None = None,
    packed_by: str = "",
) -> pa.RecordBatchReader:
    """Stream what a statement gives, each row with its place, counted from 1.

    What is packed goes to the packer, and its keys only are streamed.
    """
    kinds = {"text": pa.string(), "integer": pa.int32(), "bytes": pa.binary()}
    schema = pa.schema(
        [("place", pa.int64()), *((name, kinds[kind]) for name, kind in columns.items())]
    )

    def batches() -> Iterator[pa.RecordBatch]:
        first = 1
        for batch in sql.sql(statement).to_arrow_reader(_BATCH):
            places = pa.array(np.arange(first, first + batch.num_rows))
            if packer is not None:
                known = (batch["known_from"].to_numpy(), batch["known_until"].to_numpy())
                packer.take(first, batch[packed_by], known, batch["row"].cast(pa.binary()))
            first += batch.num_rows
            typed = [batch[field.name].cast(field.type) for field in list(schema)[1:]]
            yield pa.RecordBatch.from_arrays([places, *typed], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def countries() -> pa.Table:
    """Give the two codes of each country and its name."""
    known = [
        {"country": each.alpha_2, "country_iso3": each.alpha_3, "name": each.name}
        for each in pycountry.countries
    ]
    return pa.Table.from_pylist(known)
