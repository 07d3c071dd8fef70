"""The addresses of pages, how pages are kept, and what is no page: scripts, redirects, sitemap."""

import mimetypes
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from urllib.parse import quote

import falcon

from api.endpoints.endpoint import mcp_url_for
from api.site import browse, company, datasets, feeds, macro, overviews, reference, tenders, texts
from api.site.render import STATIC, Body, Reply, Site, linked_pages
from warehouse.contract.agent_discovery import (
    CARD_TYPE,
    CATALOG_TYPE,
    WELL_KNOWN_CARD,
    WELL_KNOWN_CATALOG,
    ai_catalog,
    server_card,
)
from warehouse.contract.known_answers import BodyCache
from warehouse.contract.problems import PRICING, Problem
from warehouse.methodology.pages import REFS
from warehouse.methodology.signals import PANELS
from warehouse.serve.usage import network_of
from warehouse.shared.errors import SankofaError

# Rendered pages are kept, and rendered only so often for one network.
#
# Requests run in the loop of the server: whoever has many pages rendered would delay everybody's.

# Of all pages, and of one: a CSV of a long list is sent and not kept.
MOST_BYTES, LARGEST_PAGE = 16 << 20, 2 << 20
_MINUTE = 60.0


@dataclass(frozen=True)
class KeptPage:
    """A body with its headers; ``codings`` are its compressed forms, made when first sent."""

    body: bytes
    headers: Mapping[str, str]
    codings: dict[str, bytes]


class RenderLimit:
    """How many pages are rendered in a minute for one network, in this process; 0 for any number.

    Pages that are kept do not count.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._rendered: dict[str, int] = {}
        self._ends = 0.0

    def take(self, address: str | None) -> None:
        """Count a page; refuse it above the limit."""
        now = self._clock()
        if now >= self._ends:
            # One minute for all networks: nothing has to be remembered of those that are gone.
            self._rendered, self._ends = {}, now + _MINUTE
        network = network_of(address)
        count = self._rendered[network] = self._rendered.get(network, 0) + 1
        if 0 < self._per_minute < count:
            seconds = max(1, round(self._ends - now + 0.5))
            raise Problem(
                "rate_limited",
                f"Your network opened more than {self._per_minute} different pages within a "
                f"minute. Try again in {seconds} seconds. For many rows at once take the files or "
                "the API.",
                violated_policies=["pages"],
                retry_after=seconds,
                retryable=True,
            )


class CachedPage:
    """A page that is rendered once for each build, day and set of parameters."""

    open = True

    def __init__(
        self,
        page: Callable[..., Reply],
        site: Site,
        cache: BodyCache[KeptPage],
        limit: RenderLimit,
    ) -> None:
        self._page, self._site, self._cache, self._limit = page, site, cache, limit

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Send the page as it is kept, or render it."""
        site = self._site
        key = (
            self._data_version(),
            site.sample.today,
            req.context.base_url,
            req.path,
            req.query_string,
            # Texts are Markdown to programs.
            "text/html" in req.accept,
            # What many pages show.
            site.sandbox_key(),
            mcp_url_for(req, site.mcp_url),
        )
        kept = self._cache.get(key)
        if kept is None:
            self._limit.take(req.remote_addr)
            site.send(req, resp, self._page(site, req, **path))
            kept = KeptPage(resp.render_body() or b"", resp.headers, {})
            # Its compressed forms together are smaller than it, its key and headers than 1 kB.
            self._cache.put(key, kept, 2 * len(kept.body) + 1024)
        else:
            resp.set_headers(kept.headers)
        resp.text, resp.data = None, kept.body
        resp.context.codings = kept.codings

    def _data_version(self) -> str | None:
        """Return the version that is served; None while there is none, which texts do not need."""
        try:
            return self._site.sample.mart.build().data_version
        except SankofaError:
            return None


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
    return site.text(req, "text/plain", "robots.txt")


def sitemap(site: Site, req: falcon.Request) -> Body:
    """Return the addresses of pages: of everything but single tenders, which are too many."""
    paths = list(dict.fromkeys(_paths(site)))[:_MOST_URLS]
    return site.text(req, "application/xml", "sitemap.xml", paths=paths)


