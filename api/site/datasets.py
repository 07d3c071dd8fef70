"""The catalogue, and a page for each dataset and each panel.

A card says as data what each is, its files, and code that requests it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import falcon
import msgspec
from msgspec.json import decode

from api.endpoints.endpoint import mcp_url_for
from api.site.formats import country_name
from api.site.render import Page, Reply, Site, check_names
from api.site.sample import Row
from warehouse.contract.problems import Problem
from warehouse.methodology import signals
from warehouse.methodology.signals import SIGNAL_SET, Panel
from warehouse.serve.build import Build
from warehouse.serve.catalogue import EXPORT_MANIFEST_KEY, page_data
from warehouse.serve.exports import Artifact, Manifest, decode_manifest, file_name
from warehouse.shared.data_files import csv_rows


@dataclass(frozen=True)
class Card:
    """One dataset or panel: the path of its page, its texts, its files and its statements.

    ``cell_meaning`` says what a cell of its coverage by country and year counts. ``api_path`` has
    placeholders for examples from the build; ``tool`` is the MCP tool for the same data.
    """

    path: str
    title: str
    about: str
    file_keys: tuple[str, ...]
    cell_meaning: str
    api_path: str
    tool: str | None = None
    notes: tuple[str, ...] = ()
    panel: Panel | None = None


DATASETS = tuple(
    Card(
        row["path"],
        row["title"],
        row["about"],
        tuple(row["files"].split()),
        row["cell_meaning"],
        row["api_path"],
        row["tool"] or None,
        tuple(filter(None, row["notes"].split(" | "))),
    )
    for row in csv_rows(__name__, "datasets")
)


def _panel(panel: Panel) -> Card:
    return Card(
        f"signals/{panel.key}",
        panel.title,
        f"{panel.title}, by country and month, measured from {panel.needs}.",
        (panel.key,),
        "share of processes in scope that state what the measures need",
        f"/v1/signals/{panel.key}",
        None,
        panel.notes,
        panel,
    )


PANELS = tuple(_panel(panel) for panel in signals.PANELS)
CARDS = (*DATASETS, *PANELS)
# The titles of datasets by the names that rows have.
TITLES = {card.path.rpartition("/")[2].upper(): card.title for card in CARDS}


class FileContent(msgspec.Struct, frozen=True):
    """Name, type, meaning and nullability of each column of a file, and its first rows."""

    fields: tuple[tuple[str, str, str, bool], ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True)
class PageFile:
    """One file as a page shows it; paths are relative to the address of the service."""

    artifact: Artifact
    content: FileContent
    path: str
    latest: str
    schema: str
    delta: str | None


def files_of(
    card: Card, manifest: Manifest | None, contents: Mapping[str, FileContent]
) -> Iterator[PageFile]:
    """Yield the files of a card that the build has."""
    if manifest is None:
        return
    folder = f"exports/{manifest.data_version}/"
    artifacts = {artifact.key: artifact for artifact in manifest.artifacts}
    for key in card.file_keys:
        if key in artifacts and key in contents:
            artifact = artifacts[key]
            delta = artifact.delta
            yield PageFile(
                artifact,
                contents[key],
                folder + file_name(key),
                f"exports/latest/{file_name(key)}",
                folder + artifact.schema_url.rsplit("/", 1)[-1],
                None if delta is None else folder + delta.url.rsplit("/", 1)[-1],
            )


def snippet_values(
    card: Card,
    files: tuple[PageFile, ...],
    examples: Mapping[str, str],
    api: str,
    mcp: str,
    sandbox_key: str,
) -> dict[str, Any]:
    """Return what ``snippets.html`` writes code with: addresses, the key, columns, calls of MCP."""
    path, key = card.api_path.format(**examples), sandbox_key or "SANDBOX_KEY"
    file = files[0].artifact if files else None
    file_url = f"{api}/{files[0].latest}" if files else ""
    statement = None if file is None else file.sql_as_of
    if statement is not None:
        day = date.fromisoformat(examples["as_of"])
        statement = f"{statement.format(url=file_url, as_of=day)};"
    # Without an MCP server of its own, the address is that of the service.
    server = {"url": f"{mcp or api}/mcp", "headers": {"X-API-Key": key}}
    resource = card.panel and {"uri": f"sankofa://methodology/{SIGNAL_SET}/{card.panel.key}"}
    call = card.tool and {"name": card.tool, "arguments": _tool_arguments(path)}
    return {
        "key": key,
        "url": f"{api}{path}",
        "rows": "observations" if card.panel else "data",
        "as_of": examples["as_of"],
        "file": file,
        "file_url": file_url,
        "statement": statement,
        "decimals": _columns(file, "decimal"),
        "dates": _columns(file, "date"),
        "mcp_settings": json.dumps({"mcpServers": {"sankofa": server}}, indent=2),
        "mcp_resource": resource and json.dumps(resource, indent=2),
        "mcp_call": call and json.dumps(call, indent=2),
    }


def _columns(file: Artifact | None, kind: str) -> str:
    """Return the columns of a kind, as a list of Python; nothing if there are none."""
    names = [column.name for column in (file.columns if file else ()) if kind in column.type]
    return json.dumps(names) if names else ""


def _tool_arguments(path: str) -> dict[str, str | int]:
    """Return the parameters of an API path as arguments of the tool, which has the same names."""
    parts = urlsplit(path)
    arguments: dict[str, str | int] = {
        name: int(value) if name == "limit" else value for name, value in parse_qsl(parts.query)
    }
    path_parameters = {"fundamentals": "service_id", "quality-metrics": "sku"}
    name = path_parameters.get(parts.path.split("/")[2])
    return {**({name: parts.path.rsplit("/", 1)[-1]} if name else {}), **arguments}


# Older years share one column, so that a grid fits a screen.
_MAX_YEARS = 16
_SHADES = 5
# Which series of a panel its script draws.
_DRAWN = ("country", "measure", "dimension")


class Covered(msgspec.Struct, frozen=True):
    """How many rows there are of a country and a year; of panels, of how many."""

    country: str | None
    year: int
    n: float | None
    total: float | None


class DatasetContent(msgspec.Struct, frozen=True):
    """What a build has of a dataset; ``coverage`` is None if that is not by country.

    ``freshness`` has a row by source or country: its number of rows, and its newest days.
    """

    coverage: tuple[Covered, ...] | None = None
    freshness: tuple[Row, ...] = ()


_NO_EXAMPLES = dict.fromkeys(("issuer", "country", "series", "as_of"), "none")


@dataclass(frozen=True)
class CoverageGrid:
    """Countries with their cells by year; a cell is a text and a shade, from 0 to 5."""

    years: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[tuple[str, int], ...]], ...]


@dataclass(frozen=True)
class CatalogueEntry:
    """A card with what the build has of it."""

    card: Card
    files: tuple[PageFile, ...]
    coverage: CoverageGrid | None
    freshness: tuple[Row, ...]


def entries_by_path(build: Build) -> Mapping[str, CatalogueEntry]:
    """Return every card with what the build has of it, by the path of its page."""

    def make() -> dict[str, CatalogueEntry]:
        contents = decode(page_data(build, "datasets") or b"{}", type=dict[str, DatasetContent])
        files = decode(page_data(build, "files") or b"{}", type=dict[str, FileContent])
        stated = build.metadata.get(EXPORT_MANIFEST_KEY)
        manifest = None if stated is None else decode_manifest(stated.encode())
        return {
            card.path: CatalogueEntry(
                card,
                tuple(files_of(card, manifest, files)),
                coverage_grid(content.coverage, is_share=card.panel is not None),
                content.freshness,
            )
            for card in CARDS
            for content in (contents.get(card.path, DatasetContent()),)
        }

    return build.made_once("catalogue of pages", make)


def coverage_grid(covered: Sequence[Covered] | None, *, is_share: bool) -> CoverageGrid | None:
    """Return coverage as a grid; None if it is not by country."""
    if covered is None:
        return None
    if not covered:
        return CoverageGrid((), ())
    last = max(row.year for row in covered)
    first = max(min(row.year for row in covered), last - _MAX_YEARS + 1)
    has_earlier = any(row.year < first for row in covered)
    sums: dict[tuple[str | None, int], tuple[float, float]] = {}
    for row in covered:
        # All older years fall into the one column before the first.
        key = (row.country, max(row.year, first - 1))
        n, total = sums.get(key, (0.0, 0.0))
        sums[key] = n + (row.n or 0), total + (row.total or 0)
    years = range(first - has_earlier, last + 1)
    largest = max(n for n, _ in sums.values())

    def cell(code: str | None, year: int) -> tuple[str, int]:
        if (code, year) not in sums:
            return "", 0
        n, total = sums[code, year]
        if is_share:
            share = n / total if total else 0.0
            return f"{share:.0%}", round(share * _SHADES)
        # Counts differ by powers of ten between countries: a square root keeps small ones visible.
        shade = 1 + min(_SHADES - 1, int(_SHADES * (n / largest) ** 0.5)) if n else 0
        return short_count(n), shade

    return CoverageGrid(
        tuple("earlier" if year < first else str(year) for year in years),
        tuple(
            (code or "–", country_name(code), tuple(cell(code, year) for year in years))
            for code in sorted({code for code, _ in sums}, key=country_name)
        ),
    )


def short_count(number: float) -> str:
    """Format a count in at most five characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.0f}{letter}" if scaled >= 10 else f"{scaled:.1f}{letter}"
    return f"{number:.0f}"


