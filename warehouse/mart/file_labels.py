"""Which file of a table a row lies in: the label of the file, from the value that decides.

The label of a bucket is ``128-5``: the number of buckets, and which. That of a value is the value;
if it is split by time, the value, a slash and the year or month (nothing for rows without a day).
Readers find the files of a question by these labels; nothing here imports Arrow.
"""

import hashlib
from collections.abc import Mapping

# The finest buckets: three hexadecimal digits.
CELLS = 4_096


def cell_of(value: str) -> int:
    """Return the finest bucket of a value."""
    return int(hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()[:3], 16)


def cell_sql(column: str) -> str:
    """Return the SQL of ``cell_of``."""
    return f"CAST('0x' || left(md5({column}), 3) AS INTEGER)"


def bucket_label(cell: int, buckets: int) -> str:
    """Return the label of the file of a bucket."""
    return f"{buckets}-{cell % buckets}"


def bucket_count(rows: int, max_rows: int) -> int:
    """Return how many buckets keep files below a number of rows on average: a power of two."""
    buckets = 1
    while buckets < CELLS and rows > buckets * max_rows:
        buckets *= 2
    return buckets


def value_label(value: str) -> str:
    """Return the label of a value; the slash is kept for the time."""
    return value.replace("%", "%25").replace("/", "%2F")


def time_labels(value: str, months: Mapping[str, int], max_rows: int) -> dict[str, str]:
    """Return the label of the file of each month of a value, from its number of rows.

    A value with few rows is one file. Otherwise each year is one, or each month of a year that has
    many; what has no day is one by itself. Closed months are therefore not written again.
    """
    label = value_label(value)
    if sum(months.values()) <= max_rows:
        return dict.fromkeys(months, label)
    years: dict[str, int] = {}
    for month, rows in months.items():
        years[month[:4]] = years.get(month[:4], 0) + rows
    return {
        month: f"{label}/{month if years[month[:4]] > max_rows else month[:4]}" for month in months
    }


def label_order(label: str) -> tuple[bool, str, list[int]]:
    """Return the sort key of a label: values in byte order, the unknown last, newest time first."""
    value, _, time = label.partition("/")
    # Every digit counts down, and what has no day comes after all: no code is above 0x110000.
    return value == "", value, [0x110000 - ord(char) for char in time] + [0x110001]
