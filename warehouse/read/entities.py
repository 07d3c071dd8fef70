"""One organisation's record."""

from warehouse.read.mart import Mart
from warehouse.read.rows import Rows, equal, select


def entity(mart: Mart, service_id: str) -> Rows | None:
    """Give the current record of an organisation, None if nobody has that id."""
    rows = select(mart.build(), "entities", equal(service_id=service_id), "rowid", 1)
    return rows if rows.rows else None
