"""Point-in-time reported facts of one issuer."""

from typing import cast, get_args

import falcon

from api import params
from api.answers import answer, nobody, pinned, tier_of
from warehouse.read.fundamentals import facts_known
from warehouse.read.mart import Mart
from warehouse.record.as_of import Vintages
from warehouse.tables.fundamentals import PeriodType


class Fundamentals:
    """Answers with what was knowable on ``as_of``; a sample key gets the newest rows only."""

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Answer with the facts of an issuer, the newest period first."""
        if not params.SERVICE_ID.fullmatch(service_id):
            raise params.invalid("service_id", service_id, "letters and digits only")
        asked = params.read(req, "as_of", "period_type", "vintages")
        as_of = params.as_of(asked)
        period_type = params.choice(asked, "period_type", get_args(PeriodType))
        vintages = cast(Vintages, params.choice(asked, "vintages", get_args(Vintages)) or "latest")
        tier = tier_of(req)
        limit = None if tier.paid else tier.rows
        mart = pinned(req, self._mart)
        rows = facts_known(mart, service_id, as_of, period_type, vintages, limit)
        if rows is None:
            raise nobody(service_id)
        answer(resp, rows, limit, as_of)

    on_head = on_get
