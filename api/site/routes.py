"""The addresses of pages, and what is no page: scripts, redirects, what search engines ask for."""

import mimetypes
from collections.abc import Callable, Iterable
from functools import cache, partial
from urllib.parse import quote
from xml.sax.saxutils import escape

import falcon

from api.endpoints.known_answers import BodyCache
from api.site.browse import (
    countries_page,
    country_page,
    issuers_of,
    issuers_page,
    screen_page,
    search_page,
)
from api.site.changes import atom_feed, changes_page, json_feed, versions_page
from api.site.company import company_page, line_page
from api.site.datasets import card_page, catalogue_page, signals_page
from api.site.macro import entries_of, indicator_page, series_list_page, series_page
from api.site.overviews import data_docs, first_page, panel_series, quality_page, revisions_page
from api.site.page_cache import LARGEST_PAGE, MOST_BYTES, CachedPage, KeptPage, RenderLimit
from api.site.reference import reference_page
from api.site.render import STATIC, Body, Reply, Site, linked_pages
from api.site.tenders import parties_page, tender_page, tenders_page
from api.site.texts import (
    MCP_PAGE,
    discovery,
    formula_page,
    guide_page,
    guides,
    llms_text,
    mcp_page,
    methodology_page_list,
    pricing_page,
    problem_page,
    usage_page,
)
from warehouse.contract.agent_discovery import (
    CARD_TYPE,
    CATALOG_TYPE,
    WELL_KNOWN_CARD,
    WELL_KNOWN_CATALOG,
    ai_catalog,
    server_card,
)
from warehouse.contract.problems import PRICING, Problem
from warehouse.methodology.pages import REFS
from warehouse.methodology.signals import PANELS

# Long enough that a visitor loads them once, short enough that a new version is seen soon.
_CACHE_SECONDS = 600
# What sitemaps.org allows in one file; pages beyond it are found by links.
_MOST_URLS = 50_000
_FILES_PAGE = "/exports/"