def _paths(site: Site) -> Iterable[str]:
    sample = site.sample
    yield ""
    yield from (path for path, _ in linked_pages(has_files=site.has_files))
    yield from ("buyers", "suppliers", "indicators")
    yield from (f"guides/{name}" for name in texts.guides(sample))
    yield from (f"signals/{panel.key}/" for panel in PANELS)
    yield from (f"methodology/{ref}" for ref in REFS)
    for row in macro.entries_of(sample, "dataset"):
        if row["country"]:
            yield f"countries/{row['country']}"
    for section, folder in (("series", "series"), ("indicator", "indicators")):
        for row in macro.entries_of(sample, section):
            yield f"{folder}/{quote(row['name'])}"
    for issuer in browse.issuers_of(sample.mart.build()):
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
    "/": overviews.first_page,
    "/issuers": browse.issuers_page,
    "/issuers/{service_id}": company.company_page,
    "/issuers/{service_id}/lines/{line_item}": company.line_page,
    "/organisations/{service_id}": company.company_page,
    "/screen": browse.screen_page,
    "/search": browse.search_page,
    "/series": partial(macro.series_list_page, section="series"),
    "/series/{series:path}": macro.series_page,
    "/indicators": partial(macro.series_list_page, section="indicator"),
    "/indicators/{indicator:path}": macro.indicator_page,
    "/tenders": tenders.tenders_page,
    "/tenders/{ocid:path}": tenders.tender_page,
    "/buyers": partial(tenders.parties_page, role="buyer"),
    "/suppliers": partial(tenders.parties_page, role="supplier"),
    "/countries": browse.countries_page,
    "/countries/{code}": browse.country_page,
    "/datasets/": datasets.catalogue_page,
    "/datasets/{name}/": partial(datasets.card_page, folder="datasets"),
    "/signals/": datasets.signals_page,
    "/signals/{name}/": partial(datasets.card_page, folder="signals"),
    "/revisions/": overviews.revisions_page,
    "/quality/": overviews.quality_page,
    "/docs": reference.reference_page,
    texts.MCP_PAGE: texts.mcp_page,
    "/guides": texts.guide_page,
    "/guides/{name}": texts.guide_page,
    "/methodology": texts.methodology_page_list,
    "/methodology/{set_name}/{slug}": texts.formula_page,
    "/problems/{code}": texts.problem_page,
    PRICING: texts.pricing_page,
    "/usage": texts.usage_page,
    "/changes": overviews.changes_page,
    "/changes.atom": feeds.atom_feed,
    "/changes.json": feeds.json_feed,
    _FILES_PAGE: overviews.versions_page,
    "/sitemap.xml": sitemap,
}
_SMALL: dict[str, Callable[..., Reply]] = {
    "/llms.txt": texts.llms_text,
    WELL_KNOWN_CARD: partial(texts.discovery, make=server_card, media_type=CARD_TYPE),
    WELL_KNOWN_CATALOG: partial(texts.discovery, make=ai_catalog, media_type=CATALOG_TYPE),
    "/site/{name}": static_file,
    "/robots.txt": robots_txt,
    "/favicon.ico": static_file,
    "/data/signals/{panel}/{file}": overviews.panel_series,
    "/quality/data-docs/{path:path}": overviews.data_docs,
    **dict.fromkeys(("/datasets", "/datasets/{name}"), with_slash),
    **dict.fromkeys(("/signals", "/signals/{name}"), with_slash),
    **dict.fromkeys(("/exports", "/revisions", "/quality", "/quality/data-docs"), with_slash),
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
    absent |= set[str]() if site.mcp_url else {texts.MCP_PAGE, WELL_KNOWN_CARD, WELL_KNOWN_CATALOG}
    routes: dict[str, object] = {
        **{path: CachedPage(page, site, cache, limit) for path, page in _PAGES.items()},
        **{path: SmallPage(page, site) for path, page in _SMALL.items()},
    }
    return {path: resource for path, resource in routes.items() if path not in absent}
