"""Reported figures: fundamentals of an issuer, macro figures, and both as shared facts."""

import falcon

from api.endpoints import declarations
from api.endpoints.request import pinned_mart, read_parameters, tier_of
from api.endpoints.response import send_rows
from warehouse.contract.macro import macro_rows
from warehouse.contract.problems import conflicting_parameters, missing_parameter, unknown_id
from warehouse.contract.tier_cap import row_limit
from warehouse.errors import BadParameters
from warehouse.read.fundamentals import facts_known
from warehouse.read.mart import Mart
from warehouse.read.shared_facts import check_dataset, shared_facts

_COUNTRY_DATASETS = "AF-TENDER or AF-MACRO"


class FundamentalsResource:
    """The facts of one issuer that were knowable on ``as_of``, the newest period first."""

    endpoint = declarations.FUNDAMENTALS

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Send all rows to a paid key, the first ones to a sample key."""
        parameters = read_parameters(req, self.endpoint, service_id=service_id)
        tier = tier_of(req)
        limit = None if tier.paid else tier.rows
        rows = facts_known(pinned_mart(req, self._mart), **parameters, limit=limit)
        if rows is None:
            raise unknown_id(service_id)
        send_rows(req, resp, rows, limit, parameters["as_of"])

    on_head = on_get


class SharedFactsResource:
    """Facts of an issuer or a country from any dataset, in one form."""

    endpoint = declarations.SHARED_FACTS

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the latest vintage of each value."""
        parameters = read_parameters(req, self.endpoint)
        entity_id, country = parameters["entity_id"], parameters["country"]
        # The read checks this too; here the error can name the parameter.
        if entity_id is None and country is None:
            raise missing_parameter("entity_id", "exactly one of entity_id and country")
        if entity_id is not None and country is not None:
            raise conflicting_parameters("country", "Send exactly one of entity_id and country.")
        if country is not None and parameters["dataset"] is None:
            raise missing_parameter("dataset", f"with country it is {_COUNTRY_DATASETS}")
        try:
            check_dataset(entity_id, parameters["dataset"])
        except BadParameters as error:
            raise conflicting_parameters("dataset", f"{error}.") from error
        mart = pinned_mart(req, self._mart)
        limit = row_limit(tier_of(req), parameters["limit"])
        rows = shared_facts(mart, **{**parameters, "limit": limit})
        send_rows(req, resp, rows, limit, parameters["as_of"])

    on_head = on_get


class MacroResource:
    """Macro figures: series if ``series`` or ``as_of`` is sent, else annual indicators."""

    endpoint = declarations.MACRO

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send rows in the mode that the parameters select."""
        parameters = read_parameters(req, self.endpoint)
        rows, limit = macro_rows(pinned_mart(req, self._mart), parameters, tier_of(req))
        send_rows(req, resp, rows, limit, parameters["as_of"])

    on_head = on_get
