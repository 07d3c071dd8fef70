"""The two modes of macro figures, and which parameters belong to which."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from warehouse.contract.parameter_types import Day, year_as_day
from warehouse.contract.problems import check_date_order, conflicting_parameters, invalid_parameter
from warehouse.contract.tier_cap import row_limit
from warehouse.read.macro import annual, series_known
from warehouse.read.mart import Mart
from warehouse.read.rows import RowPage
from warehouse.tiers import Tier

_OF_SERIES = ("series_type", "frequency")


def is_series_mode(asked: Mapping[str, Any]) -> bool:
    """Say whether series are asked for: ``series`` or ``as_of`` is given."""
    return asked["series"] is not None or asked["as_of"] is not None


def macro_rows(mart: Mart, asked: Mapping[str, Any], tier: Tier) -> tuple[RowPage, int]:
    """Give the rows of the mode that the parameters ask for, and how many at most."""
    return _series(mart, asked, tier) if is_series_mode(asked) else _annual(mart, asked, tier)


def _series(mart: Mart, asked: Mapping[str, Any], tier: Tier) -> tuple[RowPage, int]:
    _refuse(asked, ("indicator",), "annual mode: leave out series and as_of")
    from_, to = _day(asked, "from"), _day(asked, "to")
    check_date_order(from_, to)
    limit = row_limit(tier, asked["limit"])
    said = ("country", "series", "series_type", "frequency", "as_of")
    named = {name: asked[name] for name in said}
    return series_known(mart, **named, from_=from_, to=to, limit=limit), limit


def _annual(mart: Mart, asked: Mapping[str, Any], tier: Tier) -> tuple[RowPage, int]:
    _refuse(asked, _OF_SERIES, "series mode: give series or as_of")
    from_, to = asked["from"], asked["to"]
    from_ = None if from_ is None else year_as_day(from_, "01-01")
    to = None if to is None else year_as_day(to, "12-31")
    check_date_order(from_, to)
    limit = row_limit(tier, asked["limit"])
    return annual(mart, asked["country"], asked["indicator"], from_, to, limit), limit


def _refuse(asked: Mapping[str, Any], names: tuple[str, ...], mode: str) -> None:
    """Refuse a parameter of the other mode, which would else be passed over in silence."""
    for name in names:
        if asked[name] is not None:
            raise conflicting_parameters(name, f"{name} belongs to {mode}.")


def _day(asked: Mapping[str, Any], name: str) -> date | None:
    """Read a date; a year alone belongs to annual mode."""
    text, kind = asked[name], Day()
    try:
        return None if text is None else kind.read(text)
    except ValueError:
        raise invalid_parameter(name, text, kind.expected) from None
