"""Numbers of releases that cannot be; the statements are in ``sql/implausible.sql``.

A release is served as its portal states it, with the paths of such numbers in ``implausible``.
Panels and facts are computed as if these numbers were not stated.
"""

import duckdb
import numpy as np
import pyarrow as pa

from warehouse.methodology.signals import AMOUNT_TIMES, FEWEST_AMOUNTS, MONEY_BELOW, MOST_TENDERERS
from warehouse.shared.data_files import sql_file

# The 99.9th percentile is the largest amount but for one of so many.
_ONE_OF = 1_000
_VALUES = '[{"value": {"amount": "DOUBLE", "currency": "VARCHAR"}}]'
# The members of the JSON of a release that are read.
_MEMBERS = (
    f'{{"awards": {_VALUES}, "contracts": {_VALUES}, "tender": {{"numberOfTenderers": "DOUBLE"}}}}'
)

# Tables of a snapshot: the amounts of the processes of a partition, the limits of a country, and
# the releases of a partition before their amounts are compared with these.
STATED_AMOUNTS, LARGEST_AMOUNTS = "stated_amounts", "largest_amounts"
UNMARKED_RELEASES = "unmarked_releases"

_SQL = sql_file(
    __name__,
    "implausible",
    fragments={
        "members": f"'{_MEMBERS}'",
        "money_below": str(MONEY_BELOW),
        "most_tenderers": str(MOST_TENDERERS),
    },
)


def award_amount(position: int) -> str:
    """Return the path of the amount of an award, by its position in the release."""
    return f"awards[{position}].value.amount"


def with_implausible(sql: duckdb.DuckDBPyConnection, rows: str, vintages: str) -> str:
    """Return the query of the vintages of releases with the column ``implausible``.

    ``rows`` is the relation of the stored rows from which they are chosen.
    """
    sql.register(LARGEST_AMOUNTS, with_limits(stated_amounts(sql, rows)))
    marked = marked_releases(sql, vintages)
    sql.unregister(LARGEST_AMOUNTS)
    return marked


def stated_amounts(sql: duckdb.DuckDBPyConnection, rows: str) -> pa.Table:
    """Return the amounts of stored rows of releases, by portal, currency and month."""
    return _SQL.query(sql, STATED_AMOUNTS, fill={"rows": rows}).to_arrow_table()


def largest_amounts(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the limits that follow from the connection's ``stated_amounts`` of all partitions."""
    return with_limits(_SQL.query(sql, "all_amounts").to_arrow_table())


def marked_releases(sql: duckdb.DuckDBPyConnection, vintages: str) -> str:
    """Return the query of vintages with their marks, by the connection's ``largest_amounts``."""
    for name in ("amount_limits", "cannot_be", "impossible_amounts"):
        _SQL.run(sql, name)
    return _SQL.statement("marked", vintages=vintages)


def with_limits(stated: pa.Table) -> pa.Table:
    """Return each ``source``, ``currency`` and ``month`` with ``most``, the largest amount.

    That is a multiple of the 99.9th percentile of the amounts known before the month that did not
    exceed the limit of their own; there is none while they are few. The rows of ``stated``, with
    the new ``amounts`` of each month, are sorted by these columns.
    """
    lists = stated["amounts"].combine_chunks()
    bounds, amounts = lists.offsets.to_numpy(), lists.values.to_numpy()
    # Percentiles leave no more than this above themselves: only the largest are remembered.
    remembered = len(amounts) // _ONE_OF + 1
    series, most, known, largest = None, [], 0, np.empty(0)
    keys = zip(stated["source"].to_pylist(), stated["currency"].to_pylist(), strict=True)
    for row, key in enumerate(keys):
        if key != series:
            series, known, largest = key, 0, np.empty(0)
        new, limit = amounts[bounds[row] : bounds[row + 1]], None
        if known >= FEWEST_AMOUNTS:
            limit = AMOUNT_TIMES * float(largest[-(known // _ONE_OF + 1)])
            new = new[new <= limit]
        most.append(limit)
        known += len(new)
        largest = np.sort(np.concatenate((largest, new)))[-remembered:]
    return stated.drop_columns("amounts").append_column("most", pa.array(most, pa.float64()))
