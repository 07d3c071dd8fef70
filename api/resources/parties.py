"""Buyers and suppliers named in releases."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, pinned, rows_allowed
from warehouse.read.mart import Mart
from warehouse.read.tenders import parties


class TenderParties:
    """Answers with parties that are organisations, resolved where that is known."""

    endpoint = declarations.TENDER_PARTIES

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with parties, those of the most releases first in each role."""
        asked = request.read(req, self.endpoint)
        mart, limit = pinned(req, self._mart), rows_allowed(req, asked)
        rows = parties(mart, **{**asked, "limit": limit})
        answer(resp, rows, limit, None)

    on_head = on_get
