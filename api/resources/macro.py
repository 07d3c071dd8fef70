"""Macro figures: point-in-time series, or annual indicators."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, pinned, tier_of
from warehouse.contract.macro import macro_rows
from warehouse.read.mart import Mart


class Macro:
    """Answers in series mode where ``series`` or ``as_of`` is given, else in annual mode."""

    endpoint = declarations.MACRO

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer in the mode that the parameters ask for."""
        asked = request.read(req, self.endpoint)
        rows, limit = macro_rows(pinned(req, self._mart), asked, tier_of(req))
        answer(resp, rows, limit, asked["as_of"])

    on_head = on_get
