"""The filings of an issuer, as they were listed on a day."""

from datetime import date

from warehouse.read.conditions import Key
from warehouse.read.crosswalk import organisation_id
from warehouse.read.mart import Mart
from warehouse.read.rows import (
    RowPage,
    between,
    equal,
    fetch_page,
    known_on,
    latest_on,
)


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
