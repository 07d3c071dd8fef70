"""Reported figures of an issuer, and its filings, as they were known on a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from warehouse.record.as_of import Vintages
from warehouse.serve.build import Build, Mart
from warehouse.serve.entities import is_known_id, organisation_id
from warehouse.serve.rows import (
    Condition,
    Key,
    RowPage,
    between,
    distinct_values,
    equal,
    fetch_page,
    fetch_rows,
    known_on,
    latest_on,
    make_page,
    one_of,
)

# Reported figures of an issuer, as they were known on a day.


def facts_known(
    mart: Mart,
    service_id: str,
    as_of: date | None = None,
    period_type: str | None = None,
    vintages: Vintages = "latest",
    limit: int | None = None,
    line_items: Sequence[str] = (),
    after: Key | None = None,
) -> RowPage | None:
    """Return the figures anyone could have known on ``as_of``, newest period first.

    ``latest`` is the newest vintage of each figure unless it was withdrawn, ``as_reported`` the
    first, ``all`` every one. Asked by an alias, the rows are those of the
    organisation. None if the id is unknown.
    """
    build = mart.build()
    owner = organisation_id(build, service_id)
    if vintages == "latest" and period_type is None and not line_items:
        # The common case: whole runs from the packs, without looking at single rows.
        page = latest_on(build, "fundamentals", "organisation", owner, as_of, limit, after)
    else:
        where = [*equal(organisation=owner), *known_on(as_of, vintages)]
        where += _of_periods(owner, period_type, as_of)
        where += [one_of("line_item", line_items)] if line_items else []
        page = fetch_page(build, "fundamentals", where, limit, after=after)
    # Nothing known on that day is an empty page; only an id that nobody knows is None.
    return page if page.rows or _is_known(build, owner) else None


@dataclass(frozen=True)
class IssuersFacts:
    """Figures of several issuers, one issuer after the other; ``unknown`` are ids of none."""

    rows: RowPage
    unknown: list[str]


def facts_of_issuers(
    mart: Mart,
    service_ids: Sequence[str],
    as_of: date | None = None,
    period_type: str | None = None,
    vintages: Vintages = "latest",
    line_items: Sequence[str] = (),
    limit: int | None = None,
    after: Key | None = None,
) -> IssuersFacts:
    """Return the figures of several issuers as ``facts_known`` does, in the order of their ids.

    Two ids of one organisation are one issuer.
    """
    build = mart.build()
    mart = mart.at(build.data_version)
    owners = {organisation_id(build, service_id): service_id for service_id in service_ids}
    unknown = [service_id for owner, service_id in owners.items() if not _is_known(build, owner)]
    wanted = [service_id for service_id in owners.values() if service_id not in unknown]
    begin, place = (0, None) if after is None else (wanted.index(after[0]), after[1:])
    rows: list[tuple[Key, bytes]] = []
    for service_id in wanted[begin:]:
        remaining = None if limit is None else limit + 1 - len(rows)
        if remaining == 0:
            break
        page = facts_known(
            mart, service_id, as_of, period_type, vintages, remaining, line_items, place
        )
        place = None
        if page is not None:
            keys = ((service_id, *key) for key in page.keys)
            rows += zip(keys, page.rows, strict=True)
    return IssuersFacts(make_page(build, rows, limit), unknown)


def _is_known(build: Build, owner: str) -> bool:
    """Return whether a register describes an organisation, or it reported figures."""
    of_owner = equal(organisation=owner)
    return is_known_id(build, owner) or bool(
        fetch_rows(build, "1", "fundamentals", of_owner, limit=1)
    )


def _of_periods(owner: str, period_type: str | None, as_of: date | None) -> list[Condition]:
    """Match figures of periods of a type, and balances at the ends of those that were known."""
    if period_type in (None, "INSTANT", "OTHER"):
        return equal(period_type=period_type)
    of_type = [*equal(organisation=owner, period_type=period_type), *known_on(as_of, "all")]
    of_type.append(Condition("withdrawn = 0"))
    ends = " AND ".join(condition.sql for condition in of_type)
    return [
        Condition(
            "(period_type = ? OR (period_type = 'INSTANT' AND period_end IN "
            f"(SELECT period_end FROM fundamentals WHERE {ends})))",
            (period_type, *(value for condition in of_type for value in condition.values)),
        )
    ]


def issuers(mart: Mart, limit: int) -> list[str]:
    """Return organisations that have reported figures."""
    latest = [Condition("latest = 1")]
    return distinct_values(mart.build(), "organisation", "fundamentals", latest, limit)


def filings_known(
    mart: Mart,
    service_id: str,
    form: str | None = None,
    from_: date | None = None,
    to: date | None = None,
    as_of: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return the filings anyone could have known on ``as_of``, the one received last first.

    ``from_`` and ``to`` bound the day of receipt. Every version of a document is a filing. For an
    alias, the rows are those of the organisation.
    """
    build = mart.build()
    owner = organisation_id(build, service_id)
    if (form, from_, to) == (None, None, None):
        return latest_on(build, "filings", "organisation", owner, as_of, limit, after)
    where = [*equal(organisation=owner, form=form), *between("received_on", from_, to)]
    return fetch_page(build, "filings", [*where, *known_on(as_of)], limit, after=after)
