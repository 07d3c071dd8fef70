"""Every endpoint of the API, one line of ``endpoints.csv`` each.

``list`` and ``parameters`` are names in ``warehouse/contract``. ``statuses`` are those of errors
beyond the ones that every key can get; ``malformed_id`` is the status for an id in the path that
has not the form of one.
"""

from collections.abc import Mapping
from typing import Literal

from api.endpoints.endpoint import Endpoint
from warehouse.contract import lists
from warehouse.contract.listing import Listing
from warehouse.contract.parameters import PARAMETERS
from warehouse.shared.data_files import csv_rows

# Everywhere 400 is a malformed parameter or an unknown pinned data_version; 402 is a limit above
# the cap of the sample tier; 403 is a key that is for other networks or datasets.
_KEYED_STATUSES = (400, 401, 403, 429, 503)


def _endpoint(row: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of a line; of a list, which part is wanted and in which form."""
    listing: Listing | None = getattr(lists, row["list"]) if row["list"] else None
    parameters = [PARAMETERS[name] for name in row["parameters"].split()]
    needs_key, malformed_id = row["key"] == "yes", row["malformed_id"]
    statuses = [*(_KEYED_STATUSES if needs_key else ()), *map(int, row["statuses"].split())]
    if any(each.location == "body" for each in parameters):
        # Its rows are answers to what is sent, and no more than that.
        statuses.append(413)
    elif listing is not None:
        limit = "LIMIT_UNCAPPED" if listing.row_rule == "uncapped" else "LIMIT"
        pages = () if listing.is_one else (limit, "CURSOR")
        parameters += [PARAMETERS[name] for name in (*pages, "FORMAT", "FIELDS")]
        statuses += [] if listing.is_one else [402]
    if needs_key:
        parameters += [PARAMETERS[each] for each in ("VERSION_IN_URL", "RECEIPT")]
    invalid_id_status: Literal[400, 404] = 404 if malformed_id == "404" else 400
    return Endpoint(
        *(row["name"], row["path"], row["summary"], row["description"], row["body"], row["tag"]),
        tuple(parameters),
        tuple(statuses),
        needs_key,
        invalid_id_status,
        listing=listing,
    )


ENDPOINTS = tuple(map(_endpoint, csv_rows(__name__, "endpoints")))
_BY_NAME = {endpoint.name: endpoint for endpoint in ENDPOINTS}

# Those that resources and pages name.
HEALTH = _BY_NAME["getHealth"]
STATUS = _BY_NAME["getStatus"]
OPENAPI = _BY_NAME["getDescription"]
CATALOGUE = _BY_NAME["listCatalogue"]
SEARCH = _BY_NAME["search"]
FUNDAMENTALS = _BY_NAME["getFundamentals"]
FILINGS = _BY_NAME["listFilings"]
TENDERS = _BY_NAME["listTenders"]
TENDER = _BY_NAME["getTender"]
TENDER_PARTIES = _BY_NAME["listTenderParties"]
MACRO = _BY_NAME["listMacro"]
CROSSWALK = _BY_NAME["getCrosswalk"]
SCREEN = _BY_NAME["screenIssuers"]
METRICS = _BY_NAME["getMetrics"]
EXPORT = _BY_NAME["getExport"]
CHANGES = _BY_NAME["listChanges"]
VERSIONS = _BY_NAME["listVersions"]
USAGE = _BY_NAME["getUsage"]