def catalogue_page(site: Site, req: falcon.Request) -> Reply:
    """Return all datasets and panels."""
    check_names(req)
    entries = entries_by_path(site.sample.mart.build())
    return Page(
        "catalogue.html",
        datasets=[entries[card.path] for card in DATASETS],
        panels=[entries[card.path] for card in PANELS],
        mcp_url=mcp_url_for(req, site.mcp_url),
    )


def signals_page(site: Site, req: falcon.Request) -> Reply:
    """Return the list of panels."""
    check_names(req)
    entries = entries_by_path(site.sample.mart.build())
    return Page("signals.html", panels=[entries[card.path] for card in PANELS])


def card_page(site: Site, req: falcon.Request, name: str, folder: str) -> Reply:
    """Return one dataset or panel: coverage, freshness, code, files, columns and first rows."""
    check_names(req, *(_DRAWN if folder == "signals" else ()))
    build = site.sample.mart.build()
    entry = entries_by_path(build).get(f"{folder}/{name}")
    if entry is None:
        raise Problem("not_found", f"There is no page {folder}/{name[:64]}.")
    examples = _NO_EXAMPLES | decode(page_data(build, "examples") or b"{}", type=dict[str, str])
    code = snippet_values(
        entry.card,
        entry.files,
        examples,
        req.context.base_url,
        mcp_url_for(req, site.mcp_url),
        site.sandbox_key(),
    )
    return Page(
        "dataset.html" if entry.card.panel is None else "panel.html",
        entry=entry,
        code=code,
        sample=site.sample.tier,
    )
