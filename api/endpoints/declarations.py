"""Every endpoint of the API, one declaration each."""

from typing import Literal

from api.endpoints.endpoint import Endpoint
from warehouse.contract import lists
from warehouse.contract import parameters as p
from warehouse.contract.listing import Listing
from warehouse.contract.parameter_types import Parameter

# Everywhere 400 is a malformed parameter or an unknown pinned data_version; 402 is a limit above
# the cap of the sample tier; 403 is a key that is for other networks or datasets.
_KEYED_STATUSES = (400, 401, 403, 429, 503)
_LIMITED_STATUSES = (*_KEYED_STATUSES, 402)


def _list(
    listing: Listing,
    name: str,
    path: str,
    summary: str,
    description: str,
    body: str,
    tag: str,
    filters: tuple[Parameter, ...] = (),
    invalid_id_status: Literal[400, 404] = 400,
    statuses: tuple[int, ...] | None = None,
) -> Endpoint:
    """Return the endpoint of a list, which also takes what part of it is wanted, in which form."""
    limit = p.LIMIT_UNCAPPED if listing.row_rule == "uncapped" else p.LIMIT
    if statuses is None:
        # What a path names can be unknown.
        statuses = (*_LIMITED_STATUSES, 404) if "{" in path else _LIMITED_STATUSES
    parameters = (*filters, limit, p.CURSOR, p.FORMAT)
    return Endpoint(
        *(name, path, summary, description, body, tag, parameters, statuses),
        invalid_id_status=invalid_id_status,
        listing=listing,
    )


