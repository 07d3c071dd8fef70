"""Rows: every list, page by page in the common envelope or as CSV or JSON Lines; one entity."""

from collections.abc import Callable

import falcon

from api.endpoints import declarations
from api.endpoints.endpoint import Endpoint, pinned_mart, read_parameters, tier_of
from api.endpoints.response import requested_format, send_list, send_row
from warehouse.contract.listing import answer
from warehouse.contract.problems import unknown_id
from warehouse.serve.build import Mart
from warehouse.serve.entities import entity


class ListResource:
    """One list, as its declaration says; all pages of a question come from one data_version."""

    def __init__(self, endpoint: Endpoint, mart: Mart, secret: Callable[[], bytes]) -> None:
        self.endpoint = endpoint
        self._mart, self._secret = mart, secret

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Send a page and, unless it is the last one, ``next_cursor``."""
        listing = self.endpoint.listing
        assert listing is not None
        parameters = read_parameters(req, self.endpoint, **path)
        form = requested_format(req, parameters["format"])
        pin = req.get_header("X-Data-Version")
        page = answer(
            listing,
            self._mart,
            self._secret(),
            tier_of(req),
            parameters,
            pin,
            in_pieces=form != "json",
        )
        send_list(req, resp, page, form)

    on_head = on_get


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
