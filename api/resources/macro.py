"""Macro figures: point-in-time series, or annual indicators."""

from datetime import date

import falcon

from api import endpoints, params
from api.answers import answer, pinned, rows_allowed
from warehouse.contract.kinds import Day, year_as_day
from warehouse.read.macro import annual, series_known
from warehouse.read.mart import Mart

_OF_SERIES = ("series_type", "frequency")


class Macro:
    """Answers in series mode where ``series`` or ``as_of`` is given, else in annual mode."""

    endpoint = endpoints.MACRO

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer in the mode that the parameters ask for."""
        asked = params.read(req, self.endpoint)
        if asked["series"] is not None or asked["as_of"] is not None:
            self._series(req, resp, asked)
        else:
            self._annual(req, resp, asked)

    on_head = on_get

    def _series(self, req: falcon.Request, resp: falcon.Response, asked: params.Asked) -> None:
        _refuse(asked, ("indicator",), "annual mode: leave out series and as_of")
        from_, to = _day(asked, "from"), _day(asked, "to")
        params.in_order(from_, to)
        limit = rows_allowed(req, asked)
        said = ("country", "series", "series_type", "frequency", "as_of")
        named = {name: asked[name] for name in said}
        rows = series_known(pinned(req, self._mart), **named, from_=from_, to=to, limit=limit)
        answer(resp, rows, limit, asked["as_of"])

    def _annual(self, req: falcon.Request, resp: falcon.Response, asked: params.Asked) -> None:
        _refuse(asked, _OF_SERIES, "series mode: give series or as_of")
        from_, to = asked["from"], asked["to"]
        from_ = None if from_ is None else year_as_day(from_, "01-01")
        to = None if to is None else year_as_day(to, "12-31")
        params.in_order(from_, to)
        limit = rows_allowed(req, asked)
        mart = pinned(req, self._mart)
        rows = annual(mart, asked["country"], asked["indicator"], from_, to, limit)
        answer(resp, rows, limit, None)


def _refuse(asked: params.Asked, names: tuple[str, ...], mode: str) -> None:
    """Refuse a parameter of the other mode, which would else be passed over in silence."""
    for name in names:
        if asked[name] is not None:
            raise params.conflict(name, f"{name} belongs to {mode}.")


def _day(asked: params.Asked, name: str) -> date | None:
    """Read a date; a year alone belongs to annual mode."""
    text, kind = asked[name], Day()
    try:
        return None if text is None else kind.read(text)
    except ValueError:
        raise params.invalid(name, text, kind.expected) from None
