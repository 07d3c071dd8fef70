"""Every endpoint of the contract: one declaration each."""

from api.endpoints.endpoint import Endpoint
from warehouse.contract import parameters as p

# A malformed parameter is 400 everywhere, and a limit above the sample's cap is 402 wherever
# there is a limit; a pinned data_version that is unknown is 400 too.
_ALWAYS = (400, 401, 429, 503)
_CAPPED = (*_ALWAYS, 402)
_OF_ONE = (*_ALWAYS, 404)

HEALTH = Endpoint(
    "getHealth",
    "/health",
    "Liveness",
    "Says that the process answers, and touches nothing.",
    "Health",
    "service",
    needs_key=False,
)
STATUS = Endpoint(
    "getStatus",
    "/v1/status",
    "State of every dependency",
    "The result of a real read against each dependency. 200: every one answered. 503: degraded, "
    "and `degraded` names the ones that did not.",
    "Status",
    "service",
    statuses=(400, 503),
    needs_key=False,
)
OPENAPI = Endpoint(
    "getDescription",
    "/openapi.json",
    "This description",
    "OpenAPI 3.1.",
    "Description",
    "service",
    statuses=(400,),
    needs_key=False,
)
FUNDAMENTALS = Endpoint(
    "getFundamentals",
    "/v1/fundamentals/{service_id}",
    "Point-in-time reported facts of one issuer",
    "The newest period first. Paid keys get all rows, sample keys the first 25 with `truncated`.",
    "Fundamentals",
    "fundamentals",
    (p.SERVICE_ID, p.AS_OF, p.PERIOD_TYPE, p.VINTAGES),
    _OF_ONE,
    row_rule="paid_unlimited",
)
TENDERS = Endpoint(
    "listTenders",
    "/v1/tenders",
    "Open Contracting releases, newest first",
    "Pass `next_cursor` back verbatim for the next page; null means the last page. All pages of "
    "a walk come from one data_version.",
    "Tenders",
    "tenders",
    (p.COUNTRY_ZA, p.FROM_RELEASE, p.LIMIT, p.CURSOR),
    _CAPPED,
)
SHARED_FACTS = Endpoint(
    "listSharedFacts",
    "/v1/shared/facts",
    "Any dataset as entity, fact and provenance",
    "Give exactly one of `entity_id` and `country`. The latest vintage of each value is served. "
    "Annual macro has no evidenced release date and is left out of any `as_of`.",
    "SharedFacts",
    "shared facts",
    (p.ENTITY_ID, p.COUNTRY_3, p.DATASET, p.AS_OF, p.MEASURE, p.LIMIT),
    _CAPPED,
)
TENDER_PARTIES = Endpoint(
    "listTenderParties",
    "/v1/tender-parties",
    "Buyers and suppliers named in releases",
    "Resolved to `service_id` where that is known. Parties not established to be organisations "
    "are withheld.",
    "TenderParties",
    "tenders",
    (p.COUNTRY, p.ROLE, p.OF_SERVICE_ID, p.LIMIT),
    _CAPPED,
)
MACRO = Endpoint(
    "listMacro",
    "/v1/macro",
    "Macroeconomic figures",
    "Series mode where `series` or `as_of` is given: point-in-time series, no look-ahead. Else "
    "annual mode: annual indicators by `country` and `indicator`.",
    "Macro",
    "macro",
    (
        *(p.COUNTRY_ANY, p.INDICATOR, p.SERIES, p.SERIES_TYPE, p.FREQUENCY, p.AS_OF),
        *(p.FROM_PERIOD, p.TO_PERIOD, p.LIMIT),
    ),
    _CAPPED,
)
ENTITY = Endpoint(
    "getEntity",
    "/v1/entities/{service_id}",
    "One organisation's resolved record",
    "There is no search by name here; ids come from other endpoints.",
    "Entities",
    "entities",
    (p.SERVICE_ID,),
    _OF_ONE,
    invalid_id_status=404,
)
CROSSWALK = Endpoint(
    "getCrosswalk",
    "/v1/crosswalk/{service_id}",
    "Every identifier held for one organisation",
    "Current mappings only. On the sample tier the kinds of the paid crosswalk are named in "
    "`withheld_id_types`.",
    "Crosswalk",
    "entities",
    (p.SERVICE_ID,),
    _OF_ONE,
    invalid_id_status=404,
    row_rule="uncapped",
)
LOOKUP = Endpoint(
    "lookUpIdentifier",
    "/v1/crosswalk",
    "Find the organisation behind an outside identifier",
    "A registry number is unique only within its registry: `ambiguous` says that several match. "
    "At most 20 matches.",
    "Lookup",
    "entities",
    (p.ID_TYPE, p.ID_VALUE),
    _CAPPED,
    row_rule="uncapped",
)
SCREEN = Endpoint(
    "screenIssuers",
    "/v1/screen",
    "Rank issuers on a metric",
    "Per issuer the latest full year published by `as_of`, only if every filing it is computed "
    "from was available by then with the figures it holds today. `rank` is a position by size "
    "and no rating.",
    "Screen",
    "metrics",
    (p.METRIC_RANKED, p.ORDER, p.AS_OF, p.COUNTRY, p.LIMIT),
    _CAPPED,
)
METRICS = Endpoint(
    "getMetrics",
    "/v1/metrics/{service_id}",
    "Every metrics-v1 value of one issuer",
    "The values that the screen ranks, without `rank`. `methodology_ref` names the formula.",
    "Metrics",
    "metrics",
    (p.SERVICE_ID, p.METRIC, p.AS_OF, p.LIMIT),
    _CAPPED,
)
PROCUREMENT_DEMAND = Endpoint(
    "getProcurementDemand",
    "/v1/signals/procurement-demand",
    "Category share, buyer concentration and momentum",
    "`as_of` returns only months closed by that day, in the vintage of that day.",
    "Observations",
    "signals",
    (p.COUNTRY_ZA, p.CATEGORY, p.AS_OF, p.FROM_MONTH, p.TO_MONTH, p.LIMIT),
    _CAPPED,
)
SIGNAL = Endpoint(
    "getSignal",
    "/v1/signals/{signal_key}",
    "One published signal panel",
    "The newest month first. Keys are listed by `/v1/export`.",
    "Observations",
    "signals",
    (p.SIGNAL_KEY, p.LIMIT),
    (*_CAPPED, 404),
)
QUALITY = Endpoint(
    "getQualityMetrics",
    "/v1/quality-metrics/{sku}",
    "Coverage and freshness of a dataset",
    "A floor that was not measured says `UNMEASURED`, never a pass.",
    "Quality",
    "quality",
    (p.SKU,),
    _OF_ONE,
    invalid_id_status=404,
    row_rule="uncapped",
)
EXPORT = Endpoint(
    "getExport",
    "/v1/export",
    "Manifest of the bulk exports",
    "Open panels are CC-BY and need no key; licensed files need the starter tier or above.",
    "Export",
    "exports",
    (),
    _ALWAYS,
)

ENDPOINTS = (
    *(HEALTH, STATUS, OPENAPI, FUNDAMENTALS, TENDERS, SHARED_FACTS, TENDER_PARTIES, MACRO),
    *(ENTITY, CROSSWALK, LOOKUP, SCREEN, METRICS, PROCUREMENT_DEMAND, SIGNAL, QUALITY, EXPORT),
)
