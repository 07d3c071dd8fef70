"""What a build holds and what changed; the statements are in ``sql/catalogue.sql``.

Only SQL: the surfaces load this module through ``tables``.
"""

from typing import Literal

from warehouse.mart.served_rows import NAMED_ENTITIES
from warehouse.sql_files import sql_file

Section = Literal[
    "dataset",
    "series",
    "indicator",
    "line_item",
    "metric",
    "signal",
    "category",
    "status",
]
_SQL = sql_file(__name__, "catalogue", fragments={"named_entities": NAMED_ENTITIES})
CATALOGUE, CHANGES = _SQL["catalogue"], _SQL["changes"]
