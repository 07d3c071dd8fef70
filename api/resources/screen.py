"""Issuers ranked on a metric."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, pinned, rows_allowed
from warehouse.read.mart import Mart
from warehouse.read.metrics import screen


class Screen:
    """Answers with a mechanical sort by size, and of which issuers it is one."""

    endpoint = declarations.SCREEN

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with ranked rows and the universe they come from."""
        asked = request.read(req, self.endpoint)
        mart, limit = pinned(req, self._mart), rows_allowed(req, asked)
        found = screen(mart, **{**asked, "limit": limit})
        answer(resp, found.rows, limit, asked["as_of"], universe=found.universe)

    on_head = on_get
