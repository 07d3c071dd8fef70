"""Buyers and suppliers named in releases; as they are known now, whatever the day."""

from warehouse.read.mart import Mart
from warehouse.read.rows import Rows, equal, select


def parties(
    mart: Mart,
    country: str | None = None,
    role: str | None = None,
    service_id: str | None = None,
    limit: int | None = None,
) -> Rows:
    """Give parties that are organisations, those of the most releases first in each role."""
    where = equal(
        country=None if country is None else country.upper(), role=role, service_id=service_id
    )
    return select(mart.build(), "tender_parties", where, limit)
