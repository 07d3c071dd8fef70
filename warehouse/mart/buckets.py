"""Buckets of organisations, the same for the steps of a publication and for the files of the mart.

An id falls into a bucket by the beginning of its MD5, in Python as in SQL. The number of buckets is
a power of two and part of a bucket's name: bucket 3 of 8 is another one than bucket 3 of 16.
"""

import hashlib

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
