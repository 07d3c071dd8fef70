"""Tender releases, the newest first, walked by the key of the last one seen."""

from datetime import date

from warehouse.read.mart import Mart
from warehouse.read.rows import Rows, Where, equal, select

_KEY = "released_on, ocid, release_id, source"
_NEWEST_FIRST = "released_on DESC, ocid DESC, release_id DESC, source DESC"


def releases(
    mart: Mart,
    country: str,
    from_: date | None = None,
    limit: int | None = None,
    after: tuple[str, ...] | None = None,
) -> Rows:
    """Give the releases of a country that come after the key ``after``.

    A release without a date comes last, and is left out where ``from_`` is given.
    """
    where = [Where("latest = 1"), *equal(country=country.upper())]
    if from_ is not None:
        where.append(Where("released_on >= ?", (from_.isoformat(),)))
    if after is not None:
        where.append(Where(f"({_KEY}) < (?, ?, ?, ?)", after))
    return select(mart.build(), "tender_releases", where, _NEWEST_FIRST, limit, f", {_KEY}")