class SmallPage:
    """What takes no longer to make than to find among what is kept."""

    open = True

    def __init__(self, page: Callable[..., Reply], site: Site) -> None:
        self._page, self._site = page, site

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Send it."""
        self._site.send(req, resp, self._page(self._site, req, **path))


def robots_txt(site: Site, req: falcon.Request) -> Body:
    """Return the rules of crawlers: every page may be read; answers of the API are none."""
    text = (
        "User-agent: *\nDisallow: /v1/\nDisallow: /*?\nCrawl-delay: 1\n"
        f"Sitemap: {req.context.base_url}/sitemap.xml\n"
    )
    return Body(text, "text/plain; charset=utf-8")


def sitemap(site: Site, req: falcon.Request) -> Body:
    """Return the addresses of pages: of everything but single tenders, which are too many."""
    base = req.context.base_url
    paths = list(dict.fromkeys(_paths(site)))[:_MOST_URLS]
    urls = "".join(f"<url><loc>{escape(f'{base}/{path}')}</loc></url>\n" for path in paths)
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )
    return Body(text, "application/xml; charset=utf-8")


def _paths(site: Site) -> Iterable[str]:
    sample = site.sample
    yield ""
    yield from (path for path, _ in linked_pages(has_files=site.has_files))
    yield from ("buyers", "suppliers", "indicators")
    yield from (f"guides/{name}" for name in guides(sample))
    yield from (f"signals/{panel.key}/" for panel in PANELS)
    yield from (f"methodology/{ref}" for ref in REFS)
    for row in entries_of(sample, "dataset"):
        if row["country"]:
            yield f"countries/{row['country']}"
    for section, folder in (("series", "series"), ("indicator", "indicators")):
        for row in entries_of(sample, section):
            yield f"{folder}/{quote(row['name'])}"
    for issuer in issuers_of(sample.mart.build()):
        yield f"issuers/{quote(issuer.service_id)}"


@cache
def _static_files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in STATIC.iterdir()}


def static_file(site: Site, req: falcon.Request, name: str = "icon.svg") -> Body:
    """Return what pages load; without a name the icon, for those who did not read a page."""
    files = _static_files()
    if name not in files:
        raise Problem("not_found", f"There is no file {name[:64]!r}.")
    kind = "text/javascript" if name.endswith(".js") else str(mimetypes.guess_type(name)[0])
    headers = {
        "Cache-Control": f"public, max-age={_CACHE_SECONDS}",
        "X-Content-Type-Options": "nosniff",
    }
    media_type = f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
    return Body(files[name], media_type, headers)


def with_slash(site: Site, req: falcon.Request, **path: str) -> Body:
    """Redirect to the page whose address has a slash at its end."""
    # Relative: the site may be served below another path.
    raise falcon.HTTPFound(f"{req.path.rpartition('/')[2]}/{_query(req)}")


def without_slash(site: Site, req: falcon.Request) -> Body:
    """Redirect from an address with a slash at its end to the page."""
    raise falcon.HTTPMovedPermanently(f"../{req.path.strip('/')}{_query(req)}")


def _query(req: falcon.Request) -> str:
    return f"?{req.query_string}" if req.query_string else ""


_PAGES: dict[str, Callable[..., Reply]] = {
    "/": first_page,
    "/issuers": issuers_page,
    "/issuers/{service_id}": company_page,
    "/issuers/{service_id}/lines/{line_item}": line_page,
    "/organisations/{service_id}": company_page,
    "/screen": screen_page,
    "/search": search_page,
    "/series": partial(series_list_page, section="series"),
    "/series/{series:path}": series_page,
    "/indicators": partial(series_list_page, section="indicator"),
    "/indicators/{indicator:path}": indicator_page,
    "/tenders": tenders_page,
    "/tenders/{ocid:path}": tender_page,
    "/buyers": partial(parties_page, role="buyer"),
    "/suppliers": partial(parties_page, role="supplier"),
    "/countries": countries_page,
    "/countries/{code}": country_page,
    "/datasets/": catalogue_page,
    "/datasets/{name}/": partial(card_page, folder="datasets"),
    "/signals/": signals_page,
    "/signals/{name}/": partial(card_page, folder="signals"),
    "/revisions/": revisions_page,
    "/quality/": quality_page,
    "/docs": reference_page,
    MCP_PAGE: mcp_page,
    "/guides": guide_page,
    "/guides/{name}": guide_page,
    "/methodology": methodology_page_list,
    "/methodology/{set_name}/{slug}": formula_page,
    "/problems/{code}": problem_page,
    PRICING: pricing_page,
    "/usage": usage_page,
    "/changes": changes_page,
    "/changes.atom": atom_feed,
    "/changes.json": json_feed,
    _FILES_PAGE: versions_page,
    "/sitemap.xml": sitemap,
}
_SMALL: dict[str, Callable[..., Reply]] = {
    "/llms.txt": llms_text,
    WELL_KNOWN_CARD: partial(discovery, make=server_card, media_type=CARD_TYPE),
    WELL_KNOWN_CATALOG: partial(discovery, make=ai_catalog, media_type=CATALOG_TYPE),
    "/site/{name}": static_file,
    "/robots.txt": robots_txt,
    "/favicon.ico": static_file,
    "/data/signals/{panel}/{file}": panel_series,
    "/quality/data-docs/{path:path}": data_docs,
    **dict.fromkeys(("/datasets", "/datasets/{name}"), with_slash),
    **dict.fromkeys(("/signals", "/signals/{name}"), with_slash),
    **dict.fromkeys(("/revisions", "/quality", "/quality/data-docs"), with_slash),
    **dict.fromkeys(("/issuers/", "/screen/", "/tenders/", "/series/"), without_slash),
    "/countries/": without_slash,
}


def site_routes(site: Site, per_minute: int) -> dict[str, object]:
    """Return the routes of all pages, of which a network gets so many new ones a minute.

    What is only read or leads elsewhere is not kept.
    """
    cache = BodyCache[KeptPage](MOST_BYTES, LARGEST_PAGE)
    limit = RenderLimit(per_minute)
    absent = set[str]() if site.has_files else {_FILES_PAGE}
    absent |= set[str]() if site.mcp_url else {MCP_PAGE, WELL_KNOWN_CARD, WELL_KNOWN_CATALOG}
    routes: dict[str, object] = {
        **{path: CachedPage(page, site, cache, limit) for path, page in _PAGES.items()},
        **{path: SmallPage(page, site) for path, page in _SMALL.items()},
    }
    return {path: resource for path, resource in routes.items() if path not in absent}
