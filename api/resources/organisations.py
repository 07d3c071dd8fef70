"""One organisation by its id."""

import falcon

from api.endpoints import declarations
from api.endpoints.request import pinned_mart, read_parameters
from api.endpoints.response import send_row
from warehouse.contract.problems import unknown_id
from warehouse.read.entities import entity
from warehouse.read.mart import Mart


class EntityResource:
    """The current record of one organisation; there is no search by name."""

    endpoint = declarations.ENTITY

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Send one row, or 404."""
        service_id = read_parameters(req, self.endpoint, service_id=service_id)["service_id"]
        rows = entity(pinned_mart(req, self._mart), service_id)
        if rows is None:
            raise unknown_id(service_id)
        send_row(req, resp, rows)

    on_head = on_get
