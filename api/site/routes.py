"""The addresses of the pages that the service renders."""

import mimetypes
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import urlencode

import falcon

from api.resources.agents import MCP_PAGE
from api.resources.site_files import SiteFiles
from api.site.browse import (
    CountriesPage,
    CountryPage,
    Issuers,
    IssuersPage,
    ScreenPage,
    SearchPage,
)
from api.site.changes import (
    AtomFeed,
    ChangesPage,
    JsonFeed,
    Publications,
    VersionsPage,
)
from api.site.company import CompanyPage, LinePage
from api.site.crawlers import Favicon, RobotsTxt, Sitemap
from api.site.guides import GuidePage, Guides
from api.site.macro import IndicatorPage, SeriesListPage, SeriesPage
from api.site.page_cache import CachedPage, PageCache, RenderLimit
from api.site.reference import ReferencePage
from api.site.render import Pages
from api.site.sample import Sample
from api.site.tenders import PartiesPage, TenderPage, TendersPage
from api.site.texts import McpPage, MethodologyIndexPage, MethodologyPage, ProblemPage
from api.site.tier_pages import PricingPage, UsagePage
from warehouse.contract.problems import PRICING, Problem
from warehouse.site.environment import STATIC
from warehouse.tiers import Tier

# Long enough that a visitor loads them once, short enough that a new version is seen soon.
_CACHE_SECONDS = 600
_OWN_STATIC = Path(__file__).parents[1] / "static"
_ID = re.compile(r"[A-Za-z0-9]+")


def text_pages(
    sample: Sample,
    pages: Pages,
    sandbox_key: Callable[[], str],
    mcp_url: str,
    tiers: Iterable[Tier],
    upgrade_url: str | None,
) -> dict[str, object]:
    """Return the pages about the service, which it has also without the pages of builds."""
    mcp_page = MCP_PAGE.lstrip("/") if mcp_url else None
    return {
        "/docs": ReferencePage(sample, pages, sandbox_key, mcp_page),
        "/methodology": MethodologyIndexPage(pages),
        "/methodology/{set_name}/{slug}": MethodologyPage(pages),
        "/problems/{code}": ProblemPage(pages),
        PRICING: PricingPage(pages, tiers, upgrade_url),
        "/usage": UsagePage(pages, sandbox_key),
        **({MCP_PAGE: McpPage(pages, sandbox_key, mcp_url)} if mcp_url else {}),
    }


def site_pages(
    sample: Sample, pages: Pages, files: SiteFiles, has_files: bool
) -> dict[str, object]:
    """Return the pages of the site; ``has_files`` if the files of builds are served."""
    issuers = Issuers(files)
    publications, guides = Publications(sample, files), Guides()
    company, guide = CompanyPage(sample, pages), GuidePage(guides, pages)
    return {
        "/issuers": IssuersPage(sample, pages, issuers),
        "/issuers/{service_id}": company,
        "/issuers/{service_id}/lines/{line_item}": LinePage(sample, pages),
        "/organisations/{service_id}": company,
        "/screen": ScreenPage(sample, pages, issuers),
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
        "/countries/{code}": CountryPage(sample, pages, issuers),
        "/guides": guide,
        "/guides/{name}": guide,
        "/changes": ChangesPage(publications, pages),
        "/changes.atom": AtomFeed(publications),
        "/changes.json": JsonFeed(publications),
        **({"/exports/": VersionsPage(publications, pages)} if has_files else {}),
        "/sitemap.xml": Sitemap(sample, issuers, guides, has_files),
    }


def kept_routes(pages: Mapping[str, object], sample: Sample, per_minute: int) -> dict[str, object]:
    """Return the routes of pages, of which a network gets so many new ones a minute."""
    cache, limit = PageCache(), RenderLimit(per_minute)
    return {path: CachedPage(page, sample, cache, limit) for path, page in pages.items()}


def small_routes() -> dict[str, object]:
    """Return the routes beside pages: what search engines ask for, and old addresses."""
    old = OldCompanyAddress()
    # With a slash at the end, as the pages of builds had them before.
    lists = ("issuers", "screen", "tenders", "series", "countries")
    return {
        "/robots.txt": RobotsTxt(),
        "/favicon.ico": Favicon(),
        "/issuers/view": old,
        "/issuers/view/": old,
        **{f"/{name}/": WithoutSlash(name) for name in lists},
    }


class StaticFiles:
    """What rendered pages load: stylesheet, scripts, icon."""

    open = True

    def __init__(self) -> None:
        paths = (*STATIC.iterdir(), *_OWN_STATIC.glob("*.js"))
        self._files = {path.name: path.read_bytes() for path in paths if path.is_file()}

    def on_get(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Send a file."""
        if name not in self._files:
            raise Problem("not_found", f"There is no file {name[:64]!r}.")
        kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
        resp.data = self._files[name]
        resp.content_type = f"{kind}; charset=utf-8" if str(kind).startswith("text/") else str(kind)
        resp.set_header("Cache-Control", f"public, max-age={_CACHE_SECONDS}")
        resp.set_header("X-Content-Type-Options", "nosniff")

    on_head = on_get


class WithoutSlash:
    """Leads from an address with a slash at its end to the page."""

    open = True

    def __init__(self, name: str) -> None:
        self._name = name

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Redirect, relative: the site may be served below another path."""
        query = f"?{req.query_string}" if req.query_string else ""
        raise falcon.HTTPMovedPermanently(f"../{self._name}{query}")

    on_head = on_get


class OldCompanyAddress:
    """Leads from the address that pages of companies had before to the page."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Redirect, relative, with ``as_of`` if it was sent; without an id to the list."""
        sent, up = req.params, "../" if req.path.endswith("/") else ""
        service_id = sent.get("id", "")
        if not isinstance(service_id, str) or not (service_id == "" or _ID.fullmatch(service_id)):
            raise Problem("not_found", "No company has this id; see /issuers.")
        if not service_id:
            raise falcon.HTTPMovedPermanently(f"{up}../issuers")
        query = f"?{urlencode({'as_of': sent['as_of']}, doseq=True)}" if "as_of" in sent else ""
        raise falcon.HTTPMovedPermanently(f"{up}{service_id}{query}")

    on_head = on_get
