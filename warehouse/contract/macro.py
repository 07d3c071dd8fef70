"""The two modes of macro figures, and which parameters belong to which."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from warehouse.contract.parameter_types import Day, year_as_day
from warehouse.contract.problems import (
    check_date_order,
    conflicting_parameters,
    invalid_parameter,
    unanswerable_as_of,
)
from warehouse.contract.tier_cap import row_limit
from warehouse.read.macro import annual, series_known, series_names
from warehouse.read.mart import Mart
from warehouse.read.rows import RowPage
from warehouse.tiers import Tier

_SERIES_ONLY = ("series_type", "frequency")
# How many series a refusal names as what can be asked instead.
_SERIES_NAMED = 10


def is_series_mode(parameters: Mapping[str, Any]) -> bool:
    """Return whether series are requested: ``series`` or ``as_of`` was sent."""
    return parameters["series"] is not None or parameters["as_of"] is not None


def macro_rows(mart: Mart, parameters: Mapping[str, Any], tier: Tier) -> tuple[RowPage, int]:
    """Return the rows of the requested mode, and the limit that applied."""
    return (
        _series(mart, parameters, tier)
        if is_series_mode(parameters)
        else _annual(mart, parameters, tier)
    )


def _series(mart: Mart, parameters: Mapping[str, Any], tier: Tier) -> tuple[RowPage, int]:
    if parameters["indicator"] is not None:
        _refuse_indicator(mart, parameters)
    from_, to = _day(parameters, "from"), _day(parameters, "to")
    check_date_order(from_, to)
    limit = row_limit(tier, parameters["limit"])
    names = ("country", "series", "series_type", "frequency", "as_of")
    filters = {name: parameters[name] for name in names}
    return series_known(mart, **filters, from_=from_, to=to, limit=limit), limit


def _annual(mart: Mart, parameters: Mapping[str, Any], tier: Tier) -> tuple[RowPage, int]:
    _refuse_other_mode(parameters, _SERIES_ONLY, "series mode: send series or as_of")
    from_, to = parameters["from"], parameters["to"]
    from_ = None if from_ is None else year_as_day(from_, "01-01")
    to = None if to is None else year_as_day(to, "12-31")
    check_date_order(from_, to)
    limit = row_limit(tier, parameters["limit"])
    return annual(mart, parameters["country"], parameters["indicator"], from_, to, limit), limit


def _refuse_indicator(mart: Mart, parameters: Mapping[str, Any]) -> None:
    """Refuse an annual indicator, of which nobody knows what was public on a day."""
    as_of, country = parameters["as_of"], parameters["country"]
    if as_of is None:
        detail = "indicator names an annual indicator and series a series: ask for one of them."
        raise conflicting_parameters("indicator", detail)
    series = series_names(mart, country, as_of, _SERIES_NAMED)
    raise unanswerable_as_of(parameters["indicator"], as_of, country, series)


def _refuse_other_mode(parameters: Mapping[str, Any], names: tuple[str, ...], mode: str) -> None:
    """Refuse a parameter of the other mode, which would otherwise be ignored silently."""
    for name in names:
        if parameters[name] is not None:
            raise conflicting_parameters(name, f"{name} belongs to {mode}.")


def _day(parameters: Mapping[str, Any], name: str) -> date | None:
    """Parse a date; a bare year belongs to annual mode."""
    text, kind = parameters[name], Day()
    try:
        return None if text is None else kind.read(text)
    except ValueError:
        raise invalid_parameter(name, text, kind.expected) from None
