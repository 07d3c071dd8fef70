"""Identifiers that others gave to organisations, in both directions."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import nobody, pinned, tier_of, write
from warehouse.contract.problems import Problem
from warehouse.read.crosswalk import FREE, identifiers, lookup
from warehouse.read.mart import Mart


class Crosswalk:
    """Answers with every identifier of one organisation that the tier may see."""

    endpoint = declarations.CROSSWALK

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Answer with identifiers, and name the kinds that are withheld."""
        request.read(req, self.endpoint, service_id=service_id)
        found = identifiers(pinned(req, self._mart), service_id, tier_of(req).paid)
        if found is None:
            raise nobody(service_id)
        before: dict[str, object] = {
            "service_id": found.service_id,
            "legal_name": found.legal_name,
            "crosswalk_loaded": found.crosswalk_loaded,
        }
        after: dict[str, object] = {
            "withheld_id_types": found.withheld_id_types,
            "data_version": found.identifiers.data_version,
        }
        write(resp, found.identifiers, before, "identifiers", after)

    on_head = on_get


class Lookup:
    """Answers with the organisations that bear an outside identifier."""

    endpoint = declarations.LOOKUP

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with matches, 20 at most; the paid crosswalk is 402 for a sample key."""
        asked = request.read(req, self.endpoint)
        id_type, tier = asked["id_type"], tier_of(req)
        if id_type not in FREE and not tier.paid:
            raise Problem(
                "paid_crosswalk",
                f"Lookups by {id_type} need the starter tier or above.",
                parameter="id_type",
                received=id_type,
                tier=tier.name,
                required_tier="starter",
            )
        found = lookup(pinned(req, self._mart), id_type, asked["id_value"])
        before: dict[str, object] = {**asked, "ambiguous": found.ambiguous}
        write(resp, found.rows, before, "data", {"data_version": found.rows.data_version})

    on_head = on_get
