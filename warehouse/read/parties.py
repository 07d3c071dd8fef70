"""Buyers and suppliers named in releases; as they are known now, whatever the day."""

from warehouse.read.mart import Mart
from warehouse.read.organisations import organisation
from warehouse.read.rows import Rows, equal, select


def parties(
    mart: Mart,
    country: str | None = None,
    role: str | None = None,
    service_id: str | None = None,
    limit: int | None = None,
) -> Rows:
    """Give parties that are organisations, those of the most releases first in each role."""
    build = mart.build()
    owner = None if service_id is None else organisation(build, service_id)
    within = None if country is None else country.upper()
    where = equal(country=within, role=role, organisation=owner)
    return select(build, "tender_parties", where, limit)
