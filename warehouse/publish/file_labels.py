"""Which file of a table a row lies in: the label of the file, from the value that decides.

An id falls into a bucket by the beginning of its MD5, in Python as in SQL. The number of buckets is
a power of two and part of a bucket's name: bucket 3 of 8 is another one than bucket 3 of 16. The
label of a bucket is its name, that of a value is the value; if it is split by time, the value, a
slash and the year or month (nothing for rows without a day). Readers find the files of a question
by these labels; nothing here imports Arrow.
"""

import hashlib
from collections.abc import Mapping

from warehouse.publish.row_json import NEVER

# What changes lies in the newest years, and every file more is one more to ask: the years before
# these lie together, unless they have so many times the rows of a file.
_NEWEST_YEARS = 2
_LARGER_WHEN_OLD = 16


def value_label(value: str) -> str:
    """Return the label of a value; the slash is kept for the time."""
    return value.replace("%", "%25").replace("/", "%2F")


def time_labels(value: str, months: Mapping[str, int], max_rows: int) -> dict[str, str]:
    """Return the label of the file of each month of a value, from its number of rows.

    A value with few rows is one file. Otherwise each of the newest years is one, or each month of
    such a year that has many, and all years before them are one (``2019-`` is 2019 and before);
    what has no day is one by itself. Closed months are therefore not written again.
    """
    label = value_label(value)
    if sum(months.values()) <= max_rows:
        return dict.fromkeys(months, label)
    years: dict[str, int] = {}
    for month, rows in months.items():
        years[month[:4]] = years.get(month[:4], 0) + rows
    newest = sorted(filter(None, years))[-_NEWEST_YEARS:]
    times = {year: year for year in years}
    most = {year: max_rows * (1 if year in newest else _LARGER_WHEN_OLD) for year in years}
    older = [year for year in years if year and year not in newest]
    if sum(years[year] for year in older) <= max_rows * _LARGER_WHEN_OLD:
        times |= dict.fromkeys(older, f"{max(older, default='')}-")
    is_split = {year: rows > most[year] for year, rows in years.items()}
    return {
        month: f"{label}/{month if is_split[month[:4]] else times[month[:4]]}" for month in months
    }


def label_order(label: str) -> tuple[bool, str, list[int]]:
    """Return the sort key of a label: values in byte order, the unknown last, newest time first."""
    value, _, time = label.partition("/")
    # Every digit counts down, and what has no day comes after all: no code is above 0x110000.
    return value == "", value, [0x110000 - ord(char) for char in time] + [0x110001]


def no_later_day(label: str) -> str:
    """Return a text that comes after every day of the rows in a file, and before later files."""
    _, is_part, time = label.partition("/")
    # Rows without a day have empty text.
    return f"{time.rstrip('-')}~" if time or not is_part else "!"


def may_have(label: str, since: str = "", until: str = NEVER) -> bool:
    """Return whether rows of a file can have a day from ``since`` to ``until``."""
    _, is_part, time = label.partition("/")
    if is_part and not time:
        # Rows without a day have empty text, which is before every day.
        return not since
    if time.endswith("-"):
        return since[:4] <= time[:4]
    return not is_part or since[: len(time)] <= time <= until[: len(time)]


# The finest buckets: four hexadecimal digits.
CELLS = 65_536


def cell_of(value: str) -> int:
    """Return the finest bucket of a value."""
    return int(hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()[:4], 16)


def cell_sql(column: str) -> str:
    """Return the SQL of ``cell_of``."""
    return f"CAST('0x' || left(md5({column}), 4) AS INTEGER)"


def bucket_name(cell: int, buckets: int) -> str:
    """Return the name of the bucket of a cell."""
    return f"{buckets:03d}-{cell % buckets:03d}"


def bucket_sql(column: str, buckets: int) -> str:
    """Return the SQL of ``bucket_name`` for the cell of a column."""
    return f"printf('%03d-%03d', {buckets:d}, {cell_sql(column)} % {buckets:d})"


def bucket_count(rows: int, rows_of_one: int, most: int) -> int:
    """Return how many buckets keep the rows of one below a number on average: a power of two."""
    buckets = 1
    while buckets < most and rows > buckets * rows_of_one:
        buckets *= 2
    return buckets
