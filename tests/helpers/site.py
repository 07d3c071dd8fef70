"""The pages of the sample world, served."""

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.rest_service import Served, World, served
from warehouse.control.keys import KeyStore, create_key, sandbox

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


def world_of(home: Path) -> World:
    """Return a home as a world, with a key of each kind."""
    keys = KeyStore(home / "control.sqlite")
    return World(home, sandbox(keys), create_key(keys, "professional"))


@contextmanager
def served_site(world: World, *options: str) -> Iterator[Served]:
    """Serve a world with the pages of its builds, as many as tests ask for."""
    pages = ("--docs", str(world.root / "docs"), "--mcp-url", MCP, "--pages-per-minute", "0")
    with served(world, "--workers", "1", *pages, *options) as running:
        yield running


def addresses(world: World) -> list[str]:
    """Return the path of every page of the current build, below the root."""
    folder = world.root / "docs" / world.published().latest()
    pages = (path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html"))
    return sorted("" if page == "." else f"{page}/" for page in pages)


def issuer_that_restated(world: World) -> str:
    """Return the issuer with most restatements."""
    data = world.root / "docs" / world.published().latest() / "data" / "issuers.json"
    return str(max(json.loads(data.read_text()), key=lambda issuer: issuer[4])[0])


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


def snippets(page: str, api: str, sample: str, paid: str) -> list[Snippet]:
    """Read the snippets of a page, filled in as its script would."""
    values = {"api": api, "mcp": MCP, "key": sample, "own-key": paid}

    def filled(span: re.Match[str]) -> str:
        return values[span[1]]

    span = re.compile(r'<span class="fill ([a-z-]+)">[^<]*</span>')
    return [
        Snippet(html.unescape(tool), language, html.unescape(span.sub(filled, code)))
        for tool, language, code in _SNIPPET.findall(page)
    ]
