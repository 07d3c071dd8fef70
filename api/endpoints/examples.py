"""Examples of requests that return rows in the build that is served."""

from collections.abc import Mapping

from api.endpoints import declarations
from api.endpoints.endpoint import Endpoint
from warehouse.serve.build import Mart
from warehouse.serve.examples import Example, examples
from warehouse.shared.errors import SankofaError

# Which rows of a build the examples of an endpoint come from (``warehouse/serve/examples.py``).
_SUBJECTS: Mapping[Endpoint, str] = {
    declarations.FUNDAMENTALS: "fundamentals",
    declarations.FUNDAMENTALS_OF_SEVERAL: "fundamentals_of_several",
    declarations.FILINGS: "filings",
    declarations.SEARCH: "search",
    declarations.CATALOGUE: "catalogue",
    declarations.CHANGES: "changes",
    declarations.TENDERS: "tenders",
    declarations.TENDER: "tender",
    declarations.SHARED_FACTS: "shared_facts",
    declarations.TENDER_PARTIES: "tender_parties",
    declarations.MACRO: "macro",
    declarations.ENTITY: "entities",
    declarations.CROSSWALK: "crosswalk",
    declarations.LOOKUP: "lookup",
    declarations.SCREEN: "screen",
    declarations.METRICS: "metrics",
    declarations.PROCUREMENT_DEMAND: "procurement_demand",
    declarations.SIGNAL: "signals",
    declarations.QUALITY: "quality",
}
# Parameters that are not required, and without which a request may return nothing.
_NEEDED = {
    declarations.TENDERS: ("country",),
    declarations.SHARED_FACTS: ("entity_id", "dataset"),
    declarations.MACRO: ("series",),
    declarations.PROCUREMENT_DEMAND: ("country",),
}


def examples_in(mart: Mart) -> dict[str, Example]:
    """Return examples by the name of an endpoint; none while the datastore is down.

    An endpoint of which the build has no rows has an empty example.
    """
    try:
        found = mart.build().made_once("examples", lambda: examples(mart.build()))
    except SankofaError:
        return {}
    return {endpoint.name: found.get(subject, {}) for endpoint, subject in _SUBJECTS.items()}


def shortest_request(endpoint: Endpoint, example: Example) -> dict[str, str]:
    """Return the parameters of an example that are enough to get rows."""
    needed = _NEEDED.get(endpoint, ())
    return {
        parameter.name: example[parameter.name]
        for parameter in endpoint.parameters
        if (parameter.required or parameter.name in needed) and parameter.name in example
    }
