"""Point-in-time reported facts of one issuer."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, nobody, pinned, tier_of
from warehouse.read.fundamentals import facts_known
from warehouse.read.mart import Mart


class Fundamentals:
    """Answers with what was knowable on ``as_of``; a sample key gets the newest rows only."""

    endpoint = declarations.FUNDAMENTALS

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Answer with the facts of an issuer, the newest period first."""
        asked = request.read(req, self.endpoint, service_id=service_id)
        tier = tier_of(req)
        limit = None if tier.paid else tier.rows
        mart = pinned(req, self._mart)
        rows = facts_known(mart, **asked, limit=limit)
        if rows is None:
            raise nobody(service_id)
        answer(resp, rows, limit, asked["as_of"])

    on_head = on_get
