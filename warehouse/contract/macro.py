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
from warehouse.read.conditions import Key
from warehouse.read.macro import annual, series_known, series_names
from warehouse.read.mart import Mart
from warehouse.read.rows import RowPage

_SERIES_ONLY = ("series_type", "frequency")
# How many series a refusal names as what can be asked instead.
_SERIES_NAMED = 10


def is_series_mode(parameters: Mapping[str, Any]) -> bool:
    """Return whether series are requested: ``series`` or ``as_of`` was sent."""
    return parameters["series"] is not None or parameters["as_of"] is not None


def macro_rows(
    mart: Mart, parameters: Mapping[str, Any], limit: int | None, after: Key | None
) -> RowPage:
    """Return the rows of the requested mode."""
    is_series = is_series_mode(parameters)
    if is_series and parameters["indicator"] is not None:
        _refuse_indicator(mart, parameters)
    if not is_series:
        _refuse_other_mode(
            parameters,
            _SERIES_ONLY,
            "series mode: send series, or as_of (today, for what is known now)",
        )
    from_, to = macro_bounds(parameters)
    check_date_order(from_, to)
    names = ("country", "series", "series_type", "frequency", "as_of")
    filters = {name: parameters[name] for name in names if is_series or name == "country"}
    if is_series:
        return series_known(mart, **filters, from_=from_, to=to, limit=limit, after=after)
    return annual(
        mart,
        **filters,
        indicator=parameters["indicator"],
        from_=from_,
        to=to,
        limit=limit,
        after=after,
    )


def macro_bounds(parameters: Mapping[str, Any]) -> tuple[date | None, date | None]:
    """Return the first and the last day that are asked for; a year is its first or last day."""
    if is_series_mode(parameters):
        return _day(parameters, "from"), _day(parameters, "to")
    from_, to = parameters["from"], parameters["to"]
    return (
        None if from_ is None else year_as_day(from_, "01-01"),
        None if to is None else year_as_day(to, "12-31"),
    )


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
