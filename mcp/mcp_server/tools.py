"""The tools: what each takes, gives and reads, described for a model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcp_server.arguments import Asked, Several
from mcp_server.results import Found
from warehouse.contract import parameters as p
from warehouse.contract.limits import check_search_words
from warehouse.contract.macro import is_series_mode, macro_rows
from warehouse.contract.pagination import next_cursor, resume_position
from warehouse.contract.parameter_types import Parameter
from warehouse.contract.problems import check_date_order, unknown_id
from warehouse.contract.tier_cap import RowRule, row_limit
from warehouse.read.build_info import quality_metrics
from warehouse.read.entities import entity, search
from warehouse.read.fundamentals import facts_known
from warehouse.read.mart import Mart
from warehouse.read.tenders import parties, releases
from warehouse.tiers import Tier

_ALWAYS = (
    " Null means not known, never zero: add no estimate. Each row has source_ref and "
    "license_class: quote them."
)
_BOUNDED = (
    " A result holds at most 50 kB; truncated is true where there are more rows, and then a link "
    "names the Parquet file with all of them."
)


@dataclass(frozen=True)
class Asking:
    """Who asks, what is read for them, and which data_version they pin."""

    builds: Mart
    tier: Tier
    secret: bytes
    pinned: str | None = None

    @property
    def mart(self) -> Mart:
        """Give the mart at the data_version that is pinned, or as it is now."""
        return self.builds if self.pinned is None else self.builds.at(self.pinned)


@dataclass(frozen=True)
class Tool:
    """One tool; ``body`` names the shape of its answer, as an endpoint of REST does."""

    name: str
    title: str
    about: str
    body: str
    parameters: tuple[Parameter, ...]
    read: Callable[[Asking, Asked], Found]
    row_rule: RowRule = "tier"


def _search_entities(asking: Asking, asked: Asked) -> Found:
    check_search_words("query", asked["query"])
    limit = row_limit(asking.tier, asked["limit"])
    return Found(search(asking.mart, asked["query"], asked["country"], limit), limit)


def _get_entity(asking: Asking, asked: Asked) -> Found:
    rows = entity(asking.mart, asked["service_id"])
    if rows is None:
        raise unknown_id(asked["service_id"])
    return Found(rows, 1)


def _get_fundamentals(asking: Asking, asked: Asked) -> Found:
    limit = row_limit(asking.tier, asked["limit"])
    wanted = {**asked, "limit": limit, "line_items": asked["line_items"] or ()}
    rows = facts_known(asking.mart, **wanted)
    if rows is None:
        raise unknown_id(asked["service_id"])
    return Found(rows, limit, asked["as_of"], ("af-fund-facts",))


def _search_tenders(asking: Asking, asked: Asked) -> Found:
    check_date_order(asked["from"], asked["to"])
    for name in ("buyer", "query"):
        check_search_words(name, asked[name])
    mart, after = resume_position(asking.builds, asking.secret, asked, asking.pinned)
    limit = row_limit(asking.tier, asked["limit"])
    more = {name: asked[name] for name in ("to", "category", "buyer", "query")}
    rows = releases(mart, asked["country"], asked["from"], limit, after, **more)

    def cursor_after(number: int) -> str | None:
        whole = number == len(rows.rows) and rows.last_key is not None
        key = rows.last_key if whole else rows.key_of(number)
        return next_cursor(asking.secret, asked, key, rows.data_version)

    return Found(rows, limit, None, ("af-tender-releases",), cursor_after)


def _get_macro(asking: Asking, asked: Asked) -> Found:
    rows, limit = macro_rows(asking.mart, asked, asking.tier)
    files = ("af-macro-series", "macro-series") if is_series_mode(asked) else ("af-macro-annual",)
    return Found(rows, limit, asked["as_of"], files)


def _get_resolved_parties(asking: Asking, asked: Asked) -> Found:
    limit = row_limit(asking.tier, asked["limit"])
    rows = parties(asking.mart, **{**asked, "limit": limit})
    return Found(rows, limit, None, ("af-tender-parties",))


def _get_quality_metrics(asking: Asking, asked: Asked) -> Found:
    rows = quality_metrics(asking.mart, asked["sku"])
    if rows is None:
        raise unknown_id(asked["sku"])
    return Found(rows, None, None, ("quality-history",))


_LINE_ITEMS = Parameter(
    "line_items", Several(p.LINE_ITEM, 50), "Only these lines, such as revenue, profit, cfo."
)

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "search_entities",
            "Search organisations",
            "Find organisations by name, LEI or EXCHANGE:TICKER, and with them the service_id that "
            "the other tools take. The nearest first: who bears the identifier, then who has "
            "exactly this name, then whose name begins with it, then whose names have all the "
            "words. Begin here when you only know a name; if several fit, compare jurisdiction and "
            "listings before you choose. No rows: nobody of that name is held; do not guess an "
            "id." + _ALWAYS,
            "Entities",
            (p.NAMED, p.COUNTRY, p.LIMIT),
            _search_entities,
        ),
        Tool(
            "get_entity",
            "Look up an organisation",
            "Read the current record of one organisation: legal name, jurisdiction, country, LEI "
            "where one exists, listings, and the datasets that hold rows about it. Use it to check "
            "an id before you report on it. There are no people here: natural persons are never "
            "served." + _ALWAYS,
            "Entities",
            (p.SERVICE_ID,),
            _get_entity,
        ),
        Tool(
            "get_fundamentals",
            "Reported figures of an issuer",
            "Read the figures that one issuer reported, the newest period first. Always pass as_of "
            "when you reason about the past: the answer then holds nothing that became public "
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
            "the newest first: what public bodies buy, from whom, for how much. Narrow by date, "
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
            "Read macroeconomic figures, the newest period first. With series (such as FX.EUR.ZAR) "
            "or as_of: observations of series in the vintage known on as_of, with no look-ahead; "
            "series_type and frequency belong to this mode. Otherwise annual indicators by country "
            "and indicator (such as NY.GDP.MKTP.CD) as they stand today: they have no evidenced "
            "release date and so no as_of. from and to bound the end of the period, in annual mode "
            "also as years. Nothing is interpolated." + _ALWAYS + _BOUNDED,
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
            "known, those of the most releases first in each role. Pass service_id to see how one "
            "organisation takes part in procurement. match_method says how it was resolved: by "
            "registry number, LEI or exact name, never by likeness; a null service_id is "
            "unresolved. Parties not established to be organisations are withheld, so some real "
            "firms are missing." + _ALWAYS + _BOUNDED,
            "TenderParties",
            (p.COUNTRY, p.ROLE, p.OF_SERVICE_ID, p.LIMIT),
            _get_resolved_parties,
        ),
        Tool(
            "get_quality_metrics",
            "Coverage and freshness of a dataset",
            "Read what was measured of a dataset (AF-FUND, AF-TENDER or AF-MACRO) for the build "
            "that is served: coverage, freshness, floors and whether they hold. Use it before you "
            "conclude from what is absent. UNMEASURED is said where nothing was measured; it is "
            "never a pass. A null floor means that none is set.",
            "Quality",
            (p.SKU,),
            _get_quality_metrics,
            row_rule="uncapped",
        ),
    )
}
