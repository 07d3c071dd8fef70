"""Organisations: one record by id, and the crosswalk of identifiers in both directions."""

import falcon

from api.endpoints import declarations
from api.endpoints.request import pinned_mart, read_parameters, tier_of
from api.endpoints.response import send_rows, send_rows_between
from warehouse.contract.identifier_forms import check_identifier
from warehouse.contract.problems import Problem, unknown_id
from warehouse.read.crosswalk import FREE_ID_TYPES, identifiers, lookup
from warehouse.read.entities import entity
from warehouse.read.mart import Mart


class EntityResource:
    """The current record of one organisation; there is no search by name."""

    endpoint = declarations.ENTITY

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Send one row, or 404."""
        # Only to refuse what is not declared: there is nothing to read but the id.
        read_parameters(req, self.endpoint, service_id=service_id)
        rows = entity(pinned_mart(req, self._mart), service_id)
        if rows is None:
            raise unknown_id(service_id)
        send_rows(req, resp, rows, 1, None)

    on_head = on_get


class CrosswalkResource:
    """Every identifier of one organisation that the tier may see."""

    endpoint = declarations.CROSSWALK

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Send the identifiers and the names of the types that are withheld."""
        read_parameters(req, self.endpoint, service_id=service_id)
        crosswalk = identifiers(pinned_mart(req, self._mart), service_id, tier_of(req).paid)
        if crosswalk is None:
            raise unknown_id(service_id)
        before: dict[str, object] = {
            "service_id": crosswalk.service_id,
            "legal_name": crosswalk.legal_name,
            "crosswalk_loaded": crosswalk.crosswalk_loaded,
        }
        after: dict[str, object] = {
            "withheld_id_types": crosswalk.withheld_id_types,
            "data_version": crosswalk.identifiers.data_version,
        }
        send_rows_between(req, resp, crosswalk.identifiers, before, "identifiers", after)

    on_head = on_get


class LookupResource:
    """The organisations that bear an external identifier."""

    endpoint = declarations.LOOKUP

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send at most 20 matches; the paid crosswalk is 402 for a sample key."""
        parameters = read_parameters(req, self.endpoint)
        id_type, tier = parameters["id_type"], tier_of(req)
        # Before the lookup: the answer must not depend on whether there is a match.
        if id_type not in FREE_ID_TYPES and not tier.paid:
            raise Problem(
                "paid_crosswalk",
                f"Lookups by {id_type} need the starter tier or above.",
                parameter="id_type",
                received=id_type,
                tier=tier.name,
                required_tier="starter",
            )
        check_identifier(id_type, parameters["id_value"])
        matches = lookup(pinned_mart(req, self._mart), id_type, parameters["id_value"])
        before: dict[str, object] = {**parameters, "ambiguous": matches.ambiguous}
        after: dict[str, object] = {"data_version": matches.rows.data_version}
        send_rows_between(req, resp, matches.rows, before, "data", after)

    on_head = on_get
