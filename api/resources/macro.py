"""Macro figures: point-in-time series, or annual indicators."""

from typing import get_args

import falcon

from api import params
from api.answers import answer, pinned, rows_allowed, tier_of
from api.problems import Problem
from warehouse.read.macro import annual, series_known
from warehouse.read.mart import Mart
from warehouse.tables.macro import Frequency

_ALLOWED = (
    "country",
    "indicator",
    "series",
    "series_type",
    "frequency",
    "as_of",
    "from",
    "to",
    "limit",
)


class Macro:
    """Answers in series mode where ``series`` or ``as_of`` is given, else in annual mode."""

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer in the mode that the parameters ask for."""
        asked = params.read(req, *_ALLOWED)
        if "series" in asked or "as_of" in asked:
            self._series(req, resp, asked)
        else:
            self._annual(req, resp, asked)

    on_head = on_get

    def _series(self, req: falcon.Request, resp: falcon.Response, asked: params.Params) -> None:
        _refuse(asked, ("indicator",), "annual mode: leave out series and as_of")
        country, series = params.any_country(asked), params.code(asked, "series")
        series_type = params.code(asked, "series_type")
        frequency = params.choice(asked, "frequency", get_args(Frequency))
        as_of = params.as_of(asked)
        from_, to = params.day(asked, "from"), params.day(asked, "to")
        params.in_order(from_, to)
        limit = rows_allowed(tier_of(req), params.limit(asked))
        mart = pinned(req, self._mart)
        rows = series_known(mart, country, series, series_type, frequency, as_of, from_, to, limit)
        answer(resp, rows, limit, as_of)

    def _annual(self, req: falcon.Request, resp: falcon.Response, asked: params.Params) -> None:
        _refuse(asked, ("series_type", "frequency"), "series mode: give series or as_of")
        country, indicator = params.any_country(asked), params.code(asked, "indicator")
        from_ = params.year_or_day(asked, "from", "01-01")
        to = params.year_or_day(asked, "to", "12-31")
        params.in_order(from_, to)
        limit = rows_allowed(tier_of(req), params.limit(asked))
        rows = annual(pinned(req, self._mart), country, indicator, from_, to, limit)
        answer(resp, rows, limit, None)


def _refuse(asked: params.Params, names: tuple[str, ...], mode: str) -> None:
    """Refuse a parameter of the other mode, which would else be passed over in silence."""
    for name in names:
        if name in asked:
            raise Problem("parameter_conflict", f"{name} belongs to {mode}.", parameter=name)
