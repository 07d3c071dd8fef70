"""Tender releases, newest first, page by page."""

from collections.abc import Callable

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, rows_allowed
from warehouse.contract.walk import next_cursor, place_of
from warehouse.read.mart import Mart
from warehouse.read.tenders import releases


class Tenders:
    """Answers with a page of releases; a whole walk is made in one data_version."""

    endpoint = declarations.TENDERS

    def __init__(self, mart: Mart, secret: Callable[[], bytes]) -> None:
        self._mart = mart
        self._secret = secret

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with a page and, unless it is the last, ``next_cursor``."""
        asked = request.read(req, self.endpoint)
        mart, after = place_of(self._mart, self._secret(), asked, req.get_header("X-Data-Version"))
        limit = rows_allowed(req, asked)
        rows = releases(mart, asked["country"], asked["from"], limit, after)
        last_key = rows.last_key if rows.truncated else None
        following = next_cursor(self._secret(), asked, last_key, rows.data_version)
        answer(resp, rows, limit, None, next_cursor=following)

    on_head = on_get
