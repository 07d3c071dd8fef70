"""What search engines ask for: robots.txt, the sitemap, the icon."""

from collections.abc import Iterable
from urllib.parse import quote
from xml.sax.saxutils import escape

import falcon

from api.site.browse import issuers_of
from api.site.environment import STATIC, linked_pages
from api.site.macro import entries_of
from api.site.sample import Sample
from api.site.texts import Guides
from warehouse.methodology.pages import REFS
from warehouse.methodology.signals import PANELS

# What sitemaps.org allows in one file; pages beyond it are found by links.
_MOST_URLS = 50_000


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


class Favicon:
    """The icon, for those who ask without having read a page."""

    open = True

    def __init__(self) -> None:
        self._icon = (STATIC / "icon.svg").read_bytes()

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the icon."""
        resp.data, resp.content_type = self._icon, "image/svg+xml"
        resp.set_header("Cache-Control", "public, max-age=86400")
        resp.set_header("X-Content-Type-Options", "nosniff")

    on_head = on_get
