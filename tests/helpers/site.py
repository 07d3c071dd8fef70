"""The pages of the sample world, served."""

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from api.site.browse import issuers_of
from api.site.datasets import CARDS
from tests.helpers.rest_service import Served, World, served
from warehouse.serve.build import Mart

MCP = "http://127.0.0.1:8322"
# A page of every kind about the service.
SERVICE_PAGES = (
    *("docs", "docs/mcp", "guides", "guides/concepts", "pricing", "usage", "methodology"),
    *("methodology/metrics-v1/net_margin", "problems/rate_limited", "changes", "exports/"),
)
_SNIPPET = re.compile(
    r'<details class="snippet" data-tool="([^"]+)" data-language="([^"]+)".*?'
    r"<code>(.*?)</code>",
    re.DOTALL,
)


@dataclass(frozen=True)
class Snippet:
    """Code of a page as a visitor copies it."""

    tool: str
    language: str
    code: str


@contextmanager
def served_site(world: World, *options: str) -> Iterator[Served]:
    """Serve a world and as many pages of it as tests ask for."""
    pages = ("--mcp-url", MCP, "--pages-per-minute", "0")
    with served(world, "--workers", "1", *pages, *options) as running:
        yield running


def addresses() -> list[str]:
    """Return the path of every page about a whole build, below the root."""
    others = ("", "datasets/", "signals/", "revisions/", "quality/", "quality/data-docs/")
    return sorted((*others, *(f"{card.path}/" for card in CARDS)))


def issuer_that_restated(world: World) -> str:
    """Return the issuer with most restatements."""
    issuers = issuers_of(Mart(world.marts).build())
    return max(issuers, key=lambda issuer: issuer.restated).service_id


def rendered_pages(server: Served, world: World) -> dict[str, str]:
    """Return a page of every kind that the service renders, by kind."""
    issuer = issuer_that_restated(world)

    def first(path: str, member: str) -> str:
        return str(json.loads(server.get(path, world.paid)[2])["data"][0][member])

    return {
        "companies": "issuers",
        "company": f"issuers/{issuer}",
        "line": f"issuers/{issuer}/lines/revenue",
        "organisation": f"organisations/{_buyer(server, world)}",
        "screen": "screen",
        "search": "search?q=fictional",
        "series list": "series",
        "series": "series/FRED.FICKENGDPQ?compare=2025-06-01",
        "indicators": "indicators",
        "indicator": f"indicators/{first('/v1/catalogue?section=indicator', 'name')}",
        "tenders": "tenders",
        "tender": f"tenders/{first('/v1/tenders?country=ZA', 'ocid')}",
        "buyers": "buyers",
        "suppliers": "suppliers",
        "countries": "countries",
        "country": "countries/ZA",
    }


def _buyer(server: Served, world: World) -> str:
    body = server.get("/v1/tender-parties?country=ZA&role=buyer", world.paid)[2]
    return next(str(row["service_id"]) for row in json.loads(body)["data"] if row["service_id"])


def snippets(page: str, paid: str) -> list[Snippet]:
    """Read the snippets of a page, with a key of one's own where one is needed."""
    return [
        Snippet(html.unescape(tool), language, html.unescape(code).replace("YOUR_KEY", paid))
        for tool, language, code in _SNIPPET.findall(page)
    ]
