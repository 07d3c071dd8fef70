"""The addresses of pages, and what is no page: scripts, redirects, what search engines ask for."""

import mimetypes
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import quote
from xml.sax.saxutils import escape

import falcon

from api.resources.agents import MCP_PAGE
from api.site.browse import (
    CountriesPage,
    CountryPage,
    IssuersPage,
    ScreenPage,
    SearchPage,
    issuers_of,
)
from api.site.changes import (
    AtomFeed,
    ChangesPage,
    JsonFeed,
    Publications,
    VersionsPage,
)
from api.site.company import CompanyPage, LinePage
from api.site.datasets import CardPage, CataloguePage, SignalsPage
from api.site.environment import STATIC, linked_pages
from api.site.macro import IndicatorPage, SeriesListPage, SeriesPage, entries_of
from api.site.overviews import DataDocs, FirstPage, PanelSeries, QualityPage, RevisionsPage
from api.site.page_cache import CachedPage, PageCache, RenderLimit
from api.site.reference import ReferencePage
from api.site.render import Pages
from api.site.sample import Sample
from api.site.tenders import PartiesPage, TenderPage, TendersPage
from api.site.texts import (
    GuidePage,
    Guides,
    McpPage,
    MethodologyIndexPage,
    MethodologyPage,
    PricingPage,
    ProblemPage,
    UsagePage,
)
from warehouse.contract.problems import PRICING, Problem
from warehouse.methodology.pages import REFS
from warehouse.methodology.signals import PANELS
from warehouse.shared.tiers import Tier

# Long enough that a visitor loads them once, short enough that a new version is seen soon.
_CACHE_SECONDS = 600
# What sitemaps.org allows in one file; pages beyond it are found by links.
_MOST_URLS = 50_000


def site_pages(
    sample: Sample,
    pages: Pages,
    sandbox_key: Callable[[], str],
    mcp_url: str,
    tiers: Iterable[Tier],
    upgrade_url: str | None,
    has_files: bool,
) -> dict[str, object]:
    """Return every page; ``has_files`` if the files of builds are served."""
    mcp_page = MCP_PAGE.lstrip("/") if mcp_url else None
    publications, guides = Publications(sample), Guides(sample)
    company, guide = CompanyPage(sample, pages), GuidePage(guides, pages)
    return {
        "/": FirstPage(sample, pages, mcp_url),
        "/issuers": IssuersPage(sample, pages),
        "/issuers/{service_id}": company,
        "/issuers/{service_id}/lines/{line_item}": LinePage(sample, pages),
        "/organisations/{service_id}": company,
        "/screen": ScreenPage(sample, pages),
        "/search": SearchPage(sample, pages),
        "/series": SeriesListPage(sample, pages, "series"),
        "/series/{series:path}": SeriesPage(sample, pages),
        "/indicators": SeriesListPage(sample, pages, "indicator"),
        "/indicators/{indicator:path}": IndicatorPage(sample, pages),
        "/tenders": TendersPage(sample, pages),
        "/tenders/{ocid:path}": TenderPage(sample, pages),
        "/buyers": PartiesPage(sample, pages, "buyer"),
        "/suppliers": PartiesPage(sample, pages, "supplier"),
        "/countries": CountriesPage(sample, pages),
        "/countries/{code}": CountryPage(sample, pages),
        "/datasets/": CataloguePage(sample, pages, mcp_url),
        "/datasets/{name}/": CardPage(sample, pages, "datasets", sandbox_key, mcp_url),
        "/signals/": SignalsPage(sample, pages),
        "/signals/{name}/": CardPage(sample, pages, "signals", sandbox_key, mcp_url),
        "/revisions/": RevisionsPage(sample, pages),
        "/quality/": QualityPage(sample, pages),
        "/docs": ReferencePage(sample, pages, sandbox_key, mcp_page),
        **({MCP_PAGE: McpPage(pages, sandbox_key, mcp_url)} if mcp_url else {}),
        "/guides": guide,
        "/guides/{name}": guide,
        "/methodology": MethodologyIndexPage(pages),
        "/methodology/{set_name}/{slug}": MethodologyPage(pages),
        "/problems/{code}": ProblemPage(pages),
        PRICING: PricingPage(pages, tiers, upgrade_url),
        "/usage": UsagePage(pages, sandbox_key),
        "/changes": ChangesPage(publications, pages),
        "/changes.atom": AtomFeed(publications),
        "/changes.json": JsonFeed(publications),
        **({"/exports/": VersionsPage(publications, pages)} if has_files else {}),
        "/sitemap.xml": Sitemap(sample, guides, has_files),
    }


