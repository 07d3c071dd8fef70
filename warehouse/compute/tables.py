"""Tables as Parquet files, for statements that read a whole table of the record."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class TableFiles:
    """A table: its files, some of which may lack columns of its schema. Those are null."""

    schema: pa.Schema
    paths: Sequence[str]
