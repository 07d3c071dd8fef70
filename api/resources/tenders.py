"""Tender releases page by page, and the organisations they name."""

from collections.abc import Callable

import falcon

from api.endpoints import declarations
from api.endpoints.request import pinned_mart, read_parameters, tier_of
from api.endpoints.response import send_rows
from warehouse.contract.pagination import next_cursor, resume_position
from warehouse.contract.tier_cap import row_limit
from warehouse.read.mart import Mart
from warehouse.read.tenders import parties, releases


class TendersResource:
    """Releases, newest first; all pages of a query come from one data_version."""

    endpoint = declarations.TENDERS

    def __init__(self, mart: Mart, secret: Callable[[], bytes]) -> None:
        self._mart = mart
        self._secret = secret

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send a page and, unless it is the last one, ``next_cursor``."""
        parameters = read_parameters(req, self.endpoint)
        pin = req.get_header("X-Data-Version")
        mart, after = resume_position(self._mart, self._secret(), parameters, pin)
        limit = row_limit(tier_of(req), parameters["limit"])
        rows = releases(mart, parameters["country"], parameters["from"], limit, after)
        # A cursor only if there is more: its absence tells the client to stop.
        last_key = rows.last_key if rows.truncated else None
        cursor = next_cursor(self._secret(), parameters, last_key, rows.data_version)
        send_rows(req, resp, rows, limit, None, next_cursor=cursor)

    on_head = on_get


class TenderPartiesResource:
    """Buyers and suppliers that are organisations, resolved to an id where possible."""

    endpoint = declarations.TENDER_PARTIES

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send parties, those named in most releases first within each role."""
        parameters = read_parameters(req, self.endpoint)
        mart = pinned_mart(req, self._mart)
        limit = row_limit(tier_of(req), parameters["limit"])
        rows = parties(mart, **{**parameters, "limit": limit})
        send_rows(req, resp, rows, limit, None)

    on_head = on_get
