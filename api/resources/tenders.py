"""Tender releases, newest first, page by page."""

import falcon

from api import endpoints, params
from api.answers import answer, pinned, rows_allowed
from warehouse.contract import cursor
from warehouse.contract.problems import Problem
from warehouse.errors import UnknownVersion
from warehouse.read.mart import Mart
from warehouse.read.tenders import releases


class Tenders:
    """Answers with a page of releases; a whole walk is made in one data_version."""

    endpoint = endpoints.TENDERS

    def __init__(self, mart: Mart, secret: bytes) -> None:
        self._mart = mart
        self._secret = secret

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with a page and, unless it is the last, ``next_cursor``."""
        asked = params.read(req, self.endpoint)
        country, from_ = asked["country"], asked["from"]
        filters = f"{country}|{from_}"
        mart, after = self._place(req, asked["cursor"], filters)
        limit = rows_allowed(req, asked)
        rows = releases(mart, country, from_, limit, after)
        following = None
        if rows.truncated and rows.last_key is not None:
            place = cursor.Place(rows.last_key, rows.data_version)
            following = cursor.write(self._secret, place, filters)
        answer(resp, rows, limit, None, next_cursor=following)

    on_head = on_get

    def _place(
        self, req: falcon.Request, sent: str | None, filters: str
    ) -> tuple[Mart, tuple[str, ...] | None]:
        """Give where to read on, and in which build; the one of a cursor may be gone."""
        if sent is None:
            return pinned(req, self._mart), None
        place = cursor.read(self._secret, sent, filters)
        if req.get_header("X-Data-Version") not in (None, place.data_version):
            raise params.conflict(
                "X-Data-Version",
                f"The cursor walks in data_version {place.data_version}, the header pins another.",
            )
        mart = self._mart.at(place.data_version)
        try:
            mart.build()
        except UnknownVersion as error:
            raise Problem(
                "cursor_invalid",
                f"The data_version {place.data_version} of this walk is held no more; begin again.",
                parameter="cursor",
            ) from error
        return mart, place.after
