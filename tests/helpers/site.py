"""The pages of the sample world, served; and a build whose one issuer restated very often."""

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from assets.exports.export import export, switch_latest
from assets.exports.signing import SigningKey
from assets.pages.site import write_site
from tests.helpers.facts import fact
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load
from tests.helpers.rest_service import Served, World, served
from warehouse.exports.published import PublishedExports, encode_manifest
from warehouse.keys.store import KeyStore, create_key, sandbox
from warehouse.mart.snapshot import Snapshot
from warehouse.read.build_info import EXPORT_MANIFEST_KEY
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, FUNDAMENTALS

MCP = "http://127.0.0.1:8322"
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
    keys = KeyStore(home / "keys.sqlite")
    return World(home, sandbox(keys), create_key(keys, "professional"))


@contextmanager
def served_site(world: World, *options: str) -> Iterator[Served]:
    """Serve a world with the pages of its builds."""
    pages = ("--docs", str(world.root / "docs"), "--mcp-url", MCP)
    with served(world, "--workers", "1", *pages, *options) as running:
        yield running


def addresses(world: World) -> list[str]:
    """Return the path of every page of the current build, below the root."""
    folder = world.root / "docs" / world.published().latest()
    pages = (path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html"))
    return sorted("" if page == "." else f"{page}/" for page in pages)


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


def often_restated(root: Path, figures: int, vintages: int) -> World:
    """Publish an issuer whose figures were restated many times, with its pages."""
    record = Record(str(root / "record"))
    rows = [
        fact(
            f"{1000 * year + number}.5",
            year=1900 + year,
            available_at=date(2000, 1, 1) + timedelta(days=year + number * figures),
            publication=f"p{number:05}",
            document=f"d{number}",
        )
        for year in range(figures)
        for number in range(vintages)
    ]
    load(record, FUNDAMENTALS, *rows)
    load(record, ENTITIES, entity_row(service_id="DCTEST1", legal_name="Often Fictional Ltd"))

    def exported(snapshot: Snapshot, before: str | None) -> Mapping[str, str]:
        destination = str(root / "exports")
        manifest = export(
            snapshot,
            destination,
            signing_key=SigningKey.at(root / "signing-key.pem"),
            previous=before,
            notice="FICTIONAL",
        )
        pages = root / "docs" / snapshot.data_version
        write_site(snapshot, manifest, PublishedExports(destination), pages, "", "FICTIONAL")
        return {EXPORT_MANIFEST_KEY: encode_manifest(manifest).decode()}

    version = publish(record, root / "marts", work=root / "work", export=exported)
    switch_latest(str(root / "exports"), version)
    return world_of(root)