def kept_routes(pages: Mapping[str, object], sample: Sample, per_minute: int) -> dict[str, object]:
    """Return the routes of pages, of which a network gets so many new ones a minute."""
    cache, limit = PageCache(), RenderLimit(per_minute)
    return {path: CachedPage(page, sample, cache, limit) for path, page in pages.items()}


def small_routes(sample: Sample) -> dict[str, object]:
    """Return what is only read or leads elsewhere, and is not rendered."""
    files, with_slash, without_slash = StaticFiles(), WithSlash(), WithoutSlash()
    return {
        "/site/{name}": files,
        "/robots.txt": RobotsTxt(),
        "/favicon.ico": files,
        "/data/signals/{panel}/{file}": PanelSeries(sample),
        "/quality/data-docs/{path:path}": DataDocs(sample),
        **dict.fromkeys(("/datasets", "/datasets/{name}"), with_slash),
        **dict.fromkeys(("/signals", "/signals/{name}"), with_slash),
        **dict.fromkeys(("/revisions", "/quality", "/quality/data-docs"), with_slash),
        **dict.fromkeys(("/issuers/", "/screen/", "/tenders/", "/series/"), without_slash),
        "/countries/": without_slash,
    }


class RobotsTxt:
    """Every page may be read; answers of the API and files are none."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the rules."""
        resp.text = (
            "User-agent: *\nDisallow: /v1/\nDisallow: /*?\nCrawl-delay: 1\n"
            f"Sitemap: {req.context.base_url}/sitemap.xml\n"
        )
        resp.content_type = "text/plain; charset=utf-8"

    on_head = on_get


class Sitemap:
    """The addresses of pages: of everything but single tenders, which are too many."""

    open = True

    def __init__(self, sample: Sample, guides: Guides, has_files: bool) -> None:
        self._sample, self._guides, self._has_files = sample, guides, has_files

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the sitemap."""
        base = req.context.base_url
        paths = list(dict.fromkeys(self._paths()))[:_MOST_URLS]
        urls = "".join(f"<url><loc>{escape(f'{base}/{path}')}</loc></url>\n" for path in paths)
        resp.text = (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
        )
        resp.content_type = "application/xml; charset=utf-8"

    on_head = on_get

    def _paths(self) -> Iterable[str]:
        sample = self._sample
        yield ""
        yield from (path for path, _ in linked_pages(has_files=self._has_files))
        yield from ("buyers", "suppliers", "indicators")
        yield from (f"guides/{name}" for name in self._guides.texts())
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


class StaticFiles:
    """What rendered pages load: stylesheet, scripts, icon."""

    open = True

    def __init__(self) -> None:
        self._files = {path.name: path.read_bytes() for path in STATIC.iterdir()}

    def on_get(self, req: falcon.Request, resp: falcon.Response, name: str = "icon.svg") -> None:
        """Send a file; without a name the icon, for those who ask without having read a page."""
        if name not in self._files:
            raise Problem("not_found", f"There is no file {name[:64]!r}.")
        kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
        resp.data = self._files[name]
        resp.content_type = f"{kind}; charset=utf-8" if str(kind).startswith("text/") else str(kind)
        resp.set_header("Cache-Control", f"public, max-age={_CACHE_SECONDS}")
        resp.set_header("X-Content-Type-Options", "nosniff")

    on_head = on_get


class WithSlash:
    """Leads to the page whose address has a slash at its end."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Redirect, relative: the site may be served below another path."""
        raise falcon.HTTPFound(f"{req.path.rpartition('/')[2]}/{_query(req)}")

    on_head = on_get


class WithoutSlash:
    """Leads from an address with a slash at its end to the page."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Redirect, relative: the site may be served below another path."""
        raise falcon.HTTPMovedPermanently(f"../{req.path.strip('/')}{_query(req)}")

    on_head = on_get


def _query(req: falcon.Request) -> str:
    return f"?{req.query_string}" if req.query_string else ""
