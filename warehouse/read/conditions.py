"""What a question asks for: conditions on columns, and an order."""

from dataclasses import dataclass
from typing import Literal

# Where a row lies: the label of its file and its number there, or what else a read continues from.
Key = tuple[str, ...]
# The order in which rows lie in a file.
IN_ORDER = "row_number"


@dataclass(frozen=True)
class Condition:
    """An SQL condition with the values of its placeholders.

    ``column`` is set if the column is compared with the first value: it may decide in which files
    the rows lie.
    """

    sql: str
    values: tuple[object, ...] = ()
    column: str = ""
    compared: Literal["=", ">=", "<="] = "="


@dataclass(frozen=True)
class Order:
    """An order of rows in every file, and how rows of several files are merged.

    ``merged_by`` are key columns, each perhaps followed by DESC. Without them the files follow each
    other.
    """

    sql: str
    merged_by: tuple[str, ...] = ()


IN_ORDER_OF_FILE = Order(IN_ORDER)
