"""The tools: parameters, result and query of each, described for a model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcp_server.arguments import Arguments, ListOf
from mcp_server.results import ToolRows
from warehouse.contract import parameters as p
from warehouse.contract.limits import check_search_words
from warehouse.contract.macro import is_series_mode, macro_rows
from warehouse.contract.pagination import next_cursor, resume_position
from warehouse.contract.parameter_types import Parameter
from warehouse.contract.problems import check_date_order, unknown_id, unknown_name
from warehouse.contract.tier_cap import RowRule, row_limit
from warehouse.read.build_info import quality_metrics, quality_skus
from warehouse.read.entities import entity, search
from warehouse.read.fundamentals import facts_known
from warehouse.read.mart import Mart
from warehouse.read.tenders import parties, releases
from warehouse.tiers import Tier

_ALWAYS = (
    " Null means unknown, never zero: add no estimate. Each row has source_ref and "
    "license_class: quote them."
)
_BOUNDED = (
    " A result has at most 50 kB; if there are more rows, truncated is true and a link names the "
    "Parquet file with all of them."
)


@dataclass(frozen=True)
class ToolContext:
    """What a tool runs with: the builds, the tier of the key, the pinned data_version."""

    builds: Mart
    tier: Tier
    secret: bytes
    pinned: str | None = None

    @property
    def mart(self) -> Mart:
        """The mart at the pinned data_version, or at the current one."""
        return self.builds if self.pinned is None else self.builds.at(self.pinned)


@dataclass(frozen=True)
class Tool:
    """One tool; ``body`` names the schema of its result, as for a REST endpoint."""

    name: str
    title: str
    about: str
    body: str
    parameters: tuple[Parameter, ...]
    read: Callable[[ToolContext, Arguments], ToolRows]
    row_rule: RowRule = "tier"


def _search_entities(context: ToolContext, arguments: Arguments) -> ToolRows:
    check_search_words("query", arguments["query"])
    limit = row_limit(context.tier, arguments["limit"])
    return ToolRows(search(context.mart, arguments["query"], arguments["country"], limit), limit)


def _get_entity(context: ToolContext, arguments: Arguments) -> ToolRows:
    rows = entity(context.mart, arguments["service_id"])
    if rows is None:
        raise unknown_id(arguments["service_id"])
    return ToolRows(rows, 1)


def _get_fundamentals(context: ToolContext, arguments: Arguments) -> ToolRows:
    limit = row_limit(context.tier, arguments["limit"])
    wanted = {**arguments, "limit": limit, "line_items": arguments["line_items"] or ()}
    rows = facts_known(context.mart, **wanted)
    if rows is None:
        raise unknown_id(arguments["service_id"])
    return ToolRows(rows, limit, arguments["as_of"], ("af-fund-facts",))


def _search_tenders(context: ToolContext, arguments: Arguments) -> ToolRows:
    check_date_order(arguments["from"], arguments["to"])
    for name in ("buyer", "query"):
        check_search_words(name, arguments[name])
    mart, after = resume_position(context.builds, context.secret, arguments, context.pinned)
    limit = row_limit(context.tier, arguments["limit"])
    filters = {name: arguments[name] for name in ("to", "category", "buyer", "query")}
    rows = releases(mart, arguments["country"], arguments["from"], limit, after, **filters)

    def cursor_after(number: int) -> str | None:
        is_last = number == len(rows.rows) and rows.last_key is not None
        key = rows.last_key if is_last else rows.key_of(number)
        return next_cursor(context.secret, arguments, key, rows.data_version)

    return ToolRows(rows, limit, None, ("af-tender-releases",), cursor_after)


def _get_macro(context: ToolContext, arguments: Arguments) -> ToolRows:
    rows, limit = macro_rows(context.mart, arguments, context.tier)
    files = (
        ("af-macro-series", "macro-series") if is_series_mode(arguments) else ("af-macro-annual",)
    )
    return ToolRows(rows, limit, arguments["as_of"], files)


def _get_resolved_parties(context: ToolContext, arguments: Arguments) -> ToolRows:
    limit = row_limit(context.tier, arguments["limit"])
    rows = parties(context.mart, **{**arguments, "limit": limit})
    return ToolRows(rows, limit, None, ("af-tender-parties",))


def _get_quality_metrics(context: ToolContext, arguments: Arguments) -> ToolRows:
    rows = quality_metrics(context.mart, arguments["sku"])
    if rows is None:
        raise unknown_name(arguments["sku"], "dataset", quality_skus(context.mart))
    return ToolRows(rows, None, None, ("quality-history",))


_LINE_ITEMS = Parameter(
    "line_items", ListOf(p.LINE_ITEM, 50), "Only these lines, such as revenue, profit, cfo."
)

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "search_entities",
            "Search organisations",
            "Find organisations by name, LEI or EXCHANGE:TICKER. Returns their service_id, which "
            "the other tools take. Best match first: identifier, then exact name, then names that "
            "start with the query, then names that contain all its words. Start here when you only "
            "have a name; if several match, compare jurisdiction and listings before you choose. "
            "No rows means no match: do not guess an id." + _ALWAYS,
            "Entities",
            (p.NAMED, p.COUNTRY, p.LIMIT),
            _search_entities,
        ),
        Tool(
            "get_entity",
            "Look up an organisation",
            "Read the current record of one organisation: legal name, jurisdiction, country, LEI "
            "if there is one, listings, and the datasets that have rows about it. Use it to check "
            "an id before you report on it. Organisations only: no personal data is published."
            + _ALWAYS,
            "Entities",
            (p.SERVICE_ID,),
            _get_entity,
        ),
        Tool(
            "get_fundamentals",
            "Reported figures of an issuer",
            "Read the figures one issuer reported, newest period first. Always pass as_of "
            "when you reason about the past: the result then has nothing that became public "
            "later. vintages: 'latest' is the newest value known by then, 'as_reported' the value "
            "first filed, 'all' every restatement. Name line_items and period_type to get more "
            "years in one result. Values are exact, in the reported currency, never converted or "
            "annualised." + _ALWAYS + _BOUNDED,
            "Fundamentals",
            (p.SERVICE_ID, p.AS_OF, p.PERIOD_TYPE, p.VINTAGES, _LINE_ITEMS, p.LIMIT),
            _get_fundamentals,
        ),
        Tool(
            "search_tenders",
            "Search public tenders",
            "Read Open Contracting (OCDS) releases of one country, South Africa if none is named, "
            "newest first: what public bodies buy, from whom, for how much. Filter by date, "
            "category, buyer and words (at most 16). While next_cursor is not null there are more: "
            "call again with it and the same filters; all pages then come from one data_version. "
            "Amounts are as published, in their own currency. Parties that are not established to "
            "be organisations are withheld and counted in parties_withheld." + _ALWAYS + _BOUNDED,
            "Tenders",
            (
                *(p.COUNTRY_ZA, p.FROM_RELEASE, p.TO_RELEASE, p.CATEGORY),
                *(p.BUYER, p.IN_TENDER, p.LIMIT, p.CURSOR),
            ),
            _search_tenders,
        ),
        Tool(
            "get_macro",
            "Macroeconomic figures",
            "Read macroeconomic figures, newest period first. With series (such as FX.EUR.ZAR) "
            "or as_of: observations of series in the vintage known on as_of, with no look-ahead; "
            "series_type and frequency belong to this mode. Otherwise annual indicators by country "
            "and indicator (such as NY.GDP.MKTP.CD) as they stand today: they have no evidenced "
            "release date, so what they were known to be on a past day cannot be answered; never "
            "report today's figure as known then. from and to bound the end of the period, in "
            "annual mode also as years. Nothing is interpolated." + _ALWAYS + _BOUNDED,
            "Macro",
            (
                *(p.COUNTRY_ANY, p.INDICATOR, p.SERIES, p.SERIES_TYPE, p.FREQUENCY, p.AS_OF),
                *(p.FROM_PERIOD, p.TO_PERIOD, p.LIMIT),
            ),
            _get_macro,
        ),
        Tool(
            "get_resolved_parties",
            "Buyers and suppliers",
            "Read buyers and suppliers named in tenders, resolved to a service_id where that is "
            "known, ordered by number of releases within each role. Pass service_id to see how one "
            "organisation takes part in procurement. match_method says how it was resolved: by "
            "registry number, LEI or exact name, never by similarity; a null service_id is "
            "unresolved. Parties not established to be organisations are withheld, so some real "
            "firms are missing." + _ALWAYS + _BOUNDED,
            "TenderParties",
            (p.COUNTRY, p.ROLE, p.OF_SERVICE_ID, p.LIMIT),
            _get_resolved_parties,
        ),
        Tool(
            "get_quality_metrics",
            "Coverage and freshness of a dataset",
            "Read the quality metrics of a dataset (AF-FUND, AF-TENDER or AF-MACRO) for the build "
            "being served: coverage, freshness, thresholds and whether they are met. Use it before "
            "you draw conclusions from missing data. UNMEASURED means that nothing was measured; "
            "it is never a pass. A null floor means that no threshold is set.",
            "Quality",
            (p.SKU,),
            _get_quality_metrics,
            row_rule="uncapped",
        ),
    )
}
