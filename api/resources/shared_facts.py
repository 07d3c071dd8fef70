"""Any dataset as entity, fact and provenance."""

import falcon

from api import endpoints, params
from api.answers import answer, pinned, rows_allowed
from warehouse.errors import BadQuestion
from warehouse.read.mart import Mart
from warehouse.read.shared import check_dataset, shared_facts

_COUNTRY_HAS = "AF-TENDER or AF-MACRO"


class SharedFacts:
    """Answers with facts of an issuer or of a country, in one form."""

    endpoint = endpoints.SHARED_FACTS

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the latest vintage of each value."""
        asked = params.read(req, self.endpoint)
        if asked["entity_id"] is None and asked["country"] is None:
            raise params.missing("entity_id", "exactly one of entity_id and country")
        if asked["entity_id"] is not None and asked["country"] is not None:
            raise params.conflict("country", "Give exactly one of entity_id and country.")
        if asked["country"] is not None and asked["dataset"] is None:
            raise params.missing("dataset", f"with country it is {_COUNTRY_HAS}")
        try:
            check_dataset(asked["entity_id"], asked["dataset"])
        except BadQuestion as error:
            raise params.conflict("dataset", f"{error}.") from error
        mart, limit = pinned(req, self._mart), rows_allowed(req, asked)
        rows = shared_facts(mart, **{**asked, "limit": limit})
        answer(resp, rows, limit, asked["as_of"])

    on_head = on_get
