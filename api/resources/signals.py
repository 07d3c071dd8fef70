"""Signal panels; their rows stand under ``observations``."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, nobody, pinned, rows_allowed
from warehouse.read.mart import Mart
from warehouse.read.signals import panel, procurement_demand


class ProcurementDemand:
    """Answers with category share, buyer concentration and momentum of a country."""

    endpoint = declarations.PROCUREMENT_DEMAND

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with months closed by ``as_of``."""
        asked = request.read(req, self.endpoint)
        from_, to = asked.pop("from"), asked["to"]
        request.in_order(from_, to)
        mart, limit = pinned(req, self._mart), rows_allowed(req, asked)
        rows = procurement_demand(mart, **{**asked, "from_": from_, "limit": limit})
        answer(resp, rows, limit, asked["as_of"], "observations")

    on_head = on_get


class Signal:
    """Answers with one published panel."""

    endpoint = declarations.SIGNAL

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, signal_key: str) -> None:
        """Answer with the newest months first, or 404."""
        asked = request.read(req, self.endpoint, signal_key=signal_key)
        mart, limit = pinned(req, self._mart), rows_allowed(req, asked)
        rows = panel(mart, signal_key, limit=limit)
        if rows is None:
            raise nobody(signal_key)
        answer(resp, rows, limit, None, "observations")

    on_head = on_get
