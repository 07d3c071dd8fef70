"""Every list: rows page by page in the common envelope, or as CSV or JSON Lines."""

from collections.abc import Callable

import falcon

from api.endpoints.endpoint import Endpoint
from api.endpoints.request import read_parameters, tier_of
from api.endpoints.response import send_list
from api.endpoints.row_formats import requested_format
from warehouse.contract.listing import answer
from warehouse.read.mart import Mart


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
