"""Reported figures of an issuer, as they were known on a day."""

from collections.abc import Sequence
from datetime import date

from warehouse.read.mart import Build, Mart
from warehouse.read.rows import Rows, equal, known_on, one_of, select
from warehouse.record.as_of import Vintages


def facts_known(
    mart: Mart,
    service_id: str,
    as_of: date | None = None,
    period_type: str | None = None,
    vintages: Vintages = "latest",
    limit: int | None = None,
    line_items: Sequence[str] = (),
) -> Rows | None:
    """Give the figures anyone could have known on ``as_of``, the newest period first.

    ``latest`` is the newest vintage of each figure unless it was withdrawn, ``as_reported`` the
    first, ``all`` every one. None if nobody of that id is known at all.
    """
    build = mart.build()
    where = [*equal(service_id=service_id, period_type=period_type), *known_on(as_of, vintages)]
    if line_items:
        where.append(one_of("line_item", line_items))
    rows = select(build, "fundamentals", where, limit)
    return rows if rows.rows or _exists(build, service_id) else None


def issuers(mart: Mart, limit: int) -> list[str]:
    """Name organisations that have reported figures."""
    held = mart.build().rows(
        "SELECT DISTINCT service_id FROM fundamentals WHERE latest = 1 "
        f"ORDER BY service_id LIMIT {limit:d}"
    )
    return [service_id for (service_id,) in held]


def _exists(build: Build, service_id: str) -> bool:
    asked = (
        "SELECT 1 FROM fundamentals WHERE service_id = ? "
        "UNION ALL SELECT 1 FROM entities WHERE service_id = ? LIMIT 1"
    )
    return bool(build.rows(asked, service_id, service_id))
