"""Search over organisations, series, indicators, panels and buyers."""

from collections.abc import Callable

import falcon

from api.endpoints import declarations
from api.endpoints.request import read_parameters, tier_of
from api.endpoints.response import send_rows
from warehouse.contract.limits import check_search_words
from warehouse.contract.pagination import next_cursor, resume_position
from warehouse.contract.tier_cap import row_limit
from warehouse.read.mart import Mart
from warehouse.read.search import search


class SearchResource:
    """What a query finds, best match first; all pages come from one data_version."""

    endpoint = declarations.SEARCH

    def __init__(self, mart: Mart, secret: Callable[[], bytes]) -> None:
        self._mart = mart
        self._secret = secret

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send a page and, unless it is the last one, ``next_cursor``."""
        parameters = read_parameters(req, self.endpoint)
        check_search_words("query", parameters["query"])
        # A cursor of another list is not one of this.
        filters = {**parameters, "from": None, "list": "search"}
        pin = req.get_header("X-Data-Version")
        mart, after = resume_position(self._mart, self._secret(), filters, pin)
        limit = row_limit(tier_of(req), parameters["limit"])
        kinds = None if parameters["kind"] is None else (parameters["kind"],)
        rows = search(mart, parameters["query"], kinds, parameters["country"], limit, after)
        last_key = rows.last_key if rows.truncated else None
        cursor = next_cursor(self._secret(), filters, last_key, rows.data_version)
        send_rows(req, resp, rows, limit, None, next_cursor=cursor)

    on_head = on_get
