"""One definition of each row: its columns, types, meanings and examples.

Start with ``sighting.py``: what every row of the record carries, and ``column.py``: what a column
says about itself; ``columns.csv`` has the meanings and examples. ``fundamentals`` (figures and
filings), ``tenders``, ``macro`` and ``entities`` add the columns of one subject each, ``derived``
has the rows that are computed for a build, ``operations`` what the record keeps about itself.

How rows are stored belongs to ``warehouse.record``, how they are served to
``warehouse.contract``. Every surface takes its types, descriptions and examples from here.
"""

from collections.abc import Mapping

from sqlmodel import SQLModel

from warehouse.tables import (
    derived,
    entities,
    fundamentals,
    macro,
    operations,
    sighting,
    tenders,
)

_MODULES = (sighting, fundamentals, tenders, macro, entities, derived, operations)
# Every row class by its name, for the tables of declarations that name them.
ROWS: Mapping[str, type[SQLModel]] = {
    name: row
    for module in _MODULES
    for name, row in vars(module).items()
    if isinstance(row, type) and issubclass(row, SQLModel)
}
