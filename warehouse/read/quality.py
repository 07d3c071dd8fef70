"""What was measured of a dataset's quality for this build."""

from warehouse.read.mart import Mart
from warehouse.read.rows import Rows, equal, select


def quality_metrics(mart: Mart, sku: str) -> Rows | None:
    """Give the measurements of a dataset, named in any case; None if there is no such one."""
    rows = select(mart.build(), "quality", equal(sku=sku.upper()), None)
    return rows if rows.rows else None
