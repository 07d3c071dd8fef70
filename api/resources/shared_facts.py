"""Any dataset as entity, fact and provenance."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, pinned, rows_allowed
from warehouse.errors import BadParameters
from warehouse.read.mart import Mart
from warehouse.read.shared_facts import check_dataset, shared_facts

_COUNTRY_HAS = "AF-TENDER or AF-MACRO"


class SharedFacts:
    """Answers with facts of an issuer or of a country, in one form."""

    endpoint = declarations.SHARED_FACTS

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the latest vintage of each value."""
        asked = request.read(req, self.endpoint)
        if asked["entity_id"] is None and asked["country"] is None:
            raise request.missing("entity_id", "exactly one of entity_id and country")
        if asked["entity_id"] is not None and asked["country"] is not None:
            raise request.conflict("country", "Give exactly one of entity_id and country.")
        if asked["country"] is not None and asked["dataset"] is None:
            raise request.missing("dataset", f"with country it is {_COUNTRY_HAS}")
        try:
            check_dataset(asked["entity_id"], asked["dataset"])
        except BadParameters as error:
            raise request.conflict("dataset", f"{error}.") from error
        mart, limit = pinned(req, self._mart), rows_allowed(req, asked)
        rows = shared_facts(mart, **{**asked, "limit": limit})
        answer(resp, rows, limit, asked["as_of"])

    on_head = on_get