HEALTH = Endpoint(
    "getHealth",
    "/health",
    "Liveness",
    "The process is running. No store is read.",
    "Health",
    "service",
    needs_key=False,
)
STATUS = Endpoint(
    "getStatus",
    "/v1/status",
    "State of every dependency",
    "The result of a real read from each dependency. 200: all answered. 503: `degraded` lists the "
    "ones that did not.",
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
FUNDAMENTALS = _list(
    lists.FUNDAMENTALS,
    "getFundamentals",
    "/v1/fundamentals/{service_id}",
    "Point-in-time reported facts of one issuer",
    "Newest period first. Without `limit`, paid keys get all rows, sample keys the first 25 with "
    "`truncated`.",
    "Fundamentals",
    "fundamentals",
    (p.SERVICE_ID, p.AS_OF, p.PERIOD_TYPE, p.VINTAGES, p.LINE_ITEMS, p.STATEMENT),
)
FUNDAMENTALS_OF_SEVERAL = _list(
    lists.FUNDAMENTALS_OF_SEVERAL,
    "listFundamentals",
    "/v1/fundamentals",
    "Point-in-time reported facts of up to 100 issuers",
    "Issuer by issuer, in the order of `service_ids`, each as under `/v1/fundamentals/"
    "{service_id}`. `unknown_ids` are ids that no organisation has.",
    "FundamentalsOfSeveral",
    "fundamentals",
    (p.SERVICE_IDS, p.AS_OF, p.PERIOD_TYPE, p.VINTAGES, p.LINE_ITEMS, p.STATEMENT),
)
FILINGS = _list(
    lists.FILINGS,
    "listFilings",
    "/v1/filings",
    "The filings of one issuer, newest first",
    "Every version of every document that a publisher lists, by the day of its receipt, with its "
    "form, its number and a link. `available_at` is the first day on which it could be read: for "
    "some publishers that is the first download that shows it.",
    "Filings",
    "fundamentals",
    (p.FILED_BY, p.FORM, p.FROM_RECEIPT, p.TO_RECEIPT, p.AS_OF),
)
TENDERS = _list(
    lists.TENDERS,
    "listTenders",
    "/v1/tenders",
    "Open Contracting releases, newest first",
    "Pass `next_cursor` back unchanged for the next page; null means the last page. All pages of "
    "a query come from one data_version. What a supplier won is in `/v1/shared/facts`, with its "
    "`entity_id` and the dataset AF-TENDER.",
    "Tenders",
    "tenders",
    (
        *(p.COUNTRY_ZA, p.FROM_RELEASE, p.TO_RELEASE, p.CATEGORY, p.BUYER, p.STATUS),
        *(p.IN_TENDER, p.AS_OF),
    ),
)
TENDER = _list(
    lists.TENDER,
    "getTender",
    "/v1/tenders/{ocid}",
    "Every release of one contracting process",
    "Newest release first.",
    "Tenders",
    "tenders",
    (p.OCID, p.AS_OF),
    invalid_id_status=404,
)
SHARED_FACTS = _list(
    lists.SHARED_FACTS,
    "listSharedFacts",
    "/v1/shared/facts",
    "Any dataset as entity, fact and provenance",
    "Send exactly one of `entity_id` and `country`. Returns the latest vintage of each value. "
    "Annual macro figures have no documented release date and are excluded from any `as_of`.",
    "SharedFacts",
    "shared facts",
    (p.ENTITY_ID, p.COUNTRY_OF_FACTS, p.DATASET, p.AS_OF, p.MEASURE),
)
TENDER_PARTIES = _list(
    lists.TENDER_PARTIES,
    "listTenderParties",
    "/v1/tender-parties",
    "Buyers and suppliers named in releases",
    "Resolved to `service_id` where possible. Parties that are not known to be organisations are "
    "withheld.",
    "TenderParties",
    "tenders",
    (p.COUNTRY, p.ROLE, p.OF_SERVICE_ID, p.AS_OF, p.FROM_RELEASE, p.TO_RELEASE),
)
MACRO = _list(
    lists.MACRO,
    "listMacro",
    "/v1/macro",
    "Macroeconomic figures",
    "Series mode if `series` or `as_of` is sent: point-in-time series without look-ahead. "
    "Otherwise annual mode: annual indicators by `country` and `indicator`, as they stand today; "
    "their release dates are not documented, so that no `as_of` can be answered for them.",
    "Macro",
    "macro",
    (
        *(p.COUNTRY, p.INDICATOR, p.SERIES, p.SERIES_TYPE, p.FREQUENCY, p.AS_OF),
        *(p.FROM_PERIOD, p.TO_PERIOD),
    ),
)
SEARCH = _list(
    lists.SEARCH,
    "search",
    "/v1/search",
    "Find organisations, series, indicators, panels and buyers",
    "By name, former name, ticker with or without exchange, LEI or, with a paid key, ISIN. Best "
    "match first: `match` says whether an identifier, the whole name, its beginning or all words "
    "match; only if none does, names spelled much alike or with some of the words are `near`. Pass "
    "`next_cursor` back unchanged for the next page.",
    "Search",
    "search",
    (p.SEARCHED, p.KIND, p.COUNTRY),
)
ENTITY = Endpoint(
    "getEntity",
    "/v1/entities/{service_id}",
    "One organisation's resolved record",
    "There is no search by name here; ids come from `/v1/search` and other endpoints.",
    "Entities",
    "entities",
    (p.SERVICE_ID,),
    (*_KEYED_STATUSES, 404),
    invalid_id_status=404,
)
CROSSWALK = _list(
    lists.CROSSWALK,
    "getCrosswalk",
    "/v1/crosswalk/{service_id}",
    "Every identifier of one organisation",
    "Current mappings only. On the sample tier `withheld_id_types` lists the types that need a "
    "paid key.",
    "Crosswalk",
    "entities",
    (p.SERVICE_ID,),
    invalid_id_status=404,
)
LOOKUP = _list(
    lists.LOOKUP,
    "lookUpIdentifier",
    "/v1/crosswalk",
    "Find the organisation behind an external identifier",
    "A registry number is unique only within its registry: `ambiguous` is true if several "
    "organisations match. At most 20 matches.",
    "Lookup",
    "entities",
    (p.ID_TYPE, p.ID_VALUE),
)
SCREEN = _list(
    lists.SCREEN,
    "screenIssuers",
    "/v1/screen",
    "Rank issuers on a metric",
    "For each issuer the latest full year published by `as_of`, only if every filing behind it "
    "was available by then with the figures it has today. `rank` is a position by size, not a "
    "rating.",
    "Screen",
    "metrics",
    (p.METRIC_RANKED, p.ORDER, p.AS_OF, p.COUNTRY),
)
METRICS = _list(
    lists.METRICS,
    "getMetrics",
    "/v1/metrics/{service_id}",
    "Every metrics-v1 value of one issuer",
    "The values that the screen ranks, without `rank`. `methodology_ref` points to the formula.",
    "Metrics",
    "metrics",
    (p.SERVICE_ID, p.METRIC, p.AS_OF),
    # An issuer without metrics has none, whoever it is.
    statuses=_LIMITED_STATUSES,
)
PROCUREMENT_DEMAND = _list(
    lists.DEMAND,
    "getProcurementDemand",
    "/v1/signals/procurement-demand",
    "Category share, buyer concentration and momentum",
    "`as_of` returns only months that were closed by that day, in the vintage of that day.",
    "Observations",
    "signals",
    (
        *(p.COUNTRY_ZA, p.CATEGORY, p.DIMENSION, p.DIMENSION_VALUE, p.MEASURE, p.AS_OF),
        *(p.FROM_MONTH, p.TO_MONTH),
    ),
)
SIGNAL = _list(
    lists.SIGNAL,
    "getSignal",
    "/v1/signals/{signal_key}",
    "One published signal panel",
    "Newest month first. `/v1/export` and the catalogue list the keys. `as_of` returns only months "
    "that were closed by that day, in the vintage of that day.",
    "Observations",
    "signals",
    (
        *(p.SIGNAL_KEY, p.COUNTRY, p.DIMENSION, p.DIMENSION_VALUE, p.MEASURE, p.AS_OF),
        *(p.FROM_MONTH, p.TO_MONTH),
    ),
)
QUALITY = _list(
    lists.QUALITY,
    "getQualityMetrics",
    "/v1/quality-metrics/{sku}",
    "Coverage and freshness of a dataset",
    "A floor that was not measured is `UNMEASURED`, never a pass.",
    "Quality",
    "quality",
    (p.SKU,),
    invalid_id_status=404,
)
EXPORT = Endpoint(
    "getExport",
    "/v1/export",
    "Manifest of the bulk exports",
    "Open panels are CC-BY and need no key; licensed files need the starter tier or above.",
    "Export",
    "exports",
    (),
    _KEYED_STATUSES,
)
CATALOGUE = _list(
    lists.CATALOGUE,
    "listCatalogue",
    "/v1/catalogue",
    "What is held",
    "Countries and datasets with their spans, series, indicators, line items, metrics, panels, and "
    "categories and statuses of tenders: everything that other endpoints can be asked for.",
    "Catalogue",
    "catalogue",
    (p.SECTION, p.IN_DATASET, p.COUNTRY),
)
CHANGES = _list(
    lists.CHANGES,
    "listChanges",
    "/v1/changes",
    "What arrived since a day",
    "Newest first: for each day and each issuer, series, indicator or country of tenders, how many "
    "vintages were new, restated or withdrawn. Ask again for what it names, and for nothing else.",
    "Changes",
    "catalogue",
    (p.SINCE, p.IN_DATASET, p.CHANGED_ID, p.COUNTRY),
)
VERSIONS = _list(
    lists.VERSIONS,
    "listVersions",
    "/v1/versions",
    "Versions of the data that can be pinned",
    "Newest first. Send one as `X-Data-Version`, and the answers stay the same.",
    "Versions",
    "catalogue",
)
USAGE = Endpoint(
    "getUsage",
    "/v1/usage",
    "Limits of the key, and how much of them is used",
    "This request counts as any other.",
    "Usage",
    "service",
    (),
    _KEYED_STATUSES,
)

ENDPOINTS = (
    *(HEALTH, STATUS, OPENAPI, CATALOGUE, SEARCH, FUNDAMENTALS, FUNDAMENTALS_OF_SEVERAL, FILINGS),
    *(TENDERS, TENDER, SHARED_FACTS, TENDER_PARTIES, MACRO, ENTITY, CROSSWALK, LOOKUP, SCREEN),
    *(METRICS, PROCUREMENT_DEMAND, SIGNAL, QUALITY, EXPORT, CHANGES, VERSIONS, USAGE),
)
