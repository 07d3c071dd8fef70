"""Reported figures of an issuer, as they were known on a day."""

from collections.abc import Sequence
from datetime import date

from warehouse.read.conditions import Condition
from warehouse.read.crosswalk import is_known_id, organisation_id
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import (
    RowPage,
    distinct_values,
    equal,
    fetch_page,
    fetch_rows,
    known_on,
    latest_on,
    one_of,
)
from warehouse.record.as_of import Vintages


def facts_known(
    mart: Mart,
    service_id: str,
    as_of: date | None = None,
    period_type: str | None = None,
    vintages: Vintages = "latest",
    limit: int | None = None,
    line_items: Sequence[str] = (),
) -> RowPage | None:
    """Return the figures anyone could have known on ``as_of``, newest period first.

    ``latest`` is the newest vintage of each figure unless it was withdrawn, ``as_reported`` the
    first, ``all`` every one. Asked by an alias, the rows are those of the
    organisation. None if the id is unknown.
    """
    build = mart.build()
    owner = organisation_id(build, service_id)
    of_owner = equal(organisation=owner)
    if vintages == "latest" and period_type is None and not line_items:
        # The common case: whole runs from the packs, without looking at single rows.
        page = latest_on(build, "fundamentals", "organisation", owner, as_of, limit)
    else:
        where = [*of_owner, *known_on(as_of, vintages)]
        where += _of_periods(build, owner, period_type, as_of)
        where += [one_of("line_item", line_items)] if line_items else []
        page = fetch_page(build, "fundamentals", where, limit)
    # Nothing known on that day is an empty page; only an id that nobody knows is None.
    if (
        page.rows
        or is_known_id(build, service_id)
        or fetch_rows(build, "1", "fundamentals", of_owner, limit=1)
    ):
        return page
    return None


def _of_periods(
    build: Build, owner: str, period_type: str | None, as_of: date | None
) -> list[Condition]:
    """Match figures of periods of a type, and balances at the ends of those that were known."""
    # Builds of version 7 have no column of the end, and answer as they did.
    if period_type in (None, "INSTANT", "OTHER") or build.schema_version < 8:
        return equal(period_type=period_type)
    of_type = [*equal(organisation=owner, period_type=period_type), *known_on(as_of, "all")]
    of_type.append(Condition("withdrawn = 0"))
    ends = " AND ".join(condition.sql for condition in of_type)
    return [
        Condition(
            "(period_type = ? OR (period_type = 'INSTANT' AND period_end IN "
            f"(SELECT period_end FROM {{prefix}}fundamentals WHERE {ends})))",
            (period_type, *(value for condition in of_type for value in condition.values)),
        )
    ]


def issuers(mart: Mart, limit: int) -> list[str]:
    """Return organisations that have reported figures."""
    latest = [Condition("latest = 1")]
    return distinct_values(mart.build(), "organisation", "fundamentals", latest, limit)
