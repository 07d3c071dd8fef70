"""Arrow into the tables of a build, by the engine that the place names."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa

from warehouse.mart.builds import is_database, local_folder

Kind = Literal["text", "integer", "bytes"]
Columns = dict[str, Kind]


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
    if is_database(place):
        from warehouse.mart.load_postgres import PostgresLoader

        return PostgresLoader(str(place), data_version)
    from warehouse.mart.load_sqlite import SqliteLoader

    return SqliteLoader(local_folder(place), data_version)
