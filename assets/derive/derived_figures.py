"""Derive single quarters, half-years and trailing twelve months from reported figures.

The statements of ``derived_figures.sql`` do it: what is one, and which inputs are comparable. All
inputs are of one issuer, so that it runs on the partitions of figures.
"""

import pyarrow as pa

from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import LONGEST_YEAR, SHORTEST_YEAR
from warehouse.publish.snapshot import Snapshot
from warehouse.shared.data_files import sql_file
from warehouse.tables.sighting import LICENSE_CLASSES

TABLE = "derived_figures"
_SQL = sql_file(
    __name__,
    "derived_figures",
    fragments={"shortest_year": str(SHORTEST_YEAR), "longest_year": str(LONGEST_YEAR)},
    parameters={
        "licences": list(LICENSE_CLASSES),
        "one_sided": [item.name for item in LINE_ITEMS if item.is_one_sided],
    },
)


def derived_figures(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return every derived figure in each vintage, and why others are absent."""
    *prepared, rows = _SQL.texts
    with snapshot.cursor() as sql:
        for name in prepared:
            _SQL.run(sql, name)
        return {TABLE: _SQL.query(sql, rows).to_arrow_table()}
