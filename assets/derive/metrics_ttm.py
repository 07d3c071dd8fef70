"""Derive the metrics of flows over the latest twelve months of every issuer, as of every day.

The statements of ``metrics_ttm.sql`` do it, from full years that are stated and derived ones; the
division is that of ``metrics``.
"""

import pyarrow as pa

from assets.derive.metrics import MOST_INPUTS, values_of
from warehouse.methodology.metrics import (
    FORMULAS,
    LONGEST_YEAR,
    SHORTEST_YEAR,
    TRAILING,
    TRAILING_SET,
)
from warehouse.publish.snapshot import Snapshot
from warehouse.shared.data_files import sql_file
from warehouse.tables.sighting import LICENSE_CLASSES

TABLES = ("metrics_ttm", "metrics_ttm_absent")
_SQL = sql_file(
    __name__,
    "metrics_ttm",
    fragments={
        # Each input of a value has a number of its own.
        "input_columns": ", ".join(
            f"turn_no * {MOST_INPUTS} + {position} AS input_{position}"
            for position in range(MOST_INPUTS)
        )
    },
    parameters={
        "needs": [
            {
                "metric_no": FORMULAS.index(formula),
                "input_position": position,
                "line_item": figure.line_item,
            }
            for formula in TRAILING
            for position, figure in enumerate(formula.inputs)
        ],
        "most_inputs": MOST_INPUTS,
        "slugs": [formula.slug for formula in FORMULAS],
        "licences": list(LICENSE_CLASSES),
        "shortest_year": SHORTEST_YEAR,
        "longest_year": LONGEST_YEAR,
    },
)
_QUERIES = ("input_facts", "computable", "absences")


def metrics_ttm(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return the values, and why others are absent, each with the days for which it is the answer.

    Every day has the values that could be computed on it: another vintage of a figure begins
    another row.
    """
    with snapshot.cursor() as sql:
        for name in _SQL.texts:
            if name not in _QUERIES:
                _SQL.run(sql, name)
        values = values_of(TRAILING_SET, sql, _SQL)
        absences = _SQL.query(sql, "absences").to_arrow_table()
    return dict(zip(TABLES, (values, absences), strict=True))
