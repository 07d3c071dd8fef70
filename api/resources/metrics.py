"""Every metric of one issuer."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, pinned, rows_allowed
from warehouse.read.mart import Mart
from warehouse.read.metrics import metrics


class Metrics:
    """Answers with the values that the screen ranks; an id that nobody has has none."""

    endpoint = declarations.METRICS

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Answer with the metrics of the latest full year."""
        asked = request.read(req, self.endpoint, service_id=service_id)
        mart, limit = pinned(req, self._mart), rows_allowed(req, asked)
        rows = metrics(mart, **{**asked, "limit": limit})
        answer(resp, rows, limit, asked["as_of"])

    on_head = on_get
