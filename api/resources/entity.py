"""One organisation's resolved record."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, nobody, pinned
from warehouse.read.entities import entity
from warehouse.read.mart import Mart


class Entity:
    """Answers with the current record of an id; there is no search by name."""

    endpoint = declarations.ENTITY

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Answer with one row, or 404."""
        request.read(req, self.endpoint, service_id=service_id)
        rows = entity(pinned(req, self._mart), service_id)
        if rows is None:
            raise nobody(service_id)
        answer(resp, rows, 1, None)

    on_head = on_get
