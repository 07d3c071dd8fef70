"""Macroeconomic figures: series as they were known on a day, and annual indicators."""

from datetime import date

from warehouse.serve.build import Mart
from warehouse.serve.rows import (
    Key,
    RowPage,
    between,
    distinct_values,
    equal,
    fetch_page,
    in_country,
    known_on,
    latest_on,
)


def series_known(
    mart: Mart,
    country: str | None = None,
    series: str | None = None,
    series_type: str | None = None,
    frequency: str | None = None,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return the observations known on ``as_of``, series by series, newest period first.

    ``from_`` and ``to`` bound the last day of a period.
    """
    filters = (country, series_type, frequency, from_, to)
    if series is not None and all(value is None for value in filters):
        # The common case: whole runs from the packs, which are keyed by series.
        return latest_on(mart.build(), "macro_series", "series", series, as_of, limit, after)
    where = [
        *in_country(country),
        *equal(series=series, series_type=series_type, frequency=frequency),
        *known_on(as_of),
        *between("period_end", from_, to),
    ]
    return fetch_page(mart.build(), "macro_series", where, limit, after=after)


def series_vintages(
    mart: Mart,
    series: str,
    country: str | None = None,
    from_: date | None = None,
    to: date | None = None,
) -> RowPage:
    """Return every vintage of the observations of a series."""
    where = [
        *in_country(country),
        *equal(series=series),
        *between("period_end", from_, to),
    ]
    return fetch_page(mart.build(), "macro_series", where, None)


def annual(
    mart: Mart,
    country: str | None = None,
    indicator: str | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return annual indicators as they are known now, newest year first.

    There is no ``as_of``: the source does not say when a value became public.
    """
    where = [
        *in_country(country),
        *equal(indicator=indicator),
        *known_on(None),
        *between("period_end", from_, to),
    ]
    return fetch_page(mart.build(), "macro_annual", where, limit, after=after)


def series_names(mart: Mart, country: str | None, as_of: date, limit: int) -> list[str]:
    """Return series of which something was known on ``as_of``, by name, at most ``limit``."""
    where = [*in_country(country), *known_on(as_of)]
    return distinct_values(mart.build(), "series", "macro_series", where, limit)
